"""Arrays of a page: the kept entries of a variable, statistics over seeds, and their bytes."""

import base64
import gzip
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.reports.explorer.thinning import STATISTICS, Selection

_BLOCK = 1 << 24  # entries of a variable that are in memory at once
_QUANTILES = {"low": 0.05, "high": 0.95}


class Stored(NamedTuple):
    """A variable as a page has it.

    arrays: "values" [kept places], and the statistics [kept places without seed] if there are
    several seeds. kind: "f4" if its numbers have seven digits as float32, else "f8".
    """

    arrays: dict[str, np.ndarray]
    kind: str


def recorded(values: xr.DataArray) -> np.ndarray:
    """Return the places along "step" at which some run has a value; all places if none has one."""
    steps = values.sizes["step"]
    other_axes = tuple(k for k, dim in enumerate(values.dims) if dim != "step")
    mask = np.zeros(steps, bool)
    for block in _pieces(values, _long_dim(values)):
        mask |= ~np.isnan(block.values.astype(float)).all(axis=other_axes)
        if mask.all():
            break
    return np.flatnonzero(mask) if mask.any() else np.arange(steps)


def _long_dim(values: xr.DataArray) -> str:
    """The dimension along which a large variable is read piece by piece, or "" to read it whole."""
    dims = [str(dim) for dim in values.dims if dim not in ("seed", "step")]
    if not dims or values.size <= _BLOCK:
        return ""
    return max(dims, key=lambda dim: values.sizes[dim])


def _pieces(values: xr.DataArray, dim: str) -> Iterator[xr.DataArray]:
    """Pieces of a variable along a dimension; the whole variable for ""."""
    if not dim:
        yield values
        return
    length = max(_BLOCK * values.sizes[dim] // values.size, 1)
    for first in range(0, values.sizes[dim], length):
        yield values.isel({dim: slice(first, first + length)})


def stored(values: xr.DataArray, selection: Selection) -> Stored:
    """Return the kept entries of a variable and, of several seeds, the statistics of all.

    The entries of a large dataset are read piece by piece.
    """
    values = values.isel({dim: at for dim, at in selection.places.items() if dim != "seed"})
    dim = _long_dim(values)
    pieces = [_of_piece(piece, selection) for piece in _pieces(values, dim)]
    arrays = {}
    for name in pieces[0]:
        dims = [d for d in values.dims if d != "seed" or name not in STATISTICS]
        parts = [piece[name] for piece in pieces]
        arrays[name] = np.concatenate(parts, dims.index(dim)) if dim else parts[0]
    kind = "f4" if all(map(_fits_float32, arrays.values())) else "f8"
    return Stored({name: np.asarray(a, kind) for name, a in arrays.items()}, kind)


def _of_piece(piece: xr.DataArray, selection: Selection) -> dict[str, np.ndarray]:
    """The kept seeds and the statistics of one piece."""
    array = np.asarray(piece.values)
    if "seed" not in piece.dims:
        return {"values": array}
    axis = piece.dims.index("seed")
    single = {"values": np.take(array, selection.places["seed"], axis)}
    return single if array.shape[axis] == 1 else single | statistics(array, axis)


def statistics(array: np.ndarray, axis: int) -> dict[str, np.ndarray]:
    """Return mean, 5 % and 95 % quantile and number of the finite entries along an axis.

    Quantiles lie on the straight lines between neighboring entries, as those of `numpy.quantile`.
    Where no entry is finite they are NaN.
    """
    numbers = np.moveaxis(array, axis, 0).astype(float)
    numbers[~np.isfinite(numbers)] = np.nan
    numbers.sort(axis=0)  # NaN is last
    count = (~np.isnan(numbers)).sum(axis=0)
    some = np.where(count > 0, count, np.nan)
    summary = {"mean": np.nansum(numbers, axis=0) / some}
    last = np.maximum(count - 1, 0)
    for name, share in _QUANTILES.items():
        place = share * last
        below = np.floor(place).astype(int)
        one = np.take_along_axis(numbers, below[None], 0)[0]
        next_one = np.take_along_axis(numbers, np.minimum(below + 1, last)[None], 0)[0]
        summary[name] = one + (place - below) * (next_one - one)
    return summary | {"n": count}


def _fits_float32(array: np.ndarray) -> bool:
    """True if float32 keeps an array: integers exactly, other numbers to seven digits."""
    if array.dtype == np.float32 or array.dtype == bool:
        return True
    with np.errstate(over="ignore", under="ignore"):
        single = array.astype(np.float32)
    if array.dtype.kind in "iu":
        return bool((single.astype(array.dtype) == array).all()) and bool(
            (np.abs(array.astype(float)) <= 2**24).all()
        )
    size = np.abs(single[np.isfinite(array) & (array != 0)])
    return bool(((size >= np.finfo(np.float32).tiny) & np.isfinite(size)).all())


def encoded(array: np.ndarray) -> str:
    """Return an array as text: its bytes by significance, compressed with gzip, in base64.

    All first bytes of the numbers come first, then all second ones, and so on, because bytes of the
    same significance are alike and compress better.
    """
    flat = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1)
    sorted_bytes = flat.view(np.uint8).reshape(-1, flat.itemsize).T.tobytes()
    return base64.b64encode(gzip.compress(sorted_bytes, 6, mtime=0)).decode()
