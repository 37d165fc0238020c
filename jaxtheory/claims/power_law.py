"""Power laws of measured values: exponents, whether they are straight, and collapsing curves, each
with a 99 % confidence interval over seeds.

An interval comes from the jackknife: the number is computed again without each seed, and the
pseudo-values n whole - (n - 1) (without seed i) are treated as runs (`claims.interval.of_mean`, a
Student's t that a bootstrap-t stretches).
"""

from collections.abc import Callable, Hashable
from typing import NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.claims import interval
from jaxtheory.core.errors import InputError, suggest
from jaxtheory.engine.results.labeled import takes_labeled

_DEGREE = 4  # of the polynomial that a collapsed curve is compared with
_GRID, _ROUNDS = 41, 6  # candidates for the exponent of x, refined so often around the best


def pseudo_values(
    measure: Callable[[list[int]], np.ndarray], n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return measure(all seeds) and the pseudo-values of the jackknife with a leading axis of n.

    They are shifted so that their mean is the number measured on all seeds.
    """
    everything = list(range(n))
    whole = np.asarray(measure(everything), float)
    without = [measure([j for j in everything if j != i]) for i in everything] if n > 1 else [whole]
    each = np.asarray(without, float)
    return whole, whole + (n - 1) * (each.mean(0) - each)


@takes_labeled
def exponent(
    values: xr.DataArray, over: str, between: tuple[float, float] | None = None
) -> xr.Dataset:
    """Return the exponent a of values ~ c x^a with its interval, and whether the law is straight.

    a is the least-squares slope of log(mean of values over "seed") in log(x). The law is straight
    if the interval of its curvature contains 0. The curvature is the change of the local slope from
    the first to the last x, on the least-squares parabola.

    Args:
        values: positive numbers with the dimension `over`, and with "seed" for intervals.
        over: the dimension whose coordinate is x, such as "step"; x must be positive.
        between: the smallest and the largest x that take part; None for all positive x.

    Returns:
        A dataset without `over` and "seed": `exponent` with `low` and `high`, `curvature` with
        `curvature_low` and `curvature_high`, `straight`, and `local`, the slopes between successive
        x, along `over` (at the geometric mean of the two). The ends are NaN without seeds.

    Raises:
        InputError: `over` is not a dimension with numbers, or fewer than three positive x remain.

    Example:
        >>> import numpy as np
        >>> import xarray as xr
        >>> import jaxtheory
        >>> t = np.array([1.0, 10.0, 100.0, 1000.0])
        >>> noise = np.random.default_rng(0).normal(1, 0.01, (8, 4))
        >>> loss = xr.DataArray(3 * t**-0.5 * noise, {"step": t}, ("seed", "step"))
        >>> law = jaxtheory.exponent(loss, "step")
        >>> round(float(law.exponent), 2), bool(law.low < -0.5 < law.high), bool(law.straight)
        (-0.5, True, True)
    """
    x = _coordinate(values, over)
    inside = x > 0
    if between is not None:
        inside &= (x >= between[0]) & (x <= between[1])
    if inside.sum() < 3:
        raise InputError(
            f"between = {between}: {int(inside.sum())} positive values of {over} take part, and an "
            "exponent with its straightness needs three"
        )
    values, u = values.isel({over: np.flatnonzero(inside)}), np.log(x[inside])
    others = [dim for dim in values.dims if dim not in (over, "seed")]
    seeded = "seed" in values.dims
    table = (values if seeded else values.expand_dims("seed")).transpose("seed", *others, over)
    runs = table.values.astype(float)

    def law(seeds: list[int]) -> np.ndarray:
        """Exponent and curvature, along a leading axis."""
        with np.errstate(divide="ignore", invalid="ignore"):
            y = np.log(_mean(runs[seeds]))
        centered = u - u.mean()
        slope = (y * centered).sum(-1) / (centered**2).sum()
        flat = y.reshape(-1, len(u)).T
        finite = np.isfinite(flat).all(0)
        bend = np.full(flat.shape[1], np.nan)
        if finite.any():
            bend[finite] = 2 * np.polyfit(u, flat[:, finite], 2)[0] * (u[-1] - u[0])
        return np.stack([slope, bend.reshape(slope.shape)])

    whole, pseudo = pseudo_values(law, len(runs))
    low, high = _ends(pseudo)
    with np.errstate(divide="ignore", invalid="ignore"):
        local = np.diff(np.log(_mean(runs)), axis=-1) / np.diff(u)
    middle = np.exp((u[1:] + u[:-1]) / 2)
    names = ("exponent", "curvature")
    found: dict[str, tuple] = {name: (others, whole[i]) for i, name in enumerate(names)}
    for prefix, i in (("", 0), ("curvature_", 1)):
        found |= {f"{prefix}low": (others, low[i]), f"{prefix}high": (others, high[i])}
    found["straight"] = (others, (low[1] <= 0) & (high[1] >= 0))
    found["local"] = ([*others, over], local)
    coords = {dim: values[dim] for dim in others if dim in values.coords}
    return xr.Dataset(found, {**coords, over: middle})


class FittedLaw(NamedTuple):
    """A fitted power law c x^a for a picture; made by `fitted_law`.

    Args:
        x: the x that took part; empty if they were fewer than three.
        y: the law at x.
        low, high: the range of the laws whose exponent is in the 99 % interval and that agree with
            y at the geometric mean of x; NaN without seeds.
        label: a text such as "exponent −0.49 [−0.51, −0.47]", or "no exponent".

    Example:
        >>> from jaxtheory import claims
        >>> claims.FittedLaw._fields
        ('x', 'y', 'low', 'high', 'label')
    """

    x: np.ndarray
    y: np.ndarray
    low: np.ndarray
    high: np.ndarray
    label: str


def fitted_law(values: xr.DataArray, over: str) -> FittedLaw:
    """Fit a power law to the mean over seeds, for `plot.law` and for a legend.

    Args:
        values: numbers with the dimension `over`, with "seed" for the interval, and with others of
            length 1; only positive x at which the mean is positive take part.
        over: the dimension whose coordinate is x.

    Returns:
        The law with its interval and its label.

    Raises:
        InputError: `over` is not a dimension with numbers, or another dimension has several values.

    Example:
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxtheory import claims
        >>> n = np.array([10.0, 100.0, 1000.0])
        >>> values = xr.DataArray([n**-0.5, 2 * n**-0.5], {"n": n}, ("seed", "n"))
        >>> claims.fitted_law(values, "n").label
        'exponent −0.500 [−0.500, −0.500]'
    """
    x = _coordinate(values, over)
    others = [dim for dim in values.dims if dim not in ("seed", over)]
    _require_one([dim for dim in others if values.sizes[dim] != 1], "values")
    table = values.squeeze(others, drop=True).astype(float)
    mean = table.mean("seed") if "seed" in table.dims else table
    at = np.flatnonzero((mean.values > 0) & (x > 0))
    if len(at) < 3:
        none = np.zeros(0)
        return FittedLaw(none, none, none, none, "no exponent")
    law = exponent(table.isel({over: at}), over)
    a, low, high = (float(law[name]) for name in ("exponent", "low", "high"))
    digits = 3 if np.isfinite(low) and high - low < 0.01 else 2
    number = lambda x: f"{x:.{digits}f}".replace("-", "−")
    label = f"exponent {number(a)}"
    if np.isfinite(low):
        label += f" [{number(low)}, {number(high)}]"
    x = x[at]
    u, middle = np.log(x) - np.log(x).mean(), np.log(mean.values[at]).mean()
    ends = np.exp(middle + np.outer([low, high], u))
    return FittedLaw(x, np.exp(middle + a * u), ends.min(0), ends.max(0), label)


@takes_labeled
def collapse(values: xr.Dataset, x: str, y: str, over: str) -> xr.Dataset:
    """Return the exponents (a, b) under which curves y(x) of several k collapse onto one:
    y k^-b as a function of x k^-a, where k is the coordinate of `over`.

    They minimize the squares of log(y k^-b) - q(log(x k^-a)) over a, b and a polynomial q of degree
    4. For a given a this is linear in b and q; a is searched on a grid that is refined around its
    best value.

    Args:
        values: a dataset with the variable `y`, of positive numbers, with the dimensions `x`,
            `over` and "seed" (for intervals) and no other.
        x: the dimension of the curves, such as "step"; values that are not positive are left out.
        y: the variable.
        over: the dimension along which the curves differ, with positive coordinates.

    Returns:
        A dataset with `x_exponent` (a) and `y_exponent` (b), each with `_low` and `_high`, the ends
        of its 99 % interval (NaN without seeds), and `residual`, the root mean square of what
        remains, in natural logarithms.

    Raises:
        InputError: a name is not in the dataset, or there are fewer than two curves.

    Example:
        >>> import numpy as np
        >>> import xarray as xr
        >>> import jaxtheory
        >>> t, k = np.geomspace(1, 1000, 30), np.array([2.0, 4.0, 8.0])
        >>> loss = k[:, None] ** 0.5 / (1 + t / k[:, None] ** 2)
        >>> data = xr.Dataset({"loss": (("K", "step"), loss)}, {"K": k, "step": t})
        >>> found = jaxtheory.collapse(data, "step", "loss", "K")
        >>> round(float(found.x_exponent), 1), round(float(found.y_exponent), 1)
        (2.0, 0.5)
    """
    if y not in values:
        raise InputError(
            f"y = {y!r}: not a variable of the dataset; {suggest(y, map(str, values.data_vars))}"
        )
    table = values[y]
    along, sizes = _coordinate(table, x), _coordinate(table, over)
    _require_one([dim for dim in table.dims if dim not in (x, over, "seed")], y)
    if len(sizes) < 2:
        raise InputError(f"over = {over!r}: one curve only; curves of two or more values collapse")
    runs = (table if "seed" in table.dims else table.expand_dims("seed")).transpose("seed", over, x)
    positive = along > 0
    u, k = np.log(along[positive]), np.log(sizes)
    numbers = runs.values.astype(float)[..., positive]

    def found(seeds: list[int]) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return _collapsed(u, k, np.log(_mean(numbers[seeds])))

    whole, pseudo = pseudo_values(found, len(numbers))
    low, high = _ends(pseudo[:, :2])
    names = ("x_exponent", "y_exponent")
    out = {name: whole[i] for i, name in enumerate(names)} | {"residual": whole[2]}
    for i, name in enumerate(names):
        out |= {f"{name}_low": low[i], f"{name}_high": high[i]}
    return xr.Dataset(out)


def _collapsed(u: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The exponents of x and y and the residual, of curves v (k, u) in logarithms."""
    finite = np.isfinite(v)
    places, sizes = (np.broadcast_to(w, v.shape)[finite] for w in (u[None, :], k[:, None]))
    targets = v[finite]

    def fitted(a: float) -> tuple[float, float]:
        """The residual and the exponent of y at an exponent of x."""
        at = places - a * sizes
        at = (at - at.mean()) / max(np.ptp(at) / 2, 1e-12)
        columns = np.column_stack([sizes, np.polynomial.chebyshev.chebvander(at, _DEGREE)])
        solution, *_ = np.linalg.lstsq(columns, targets, rcond=None)
        return float(np.sqrt(np.mean((columns @ solution - targets) ** 2))), float(solution[0])

    reach = np.ptp(u) / np.ptp(k)  # beyond it the curves share no x
    center, width = 0.0, reach
    for _ in range(_ROUNDS):
        grid = np.linspace(center - width, center + width, _GRID)
        center = float(grid[np.argmin([fitted(a)[0] for a in grid])])
        width *= 2 / (_GRID - 1)
    residual, b = fitted(center)
    return np.array([center, b, residual])


def _coordinate(values: xr.DataArray, dim: str) -> np.ndarray:
    """The coordinate of a dimension as numbers."""
    if dim not in values.dims:
        raise InputError(f"{dim!r} is not a dimension; {suggest(dim, map(str, values.dims))}")
    try:
        numbers: np.ndarray = values[dim].values.astype(float)
    except ValueError:
        raise InputError(f"{dim}: its coordinate must hold numbers, for the logarithm") from None
    return numbers


def _require_one(others: list[Hashable], name: str) -> None:
    """Raise InputError if values have other dimensions than those that are fitted over."""
    if others:
        raise InputError(
            f"{name}: has the dimensions {', '.join(map(str, others))} too; select one value"
        )


def _mean(runs: np.ndarray) -> np.ndarray:
    """The mean over the seeds that are finite."""
    finite = np.isfinite(runs)
    mean: np.ndarray = np.where(finite, runs, 0).sum(0) / np.where(finite.any(0), finite.sum(0), 1)
    return np.where(finite.any(0), mean, np.nan)


def _ends(pseudo: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the intervals of numbers from their pseudo-values (seed, ...)."""
    flat = pseudo.reshape(len(pseudo), -1)
    if len(pseudo) < 2:
        ends = np.full((flat.shape[1], 2), np.nan)
    else:
        ends = np.array([interval.of_mean(column) for column in flat.T])
    low, high = ends.T.reshape(2, *pseudo.shape[1:])
    return low, high
