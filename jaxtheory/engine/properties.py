"""Yes-or-no properties of a run; a boundary is where one changes."""

import dataclasses
from collections.abc import Callable

import xarray as xr

from jaxtheory.engine.results.labeled import takes_labeled
from jaxtheory.texts.errors import InputError, suggest


@takes_labeled
def diverged(data: xr.Dataset) -> xr.DataArray:
    """Return which runs were not finite at some step, as the property of a boundary.

    Args:
        data: The dataset of a sweep.

    Returns:
        Truth values with the dimensions of `data.diverged_at`.

    Example:
        >>> import xarray as xr
        >>> import jaxtheory
        >>> jaxtheory.diverged(xr.Dataset({"diverged_at": ("seed", [-1, 7])})).values
        array([False,  True])
    """
    truth: xr.DataArray = data["diverged_at"] >= 0
    return truth


@dataclasses.dataclass(frozen=True)
class Ends:
    """A metric or an analysis below, or above, a limit at the end."""

    name: str
    is_below: bool
    limit: float

    def __call__(self, data: xr.Dataset) -> xr.DataArray:
        call = f"{'below' if self.is_below else 'above'}({self.name!r})"
        if self.name not in data:
            hint = suggest(self.name, map(str, data.data_vars))
            raise InputError(f"{call}: no metric has this name; {hint}")
        values = data[self.name]
        end = values.isel(step=-1, drop=True) if "step" in values.dims else values
        extra = [dim for dim in end.dims if dim not in data["diverged_at"].dims]
        if extra:
            raise InputError(
                f"{call}: it has the dimension {extra[0]} too; write a function of the dataset "
                "that returns one truth value for each run"
            )
        lost = int((end.isnull() & (data["diverged_at"] < 0)).sum())
        if lost:
            raise InputError(
                f"{call}: it is NaN in {lost} of {end.size} runs that did not diverge, so that "
                "they are on neither side; choose another metric or interval"
            )
        truth: xr.DataArray = end < self.limit if self.is_below else end > self.limit
        return truth

    def __str__(self) -> str:
        return f"{self.name} {'<' if self.is_below else '>'} {self.limit:g}"


def below(name: str, limit: float) -> Callable[[xr.Dataset], xr.DataArray]:
    """Return the property "this metric ends below the limit"; False for diverged runs.

    Args:
        name: A metric, taken at the last recorded step, or an analysis.
        limit: The limit.

    Returns:
        A function of a dataset that returns truth values. It raises InputError where the metric is
        NaN in a run that did not diverge.

    Raises:
        InputError: The name is not a string or the limit is not a number.

    Example:
        >>> import xarray as xr
        >>> import jaxtheory
        >>> loss = xr.DataArray([[1.0, 0.05], [1.0, 0.2]], dims=("seed", "step"))
        >>> data = xr.Dataset({"loss": loss, "diverged_at": ("seed", [-1, -1])})
        >>> jaxtheory.below("loss", 0.1)(data).values
        array([ True, False])
    """
    return _ends("below", name, limit)


def above(name: str, limit: float) -> Callable[[xr.Dataset], xr.DataArray]:
    """Return the property "this metric ends above the limit"; False for diverged runs.

    Args:
        name: A metric, taken at the last recorded step, or an analysis.
        limit: The limit.

    Returns:
        A function of a dataset that returns truth values. It raises InputError where the metric is
        NaN in a run that did not diverge.

    Raises:
        InputError: The name is not a string or the limit is not a number.

    Example:
        >>> import xarray as xr
        >>> import jaxtheory
        >>> accuracy = xr.DataArray([[0.5, 0.95], [0.5, 0.8]], dims=("seed", "step"))
        >>> data = xr.Dataset({"accuracy": accuracy, "diverged_at": ("seed", [-1, -1])})
        >>> jaxtheory.above("accuracy", 0.9)(data).values
        array([ True, False])
    """
    return _ends("above", name, limit)


def _ends(side: str, name: str, limit: float) -> Ends:
    if not isinstance(name, str):
        raise InputError(f"{side}({name!r}, ...): the name of a metric must be a string")
    try:
        return Ends(name, side == "below", float(limit))
    except (TypeError, ValueError):
        raise InputError(f"{side}({name!r}, {limit!r}): the limit must be a number") from None
