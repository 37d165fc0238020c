"""Entries of further dimensions of an array that is drawn, such as the pruners of a metric."""

from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr

from jaxtheory.texts.errors import InputError, suggest

_LISTED = 5  # entries of a dimension that a message names


def select(
    values: xr.DataArray, dims: Sequence[str], at: Mapping[str, Any] | None = None
) -> xr.DataArray:
    """Return the values at chosen entries, with these dimensions and "seed" alone.

    Dimensions of length 1 are dropped. Raises InputError if another one is left, if one of `dims`
    is missing, or the entry does not exist.
    """
    for dim, entry in (at or {}).items():
        values = _selected(values, dim, entry)
    extras = [dim for dim in values.dims if dim not in (*dims, "seed")]
    values = values.squeeze([dim for dim in extras if values.sizes[dim] == 1], drop=True)
    if missing := [dim for dim in dims if dim not in values.dims]:
        raise InputError(
            f"the values have no dimension {missing[0]!r}; "
            f"{suggest(missing[0], map(str, values.dims))}"
        )
    if extras := [dim for dim in extras if dim in values.dims]:
        raise InputError(
            f"the values have the further dimension {extras[0]} ({_entries(values, extras[0])}); "
            f"choose an entry with at={{{extras[0]!r}: ...}}, or draw a line for each with "
            f"plot.lines(ax, values, x, {extras[0]!r})"
        )
    return values


def _selected(values: xr.DataArray, dim: str, entry: Any) -> xr.DataArray:
    """The values at an entry of a dimension, or at a list of them."""
    if dim not in values.dims:
        known = ", ".join(map(str, values.dims))
        raise InputError(f"at: the values have no dimension {dim!r}, only {known}")
    try:
        return values.sel({dim: entry}, drop=True)
    except (KeyError, IndexError, TypeError, ValueError):
        raise InputError(
            f"at: {dim} has no entry {entry!r}; it has {_entries(values, dim)}"
        ) from None


def _entries(values: xr.DataArray, dim: Any) -> str:
    """The entries of a dimension in words."""
    labels = [str(label) for label in values[dim].values]
    more = f" and {len(labels) - _LISTED} more" if len(labels) > _LISTED else ""
    return ", ".join(labels[:_LISTED]) + more
