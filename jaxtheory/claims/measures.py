"""Measures that the claims of several theories share."""

from typing import TypeVar

import xarray as xr

from jaxtheory.engine.results import statistics

_Values = TypeVar("_Values", xr.DataArray, xr.Dataset)


def last(values: _Values) -> _Values:
    """Return the values at the last recorded step; analyses have no steps and are returned as is.

    Args:
        values: an array, or a whole dataset.

    Returns:
        The values without the dimension "step".

    Example:
        >>> import xarray as xr
        >>> from jaxtheory import claims
        >>> loss = xr.DataArray([[4.0, 2.0, 1.0]], {"step": [0, 10, 20]}, ("seed", "step"))
        >>> claims.last(loss).values
        array([1.])
    """
    return values.isel(step=-1, drop=True) if "step" in values.dims else values


def exponent(values: xr.DataArray, x: str | xr.DataArray) -> xr.DataArray:
    """Return the exponent a of the power law values = c x^a: the least-squares slope of log(values)
    in log(x).

    Args:
        values: positive numbers; where one along x is NaN, so is the exponent.
        x: a dimension of the values, whose coordinate is used, or an array along one dimension.

    Returns:
        The exponents, without the dimension of x.

    Example:
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxtheory import claims
        >>> t = np.array([1.0, 10.0, 100.0])
        >>> loss = xr.DataArray(3 * t**-0.5, {"step": t}, ("step",))
        >>> round(float(claims.exponent(loss, "step")), 6)
        -0.5
    """
    if isinstance(x, str):
        return statistics.slope(values, x)
    (dim,) = x.dims
    return statistics.slope(values.assign_coords({dim: x.values}), str(dim))


def share(truth: xr.DataArray, among: xr.DataArray | None = None) -> xr.DataArray:
    """Return truth values as the numbers 1 and 0, NaN for runs that are left out.

    Their mean, which the statistics "mean" and "share" of a claim form over the seeds, is the share
    of the runs in `among` for which `truth` holds.

    Args:
        truth: truth values of runs.
        among: truth values that select runs; all runs if None.

    Returns:
        1.0 where truth holds, 0.0 where it does not, NaN outside `among`.

    Example:
        >>> import xarray as xr
        >>> from jaxtheory import claims
        >>> solved = xr.DataArray([True, False, False], dims="seed")
        >>> finite = xr.DataArray([True, True, False], dims="seed")
        >>> claims.share(solved, among=finite).values
        array([ 1.,  0., nan])
    """
    numbers = truth.astype(float)
    return numbers if among is None else numbers.where(among)
