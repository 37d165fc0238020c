"""From measured values to a verdict: a statistic of the runs, where it has to hold, and a bound."""

import inspect
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.core.config import InputError, suggest
from jaxtheory.engine.results.statistics import average
from jaxtheory.engine.results.summary import label


class Verdict(NamedTuple):
    """Whether a claim holds, the number that decides, its threshold (in words where it is a range),
    the number of seeds behind it, the standard error of the number (of a mean or a share of at
    least two runs; else None), and the condition whose number it is (`p = 0.7, K = 6`; empty where
    there is one condition). `least` is the least number of runs with a finite value at a condition
    that has one, out of `seeds`: below `seeds` the verdict is about survivors.
    """

    holds: bool
    measured: float
    threshold: float | str
    n: int
    error: float | None = None
    at: str = ""
    least: int = 0
    seeds: int = 0


# the statistic of each condition and its standard error, NaN where it has none
_STATISTICS = {
    "mean": lambda values: average(values)[:2],  # entries that are not finite are left out
    "median": lambda values: (values.median("seed"), values.mean("seed") * np.nan),
    "share": lambda values: average(values.astype(float))[:2],  # of truth values
    "each": lambda values: (values, values * np.nan),
}
_PLACES = ("everywhere", "somewhere", "together")


def verdict(
    values: xr.DataArray,
    *,
    statistic: str = "mean",
    where: str = "everywhere",
    at_least: float | None = None,
    at_most: float | None = None,
    between: tuple[float, float] | None = None,
) -> Verdict:
    """Judge values whose dimension `seed` counts runs; each place along the other dimensions is a
    condition.

    statistic: mean, median or share (of truth values) over the seeds of a condition, or each run
    for itself; NaN entries are left out.
    where: everywhere (the worst condition decides), somewhere (the best one), or together (the runs
    of all conditions are one sample). The bound is one of at_least, at_most and between, ends
    included. `measured` is the statistic of the condition that decides, and `at` names that
    condition; without any value it is NaN and the claim does not hold. Raises InputError for
    another statistic or place, or not exactly one bound.
    """
    low, high, threshold = _read_bound(at_least, at_most, between)
    _require_words(statistic, where)
    n, least, seeds = _seeds_behind(values)
    if "seed" not in values.dims:
        values = values.expand_dims("seed")
    if where == "together":
        values = xr.DataArray(np.ravel(values.values), dims="seed")
    conditions, spread = _STATISTICS[statistic](values)
    found, errors = (np.ravel(x.values).astype(float) for x in (conditions, spread))
    if np.all(np.isnan(found)):
        return Verdict(False, float("nan"), threshold, n, None, "", least, seeds)
    outside = np.maximum(low - found, found - high)  # positive where the bound fails
    place = int(np.nanargmin(outside) if where == "somewhere" else np.nanargmax(outside))
    error = None if np.isnan(errors[place]) else float(errors[place])
    at = "" if where == "together" else _named(conditions, place)
    holds = bool(outside[place] <= 0)
    return Verdict(holds, float(found[place]), threshold, n, error, at, least, seeds)


def _named(conditions: xr.DataArray, place: int) -> str:
    """The condition at a place of the flat array, by the dimensions that have several values."""
    indices = np.unravel_index(place, conditions.shape)
    return ", ".join(
        f"{dim} = {label(conditions[dim].values[i])}"
        for dim, i in zip(conditions.dims, indices, strict=True)
        if conditions.sizes[dim] > 1
    )


def _require_words(statistic: str = "mean", where: str = "everywhere") -> None:
    """Raise InputError unless `verdict` knows the statistic and the place."""
    for name, given, known in (
        ("statistic", statistic, tuple(_STATISTICS)),
        ("where", where, _PLACES),
    ):
        if given not in known:
            raise InputError(f"{name} = {given!r}; {suggest(str(given), known)}")


def require_bound(bound: dict[str, Any]) -> None:
    """Raise InputError unless these are arguments that `verdict` takes beside the values."""
    known = list(inspect.signature(verdict).parameters)[1:]
    if unknown := sorted({*bound} - {*known}):
        raise InputError(f"unknown argument {unknown[0]!r}; {suggest(unknown[0], known)}")
    words = {name: bound[name] for name in ("statistic", "where") if name in bound}
    _require_words(**words)
    _read_bound(**{name: bound.get(name) for name in ("at_least", "at_most", "between")})


def _read_bound(at_least: Any, at_most: Any, between: Any) -> tuple[float, float, float | str]:
    """(lowest, highest, the bound as it is shown)."""
    given = [bound for bound in (at_least, at_most, between) if bound is not None]
    if len(given) != 1:
        raise InputError(
            f"a claim has one bound: at_least, at_most or between=(low, high), not {len(given)}"
        )
    if between is not None:
        low, high = map(float, between)
        return low, high, f"[{low:.4g}, {high:.4g}]"
    return (
        (float(at_least), np.inf, float(at_least))
        if at_least is not None
        else (-np.inf, float(at_most), float(at_most))
    )


def _seeds_behind(values: xr.DataArray) -> tuple[int, int, int]:
    """How many seeds have a finite value anywhere, how many at least at a condition that has one,
    and how many there are; 0 where `seed` was averaged away before.
    """
    if "seed" not in values.dims:
        return 0, 0, 0
    finite = abs(values.astype(float)) < np.inf
    others = [dim for dim in values.dims if dim != "seed"]
    counts = np.ravel(finite.sum("seed").values)
    least = int(counts[counts > 0].min(initial=values.sizes["seed"])) if counts.any() else 0
    return int(finite.any(others).sum()), least, values.sizes["seed"]
