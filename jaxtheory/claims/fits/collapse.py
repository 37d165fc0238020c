"""Exponents under which the curves of several sizes collapse onto one, with 99 % intervals.

The common curve has no parametric form: each curve is compared with the others, interpolated at its
points.
"""

from typing import NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.claims.fits.axes import coordinate, require_one
from jaxtheory.claims.fits.jackknife import ROUNDING, ends, is_noise, logarithms
from jaxtheory.engine.results.labeled import takes_labeled
from jaxtheory.texts.errors import InputError, suggest

_GRID = 61  # exponents of x that are tried over their whole range
_FINE, _ROUNDS = 21, 4  # and around the best, so often on a smaller range
_NEAR = 0.25  # the part of the range, to either side of the best, in which it is refined
_LEAST = 0.25  # the part of all points that must have others to be compared with
_WIDE = 0.75  # the part of them with which a fit counts even if little variation takes part
_TINY = 1e-300  # in place of 0, to divide by
_MARGIN = 0.1  # the part of a curve at each end over which it gets its weight


class _Curve(NamedTuple):
    """A curve with its runs: logarithms u of x (point), of y (run, point), slopes (run, point)."""

    u: np.ndarray
    v: np.ndarray
    slopes: np.ndarray


class _Compared(NamedTuple):
    """Curves compared with each other at an exponent of x, at all weighted points of all curves.

    residuals: what remains of each run with its own exponent of y (run, point), times sqrt(weight).
    b: the exponent of y of each run.
    bent: the part of the interpolation that is not linear, in the middle between two points of a
        curve (run, point), times sqrt(weight).
    distances: the coefficient of b in the rest (point), times sqrt(weight).
    weight: the sum of the weights. spread: the weighted squares of log(y k^-b) around its mean.
    """

    residuals: np.ndarray
    b: np.ndarray
    bent: np.ndarray
    distances: np.ndarray
    weight: float
    spread: float


@takes_labeled
def collapse(values: xr.Dataset, x: str, y: str, over: str) -> xr.Dataset:
    """Return the exponents (a, b) under which curves y(x) of several k collapse onto one:
    y k^-b as a function of x k^-a, where k is the coordinate of `over`.

    In logarithms u of x and v of y, means over seeds, each point of each curve i is compared with
    the average of those other curves j whose range it falls into:

        r = (v_i(u) - b log k_i) - mean_j (v_j(u - a log(k_i / k_j)) - b log k_j),

    with v_j interpolated by cubics through its points. a and b minimize the mean square of r, less
    the part that noise contributes (the average over pairs of different runs of their product). Of
    several minima, the one counts at which r is smallest beside the variation of v.

    The curves fit if r is noise: no larger than the scatter over the seeds explains, at 99 %, and
    the interpolation, whose error is taken to be at most the part of it that is not linear. The
    intervals are those of the jackknife, widened by what such an error can change.

    Args:
        values: a dataset with the variable `y`, of positive numbers, with the dimensions `x`,
            `over` and "seed" (for intervals) and no other.
        x: the dimension of the curves, such as "step"; values that are not positive are left out.
        y: the variable; points at which its mean is not positive are left out.
        over: the dimension along which the curves differ, with positive coordinates.

    Returns:
        A dataset with `x_exponent` (a) and `y_exponent` (b), each with `_low` and `_high`, the ends
        of its 99 % interval, `residual`, the root mean square of r, and `fits`: True, False, or
        None if it is not known, as for a single seed. The ends are NaN where the curves do not fit,
        because there are no such exponents then. They are infinite for a single seed, and where
        very different exponents fit as well, as for straight curves. The attribute "note" says in
        a sentence why an interval is missing.

    Raises:
        InputError: a name is not in the dataset, there are fewer than two curves, k or x has equal
            values, or a curve has fewer than three points.

    Example:
        >>> import numpy as np
        >>> import xarray as xr
        >>> import jaxtheory
        >>> t, k = np.geomspace(1, 1000, 30), np.array([2.0, 4.0, 8.0])
        >>> loss = k[:, None] ** 0.5 / (1 + t / k[:, None] ** 2)
        >>> runs = loss * np.random.default_rng(0).lognormal(0, 0.01, (8, 3, 30))
        >>> data = xr.Dataset({"loss": (("seed", "K", "step"), runs)}, {"K": k, "step": t})
        >>> found = jaxtheory.collapse(data, "step", "loss", "K")
        >>> round(float(found.x_exponent), 1), round(float(found.y_exponent), 1)
        (2.0, 0.5)
        >>> bool(found.x_exponent_low < 2 < found.x_exponent_high), found.fits.item()
        (True, True)
    """
    curves, k = _curves(values, x, y, over)
    n = len(curves[0].v)
    reach = max(np.ptp(curve.u) for curve in curves) / np.ptp(k)  # beyond it curves share no x
    tried = np.linspace(-reach, reach, _GRID)
    comparisons = [_compare(curves, k, float(a)) for a in tried]
    unlike = np.array([_unlike(one) for one in comparisons])
    if not np.isfinite(unlike).any():
        note = "No exponents: where the curves share x they do not vary."
        return _dataset(np.full(2, np.nan), np.full((2, 2), np.nan), np.nan, None, note)
    near = _NEAR * reach
    start, known = tried[np.argmin(unlike)], tried[np.isfinite(unlike)]
    low, high = max(known.min(), start - near), min(known.max(), start + near)
    a, without, settled = _refined(curves, k, low, high)
    best = _compare(curves, k, a)
    fits, size = _fits(best), float(np.linalg.norm(best.residuals.mean(0)) / best.weight**0.5)
    interval = _exponent_intervals(
        curves, k, best, a + (n - 1) * (without.mean() - without), 1e-3 * reach
    )
    wide = [one.weight > _WIDE * len(one.distances) for one in comparisons]
    elsewhere = any(
        _fits(one)
        for at, one, most in zip(tried, comparisons, wide, strict=True)
        if abs(at - a) > near and (most or one.spread > best.spread / 2)
    )
    nothing = np.tile([-np.inf, np.inf], (2, 1))
    if n < 2:
        interval, note = nothing, "No interval: one seed only."
    elif not fits and any(_fits(one) for one, most in zip(comparisons, wide, strict=True) if most):
        fits, interval = None, nothing
        note = "No interval: the curves collapse only where they do not vary."
    elif not fits:
        interval = np.full((2, 2), np.nan)
        note = f"The curves do not collapse: {size:.2g} remains, more than noise explains."
    elif elsewhere or not settled or not abs(interval[0] - a).max() < near:
        interval, note = nothing, "No interval: very different exponents fit as well."
    else:
        note = ""
    return _dataset(np.array([a, best.b.mean()]), interval, size, fits, note)


