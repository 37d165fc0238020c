"""Statistics over seeds that leave out diverged runs and count how many remain."""

from typing import NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.engine.results.labeled import takes_labeled

__all__ = ["Average", "average", "counted", "slope"]

# names of coordinates, with spaces so that they cannot collide with the name of an axis
BEHIND, OF_SEEDS = "runs behind the mean", "seeds behind the mean"


class Average(NamedTuple):
    """Mean over a dimension with its standard error, as returned by `average`.

    Args:
        mean: Mean of the finite entries.
        error: Standard error of the mean.
        n: Number of finite entries.
        excluded: Number of entries that are NaN or infinite and were left out.

    Example:
        >>> import jaxtheory
        >>> import xarray as xr
        >>> average = jaxtheory.statistics.average(xr.DataArray([1.0, 3.0], dims="seed"))
        >>> isinstance(average, jaxtheory.statistics.Average)
        True
    """

    mean: xr.DataArray
    error: xr.DataArray
    n: xr.DataArray
    excluded: xr.DataArray


@takes_labeled
def average(values: xr.DataArray, dim: str = "seed") -> Average:
    """Average the finite entries along a dimension, such as the seeds of a sweep.

    mean = sum of x_i / n, error = s / sqrt(n), with s^2 = sum of (x_i - mean)^2 / (n - 1), over the
    n finite entries x_i. All sums are in float64, where the square of a float32 cannot overflow.

    Args:
        values: Numbers with the dimension `dim`.
        dim: The dimension that is averaged over.

    Returns:
        An `Average`, each array without `dim`. The mean is NaN where n = 0, and the error is NaN
        where n < 2.

    Example:
        >>> import jaxtheory
        >>> import xarray as xr
        >>> over = jaxtheory.statistics.average(xr.DataArray([1.0, 3.0, float("nan")], dims="seed"))
        >>> float(over.mean), float(over.error), int(over.n), int(over.excluded)
        (2.0, 1.0, 2, 1)
    """
    values = values.astype(float)
    good: xr.DataArray = abs(values) < np.inf
    n: xr.DataArray = good.sum(dim)
    finite = values.where(good)
    mean = finite.mean(dim)
    spread = ((finite - mean) ** 2).sum(dim) / (n - 1).where(n > 1)
    return Average(mean, (spread / n.where(n > 0)) ** 0.5, n, values.sizes[dim] - n)


@takes_labeled
def counted(values: xr.DataArray, runs: xr.DataArray, dim: str = "seed") -> xr.DataArray:
    """Note in an array of means how many runs each mean is made of, for the captions of figures.

    Args:
        values: Means over `dim`, or numbers computed from such means.
        runs: The values of single runs from which `values` were computed, with the dimension `dim`.
        dim: The dimension that was averaged over.

    Returns:
        `values` with two more coordinates: "runs behind the mean", the number of finite entries of
        `runs` along `dim`, and "seeds behind the mean", the length of `dim`.

    Example:
        >>> import jaxtheory
        >>> import xarray as xr
        >>> runs = xr.DataArray([1.0, 3.0, float("nan")], dims="seed")
        >>> mean = jaxtheory.statistics.counted(runs.mean("seed"), runs)
        >>> int(mean["runs behind the mean"]), int(mean["seeds behind the mean"])
        (2, 3)
    """
    return values.assign_coords({BEHIND: average(runs, dim).n, OF_SEEDS: runs.sizes[dim]})


@takes_labeled
def slope(values: xr.DataArray, dim: str) -> xr.DataArray:
    """Return the least-squares slope of log(values) against log(x): the exponent of a power law.

    slope = sum of u_i v_i / sum of u_i^2, with u_i = log(x_i) less its mean over i,
    v_i = log(values_i), and x the coordinate of `dim`.

    Args:
        values: Positive numbers with the dimension `dim`.
        dim: A dimension whose coordinate holds positive numbers, at least two of them different.

    Returns:
        The slope, without `dim`.

    Example:
        >>> import jaxtheory
        >>> import xarray as xr
        >>> n = [1.0, 2.0, 4.0, 8.0]
        >>> error = xr.DataArray([1.0, 0.25, 0.0625, 0.015625], {"n": n}, "n")  # n^-2
        >>> round(float(jaxtheory.statistics.slope(error, "n")), 6)
        -2.0
    """
    x, y = xr.apply_ufunc(np.log, values[dim].astype(float)), xr.apply_ufunc(np.log, values)
    x = x - x.mean(dim)
    return xr.dot(x, y, dim=dim) / xr.dot(x, x, dim=dim)


def __dir__() -> list[str]:
    return sorted(__all__)
