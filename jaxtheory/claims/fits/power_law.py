"""Power laws of measured values: exponents with 99 % confidence intervals, and their straightness.

The intervals are over seeds.
"""

import math
from typing import NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.claims.fits.axes import coordinate, require_one
from jaxtheory.claims.fits.interval import ERROR
from jaxtheory.claims.fits.jackknife import ROUNDING, ends, is_noise, logarithms
from jaxtheory.engine.results.labeled import takes_labeled
from jaxtheory.texts.errors import InputError

_DIGITS = 5  # of an exponent in a label, at most


@takes_labeled
def exponent(
    values: xr.DataArray, over: str, between: tuple[float, float] | None = None
) -> xr.Dataset:
    """Return the exponent a of values ~ c x^a with its interval, and whether the law is straight.

    a is the least-squares slope of log(mean of values over "seed") in log(x). The curvature is the
    change of the local slope from the first to the last x, on the least-squares parabola. If the
    law is not straight, there is no exponent, and a is its mean slope.

    Args:
        values: positive numbers with the dimension `over`, and with "seed" for intervals.
        over: the dimension whose coordinate is x, such as "step"; x must be positive.
        between: the smallest and the largest x that take part; None for all positive x.

    Returns:
        A dataset without `over` and "seed": `exponent` with `low` and `high`, `curvature` with
        `curvature_low` and `curvature_high`, `straight`, and `local`, the slopes between successive
        x, along `over` (at the geometric mean of the two). The ends are infinite for a single seed.
        Where a mean over seeds is not positive, all are NaN.

        `straight` is False if the curvature is not 0, or the distances from the line are more than
        noise over the seeds, which is said of 1 % of straight laws. It is True if neither is so and
        the curvature is at most half of the exponent, or 0.1, throughout its interval, and None if
        the seeds do not tell.

        The attribute "note" says in a sentence what is missing, and why.

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
        >>> round(float(law.exponent), 2), bool(law.low < -0.5 < law.high), law.straight.item()
        (-0.5, True, True)
    """
    x = coordinate(values, over)
    inside = x > 0
    if between is not None:
        inside &= (x >= between[0]) & (x <= between[1])
    if inside.sum() < 3:
        raise InputError(
            f"between = {between}: {int(inside.sum())} positive values of {over} take part, and an "
            "exponent with its straightness needs three"
        )
    values, u = values.isel({over: np.flatnonzero(inside)}), np.log(x[inside])
    other_dims = [dim for dim in values.dims if dim not in (over, "seed")]
    seeded = "seed" in values.dims
    table = (values if seeded else values.expand_dims("seed")).transpose("seed", *other_dims, over)
    log_means, runs = logarithms(table.values.astype(float))
    # orthonormal polynomials of log(x): the line, and the part of the parabola beside it
    centered = u - u.mean()
    basis = np.linalg.qr(np.vander(centered, 3, increasing=True))[0].T
    line, bow = basis[1] / (basis[1] @ centered), basis[2] / (basis[2] @ centered**2)
    weights = np.stack([line, 2 * np.ptp(u) * bow])  # of the exponent and of the curvature
    measured = np.moveaxis(runs @ weights.T, -1, 1)  # (run, number, ...)
    residuals = runs - runs @ basis[:2].T @ basis[:2]
    a, curvature = np.moveaxis(log_means @ weights.T, -1, 0)
    low, high = ends(measured)
    bound = np.maximum(abs(a) / 2, 0.1)
    straight = np.full(a.shape, None)
    for at in np.ndindex(a.shape):
        straight[at] = _straight(measured[:, 1][:, *at], residuals[:, *at], bound[at])
    names = {"exponent": a, "curvature": curvature, "straight": straight}
    names |= {"low": low[0], "high": high[0], "curvature_low": low[1], "curvature_high": high[1]}
    variables: dict[str, tuple] = {name: (other_dims, array) for name, array in names.items()}
    variables["local"] = ([*other_dims, over], np.diff(log_means) / np.diff(u))
    coords = {dim: values[dim] for dim in other_dims if dim in values.coords}
    coords |= {over: np.exp((u[1:] + u[:-1]) / 2)}
    return xr.Dataset(variables, coords, {"note": _note(log_means, len(runs), over)})