def _fits(compared: _Compared) -> bool | None:
    """Return True if the residuals are noise or an error of interpolation."""
    return is_noise(compared.residuals, _slack(compared))


def _exponent_intervals(
    curves: list[_Curve], k: np.ndarray, best: _Compared, of_a: np.ndarray, step: float
) -> np.ndarray:
    """The intervals of both exponents (exponent, end), from the pseudo-values of that of x."""
    a = float(of_a.mean())
    # how the rest and the exponent of y change with that of x
    below, above = (_compare(curves, k, a + way * step) for way in (-1, 1))
    slope = np.linalg.norm(above.residuals.mean(0) - below.residuals.mean(0)) / (2 * step)
    turn = (above.b.mean() - below.b.mean()) / (2 * step)
    low, high = ends(np.stack([of_a, best.b + turn * (of_a - a)], -1))
    # the most that errors of interpolation change both
    reach = _slack(best) / max(float(slope), _TINY)
    reaches = (
        reach,
        _slack(best) / max(float(np.linalg.norm(best.distances)), _TINY) + abs(turn) * reach,
    )
    return np.stack([low, high], -1) + np.outer(reaches, [-1, 1])


def _dataset(
    exponents: np.ndarray, interval: np.ndarray, residual: float, fits: bool | None, note: str
) -> xr.Dataset:
    out: dict[str, object] = {}
    for name, number, (low, high) in zip("xy", exponents, interval, strict=True):
        out |= {f"{name}_exponent": number, f"{name}_exponent_low": low}
        out |= {f"{name}_exponent_high": high}
    out |= {"residual": residual, "fits": xr.DataArray(np.array(fits, object))}
    return xr.Dataset(out, attrs={"note": note})


def _curves(values: xr.Dataset, x: str, y: str, over: str) -> tuple[list[_Curve], np.ndarray]:
    """The curves with the logarithms of k, or InputError."""
    if y not in values:
        raise InputError(
            f"y = {y!r}: not a variable of the dataset; {suggest(y, map(str, values.data_vars))}"
        )
    table = values[y]
    positions, sizes = coordinate(table, x), coordinate(table, over)
    require_one([dim for dim in table.dims if dim not in (x, over, "seed")], y)
    if len(sizes) < 2:
        raise InputError(f"over = {over!r}: one curve only; curves of two or more values collapse")
    if not np.all(sizes > 0) or len(np.unique(sizes)) < len(sizes):
        raise InputError(f"over = {over!r}: its values must be positive and different, for log(k)")
    order = np.argsort(positions)
    order = order[positions[order] > 0]
    if len(np.unique(positions[order])) < len(order):
        raise InputError(f"x = {x!r}: has equal values; a curve has one y at each x")
    runs = (table if "seed" in table.dims else table.expand_dims("seed")).transpose("seed", over, x)
    log_means, pseudo = logarithms(runs.values.astype(float)[..., order])
    curves = []
    for i, size in enumerate(sizes):
        mask = np.isfinite(log_means[i]) & np.isfinite(pseudo[:, i]).all(0)
        if mask.sum() < 3:
            raise InputError(
                f"{y}: {int(mask.sum())} positive means at {over} = {size:g}, and a curve needs "
                f"three; leave {over} = {size:g} out"
            )
        u, v = np.log(positions[order][mask]), pseudo[:, i, mask]
        curves.append(_Curve(u, v, np.gradient(v, u, axis=1)))
    return curves, np.log(sizes)


