"""Dimensions of measured values, checked for `exponent`, `fitted_law` and `collapse`."""

from collections.abc import Hashable

import numpy as np
import xarray as xr

from jaxtheory.texts.errors import InputError, suggest


def coordinate(values: xr.DataArray, dim: str) -> np.ndarray:
    """Return the coordinate of a dimension as numbers."""
    if dim not in values.dims:
        raise InputError(f"{dim!r} is not a dimension; {suggest(dim, map(str, values.dims))}")
    try:
        numbers: np.ndarray = values[dim].values.astype(float)
    except ValueError:
        raise InputError(f"{dim}: its coordinate must hold numbers, for the logarithm") from None
    return numbers


def require_one(extra_dims: list[Hashable], name: str) -> None:
    """Raise InputError if values have other dimensions than those that are fitted over."""
    if extra_dims:
        raise InputError(
            f"{name}: has the dimensions {', '.join(map(str, extra_dims))} too; select one value"
        )
