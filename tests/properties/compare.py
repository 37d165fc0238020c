"""When two results are the same: bit for bit, or but for rounding where the run is not chaotic.

In float64 values agree where |a - b| <= 1e-10 max(|b|, 1e-3). A variable of a run that a twin,
whose real fields are off by 1e-14, changes by more than 1e-11 may differ more, up to FACTOR times
as much as the twin does. Float32 is measured likewise; below 1/2 a value may differ by 5e-5, which
is 420 units of its rounding, as 1e-13 is of that of float64.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.core.config import Config, fields
from properties.strategies import Asked, valid

FACTOR = 1000.0


class Precision(NamedTuple):
    """The tolerance; the least scale of a value; what a twin must exceed to excuse more; how far
    the twin is off.
    """

    tolerance: float
    least: float
    chaotic: float
    nudge: float


PRECISION = {
    "float64": Precision(1e-10, 1e-3, 1e-11, 1e-14),
    "float32": Precision(1e-4, 0.5, 1e-5, 2e-7),
}

Values = Mapping[str, np.ndarray]


def gaps(a: Any, b: Any, least: float) -> np.ndarray:
    """|a - b| / max(|b|, least) per entry, NaN equal to NaN, infinite where only one is NaN."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(a - b) / np.maximum(np.abs(b), least)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0.0, np.nan_to_num(gap, nan=np.inf))


def worst(a: np.ndarray, b: np.ndarray, runs: int, least: float) -> np.ndarray:
    """The largest gap of each run: over all but the leading `runs` dimensions."""
    assert a.shape == b.shape, (a.shape, b.shape)
    return gaps(a, b, least).reshape(*a.shape[:runs], -1).max(axis=-1, initial=0.0)


def accepted(gap: np.ndarray, moved: np.ndarray, dtype: str) -> np.ndarray:
    """True for each run with a gap of rounding, or one that its twin's explains."""
    tolerance, _, chaotic, _ = PRECISION[dtype]
    return (gap <= tolerance) | ((moved > chaotic) & (gap <= FACTOR * moved))


def agree(
    got: Values, want: Values, dtype: str, runs: int, twins: Callable[[float], list[Values]]
) -> None:
    """Raise AssertionError where variables differ by more than rounding. Their leading `runs`
    dimensions count runs. twins(nudge): the wanted values of runs that are off by so much.
    """
    assert set(got) == set(want), set(got) ^ set(want)
    tolerance, least, _, nudge = PRECISION[dtype]
    bad = {
        name: gap
        for name in want
        if np.any((gap := worst(got[name], want[name], runs, least)) > tolerance)
    }
    if not bad:
        return
    twin_values = twins(nudge)
    for name, gap in bad.items():
        moved = np.max([worst(twin[name], want[name], runs, least) for twin in twin_values], axis=0)
        words = f"{name} differs by {gap.max():.2g}, a twin by {moved.max():.2g}"
        assert np.all(accepted(gap, moved, dtype)), (words, got[name], want[name])


def off_by(config: Config, nudge: float) -> Config:
    """A config whose real fields are off by a relative `nudge`, where that is valid."""
    for name, field in fields(type(config)).items():
        if field.kind in ("traced", "evaluation") and not field.integer:
            candidate = config.replace(**{name: getattr(config, name) * (1 + nudge)})
            config = candidate if valid(candidate) else config
    return config


def twin(request: Asked, nudge: float) -> Asked:
    """A request whose real fields are off by a relative `nudge`, where that is valid for all points
    at once.
    """
    table = fields(type(request.config))
    moved = request._replace(config=off_by(request.config, nudge))
    for i, axis in enumerate(request.axes):
        real = [
            w
            for w in axis.values
            if w in table and table[w].kind in ("traced", "evaluation") and not table[w].integer
        ]
        values = axis.values | {w: tuple(v * (1 + nudge) for v in axis.values[w]) for w in real}
        labels = values.get(axis.name, axis.labels)
        changed = axis._replace(values=values, labels=labels)
        candidate = moved._replace(axes=(*moved.axes[:i], changed, *moved.axes[i + 1 :]))
        moved = candidate if all(valid(p.config) for p in candidate.points()) else moved
    return moved if all(valid(p.config) for p in moved.points()) else request


def numbers(data: xr.Dataset) -> dict[str, np.ndarray]:
    """The variables of a dataset as arrays."""
    return {str(name): np.asarray(data[name].values) for name in data.data_vars}


def twins(request: Asked, nudge: float, **changes: Any) -> list[xr.Dataset]:
    """The sweep of requests that are off by about `nudge`."""
    return [twin(request, by).sweep(**changes) for by in (nudge, -nudge, 3 * nudge)]


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are equal bit for bit, any NaN equal to any."""
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