def _compare(curves: list[_Curve], k: np.ndarray, a: float) -> _Compared:
    """Compare each curve with the others at an exponent of x."""
    residuals, bent, distances, values, weights = [], [], [], [], []
    for i, one in enumerate(curves):
        difference, bows = np.zeros_like(one.v), np.zeros_like(one.v)
        sizes, total = np.zeros(len(one.u)), np.zeros(len(one.u))
        for j, reference in enumerate(curves):
            if i == j:
                continue
            at = one.u - a * (k[i] - k[j])
            first, last = reference.u[0], reference.u[-1]
            inside = np.minimum(at - first, last - at) / (_MARGIN * (last - first))
            weight = np.clip(inside, 0, 1)
            value, bow = _interpolated(reference, at)
            difference += weight * (one.v - value)
            bows += weight * bow
            sizes += weight * (k[i] - k[j])
            total += weight
        full = np.minimum(total, 1)
        scale = np.sqrt(full) / np.where(total > 0, total, 1)
        residuals.append(difference * scale)
        bent.append(bows * scale)
        distances.append(sizes * scale)
        values.append(np.stack([one.v.mean(0), np.full(len(one.u), k[i])]))
        weights.append(full)
    r, c, (v, size), w = (
        np.concatenate(part, -1) for part in (residuals, distances, values, weights)
    )
    b = r @ c / max(float(c @ c), _TINY)
    v = v - b.mean() * size
    spread = float(w @ (v - w @ v / max(float(w.sum()), _TINY)) ** 2)
    return _Compared(r - np.outer(b, c), b, np.concatenate(bent, -1), c, float(w.sum()), spread)


def _interpolated(curve: _Curve, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A curve between its points by Hermite's cubics, and their distance from the straight line.

    The distance is taken in the middle between two points (run, point).
    """
    i = np.clip(np.searchsorted(curve.u, at) - 1, 0, len(curve.u) - 2)
    width = curve.u[i + 1] - curve.u[i]
    t = np.clip((at - curve.u[i]) / width, 0, 1)
    rise = curve.v[:, i + 1] - curve.v[:, i]
    starts, stops = (width * curve.slopes[:, m] - rise for m in (i, i + 1))
    value = curve.v[:, i] + t * rise + t * (1 - t) * ((1 - t) * starts - t * stops)
    return value, (starts - stops) / 8


def _unlike(compared: _Compared) -> float:
    """Residual variation as a share of that of the curves.

    It is infinite for few points, and without variation.
    """
    is_sparse = compared.weight < max(3, _LEAST * len(compared.distances))
    if is_sparse or compared.spread <= ROUNDING**2 * compared.weight:
        return np.inf
    return float(np.sum(compared.residuals.mean(0) ** 2)) / compared.spread


def _slack(compared: _Compared) -> float:
    """The largest norm of the rest that errors of interpolation can have."""
    return float(_squares(compared.bent).clip(0)[0] ** 0.5) + ROUNDING * compared.weight**0.5


def _squares(runs: np.ndarray) -> np.ndarray:
    """The squares of the mean of runs, less the part of their noise.

    First of all runs and then without each: the average of the products of different runs.
    """
    n, products = len(runs), runs @ runs.T
    total, rows, own = products.sum(), products.sum(1), np.diag(products)
    if n == 1:
        return np.array([total])
    without = total - 2 * rows + own  # the sum over the pairs of the others
    if n > 2:
        without = (without - (own.sum() - own)) / ((n - 1) * (n - 2))
    return np.append((total - own.sum()) / (n * (n - 1)), without)


def _refined(
    curves: list[_Curve], k: np.ndarray, low: float, high: float
) -> tuple[float, np.ndarray, bool]:
    """The best exponent of x in a range, those without each run, and whether all are inside."""
    settled, least_range = True, 1e-4 * (high - low)
    for turn in range(_ROUNDS):
        grid = np.linspace(low, high, _FINE)
        compared = [_compare(curves, k, float(a)) for a in grid]
        squares = np.array([_squares(one.residuals) / one.weight for one in compared])
        least = squares.argmin(0)
        settled &= turn > 0 or bool(np.all((least > 0) & (least < _FINE - 1)))
        # the vertex of the parabola through the least and its neighbors
        i, columns = np.clip(least, 1, _FINE - 2), np.arange(squares.shape[1])
        before, middle, after = (squares[i + way, columns] for way in (-1, 0, 1))
        bend = before - 2 * middle + after
        shift = np.where(bend > 0, (before - after) / np.where(bend > 0, 2 * bend, 1), 0)
        best = grid[i] + shift.clip(-1, 1) * (grid[1] - grid[0])
        spread = max(float(np.ptp(best)), least_range)
        if best.max() - best.min() + 2 * spread > high - low:
            break
        low, high = best.min() - spread, best.max() + spread
    return float(best[0]), best[1:] if len(best) > 1 else best, settled