def _straight(curvature: np.ndarray, residuals: np.ndarray, bound: float) -> bool | None:
    """Test whether a law is straight.

    This is read from its curvature (run,) and its distances from the line (run, x).

    Both tests have half of the error.
    """
    (low,), (high,) = ends(curvature[:, None], ERROR / 2)
    if is_noise(residuals, error=ERROR / 2) is False or low > ROUNDING or high < -ROUNDING:
        return False
    return True if max(-low, high) <= bound else None


def _note(log_means: np.ndarray, n: int, over: str) -> str:
    """A sentence on what is missing, "" if nothing is."""
    lost = np.isnan(log_means).any(-1)
    sentences = []
    if lost.any():
        laws = f" for {int(lost.sum())} of {lost.size} laws" if lost.ndim else ""
        places = int(np.isnan(log_means).sum(-1).max())
        sentences.append(
            f"No exponent{laws}: the mean over seeds is not positive at {places} of "
            f"{log_means.shape[-1]} values of {over}."
        )
    if n < 2:
        sentences.append("No interval: one seed only.")
    return " ".join(sentences)


class FittedLaw(NamedTuple):
    """A fitted power law c x^a for a picture; made by `fitted_law`.

    Args:
        x: the x that took part; empty if they were fewer than three.
        y: the law at x.
        low, high: the range of the laws whose exponent is in the 99 % interval and that agree with
            y at the geometric mean of x; NaN without an interval.
        label: a text such as "exponent −0.49 [−0.51, −0.47]", "exponent −0.49" without an interval,
            "bent, mean slope −0.49" for a law that is not straight, or "no exponent".
        straight: whether the law is straight, as in `jaxtheory.exponent`: True, False or None.

    Example:
        >>> from jaxtheory import claims
        >>> claims.FittedLaw._fields
        ('x', 'y', 'low', 'high', 'label', 'straight')
    """

    x: np.ndarray
    y: np.ndarray
    low: np.ndarray
    high: np.ndarray
    label: str
    straight: bool | None = None


def fitted_law(values: xr.DataArray, over: str) -> FittedLaw:
    """Fit a power law to the mean over seeds, for `plot.law` and for a legend.

    Args:
        values: numbers with the dimension `over`, with "seed" for the interval, and with others of
            length 1; only positive x at which the mean is positive take part.
        over: the dimension whose coordinate is x.

    Returns:
        The law with its interval and its label. There is no interval for a single seed, for seeds
        that do not differ, and for a law that is not straight.

    Raises:
        InputError: `over` is not a dimension with numbers, or another dimension has several values.

    Example:
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxtheory import claims
        >>> n = np.array([10.0, 100.0, 1000.0])
        >>> runs = n**-0.5 * np.random.default_rng(0).lognormal(0, 0.02, (8, 3))
        >>> claims.fitted_law(xr.DataArray(runs, {"n": n}, ("seed", "n")), "n").label
        'exponent −0.50 [−0.51, −0.49]'
    """
    x = coordinate(values, over)
    other_dims = [dim for dim in values.dims if dim not in ("seed", over)]
    require_one([dim for dim in other_dims if values.sizes[dim] != 1], "values")
    table = values.squeeze(other_dims, drop=True).astype(float)
    mean = table.mean("seed") if "seed" in table.dims else table
    at = np.flatnonzero((mean.values > 0) & (x > 0))
    if len(at) < 3:
        none = np.zeros(0)
        return FittedLaw(none, none, none, none, "no exponent")
    law = exponent(table.isel({over: at}), over)
    a, low, high = (float(law[name]) for name in ("exponent", "low", "high"))
    straight = law.straight.item()
    if straight is False or not 10.0**-_DIGITS <= high - low < np.inf:
        low = high = np.nan
    x = x[at]
    u, middle = np.log(x) - np.log(x).mean(), np.log(mean.values[at]).mean()
    sides = np.exp(middle + np.outer([low, high], u))
    label = _label(a, low, high, straight)
    return FittedLaw(x, np.exp(middle + a * u), sides.min(0), sides.max(0), label, straight)


def _label(a: float, low: float, high: float, straight: bool | None) -> str:
    """The exponent as text, with enough digits to tell the ends of its interval apart."""
    digits = 2 if np.isnan(low) else max(2, math.ceil(-math.log10(high - low)))
    number = lambda x: f"{x:.{digits}f}".replace("-", "−")
    if straight is False:
        return f"bent, mean slope {number(a)}"
    return f"exponent {number(a)}" + (f" [{number(low)}, {number(high)}]" if low < high else "")
