"""Measures of claims: a name and a function; and functions that several theories share."""

import dataclasses
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import xarray as xr

from jaxtheory.engine.results import statistics
from jaxtheory.engine.results.labeled import takes_labeled

_Values = TypeVar("_Values", xr.DataArray, xr.Dataset)
_Number = xr.DataArray | np.ndarray | float


@dataclasses.dataclass(frozen=True)
class Measure:
    """The number of a replicate, with a name that says what it is.

    Args:
        name: what the number is, with its unit and settings, such as "loss at t = 50, in nats":
            results read "NAME: 1.06 [1.02, 1.11], claimed ≥ 1".
        function: a function of the data of one replicate that returns the number; of several, all
            must satisfy the bound.

    Example:
        >>> import xarray as xr
        >>> from jaxtheory import claims
        >>> loss = claims.Measure("loss at the end", lambda data: claims.last(data.loss))
        >>> loss(xr.Dataset({"loss": ("step", [4.0, 1.0])})).item()
        1.0
    """

    name: str
    function: Callable[[xr.Dataset], _Number]

    def __call__(self, data: xr.Dataset) -> _Number:
        """Return the number of the replicate with this data."""
        return self.function(data)


@takes_labeled
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


@takes_labeled
def exponent(values: xr.DataArray, x: str | xr.DataArray) -> xr.DataArray:
    """Return the exponent a of the power law values = c x^a.

    It is the least-squares slope of log(values) in log(x).

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


@takes_labeled
def crossing(
    values: xr.DataArray, level: float, coordinate: xr.DataArray | None = None
) -> xr.DataArray:
    """Return the step at which values first reach a level, or the value of `coordinate` there.

    The level is reached from above or below; between two records lines are straight.

    Give logarithms of values and level for straight lines in the logarithm.

    Args:
        values: an array with the dimension "step".
        level: the level that they reach.
        coordinate: another array with steps, by default the steps themselves.

    Returns:
        An array without the dimension "step"; NaN where the level is not reached, or is reached
        next to a NaN.

    Example:
        >>> import xarray as xr
        >>> from jaxtheory import claims
        >>> loss = xr.DataArray([[4.0, 2.0, 1.0]], {"step": [0, 10, 20]}, ("seed", "step"))
        >>> claims.crossing(loss, 1.5).values
        array([15.])
    """

    def first(y: np.ndarray, x: np.ndarray) -> float:
        reached = (y[:-1] - level) * (y[1:] - level) <= 0
        if not reached.any():
            return float("nan")
        i = int(np.argmax(reached))
        part = 0 if y[i] == level else (level - y[i]) / (y[i + 1] - y[i])
        return float(x[i] + part * (x[i + 1] - x[i]))

    at_steps = values.step.astype(float) if coordinate is None else coordinate
    return xr.apply_ufunc(
        first,
        values,
        at_steps.broadcast_like(values),
        input_core_dims=[["step"]] * 2,
        vectorize=True,
    )


@takes_labeled
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
