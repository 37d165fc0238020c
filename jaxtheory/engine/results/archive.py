"""A dataset on disk, as Zarr: written, compared with what had to be written, summed and opened.

Libraries are handed a store of this machine's files, not a path: what they take for an address,
such as `exp::v2`, is an ordinary name. Only Zarr's third format is read, node by node: consolidated
metadata may hold arrays of the second, whose filters may run a pickle.
"""

import contextlib
import hashlib
import math
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from jaxtheory.system import disk

_CHUNK_BYTES = 16 << 20  # of one chunk of an array
_IN_MEMORY = 1 << 30  # bytes up to which a dataset is read into memory
_OF = "# of "  # how data.sum names the store's mark: a comment to `sha256sum --check`
_filters = threading.Lock()


def write_zarr(dataset: xr.Dataset, target: Path) -> None:
    """Write a dataset whose chunks carry a checksum that reading meets; every chunk is written,
    also one that is all NaN.
    """
    from zarr.codecs import Crc32cCodec, ZstdCodec

    encoding: dict[str, Any] = {}
    for name, variable in dataset.variables.items():
        encoding[str(name)] = {"compressors": (ZstdCodec(level=1), Crc32cCodec())}
        if variable.ndim:
            encoding[str(name)]["chunks"] = _chunk_shape(variable.shape, variable.dtype.itemsize)
    with _without_warnings():
        dataset.to_zarr(
            _files(target, read_only=False),
            mode="w",
            zarr_format=3,
            consolidated=True,
            encoding=encoding,
            write_empty_chunks=True,
        )


def _files(target: Path, read_only: bool = True) -> Any:
    """A folder of this machine as Zarr's store."""
    from zarr.storage import LocalStore

    return LocalStore(target, read_only=read_only)


def lacking(dataset: xr.Dataset, target: Path) -> list[str]:
    """The names that stand otherwise on disk than in a dataset: missing or of another shape, type
    or dimensions, or with a chunk that is missing.
    """
    with _without_warnings():
        found = _lazily(target).variables
        whole = _complete(target)
    wanted = dataset.variables
    return [
        str(name)
        for name in {**wanted, **found}
        if name not in whole
        or name not in wanted
        or name not in found
        or _described(wanted[name]) != _described(found[name])
    ]


def _described(variable: xr.Variable) -> tuple:
    """Dimensions, shape and type of a variable; texts are read back as another type of text."""
    text = variable.dtype.kind in "OTU"
    return variable.dims, variable.shape, "text" if text else variable.dtype


def _complete(target: Path) -> set[str]:
    """The arrays all of whose chunks are there, and nothing else."""
    import zarr

    group = zarr.open_group(_files(target), mode="r", zarr_format=3, use_consolidated=False)
    return {name for name, array in group.arrays() if _has_all_chunks(target / name, array)}


def _has_all_chunks(folder: Path, array: Any) -> bool:
    """True where the files of an array are its chunks; counted before they are named, as metadata
    may declare any number.
    """
    found = {f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.is_file()}
    found.discard("zarr.json")
    counts = [-(-n // c) for n, c in zip(array.shape, array.chunks, strict=True)]
    return math.prod(counts) == len(found) and found == {
        "/".join(("c", *map(str, place))) for place in np.ndindex(*counts)
    }


def read_whole(target: Path, sums: Path, mark: str) -> xr.Dataset | None:
    """The dataset of a store with this mark, or None where it is missing, damaged, or another
    store's. No clock is asked: parts of one manifest that are computed again are the same.
    """
    try:
        text = disk.read_bytes(sums).decode(errors="replace")
        if not text.startswith(f"{_OF}{mark}\n") or text != summed(target, mark):
            return None
        with _without_warnings():
            names = {str(name) for name in _lazily(target).variables}
            whole = names == _complete(target)
        return open_dataset(target) if names and whole else None
    except Exception:  # whatever Zarr raises of files that it did not write
        return None


def summed(target: Path, mark: str) -> str:
    """The text of data.sum: the store's mark, and a checksum per file."""
    lines = (f"{digest}  {name}\n" for name, digest in sorted(_checksums(target).items()))
    return f"{_OF}{mark}\n{''.join(lines)}"


def _checksums(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file of a folder, by its path there."""
    found = {}
    for file in sorted(file for file in folder.rglob("*") if file.is_file()):
        with disk.open_regular(file) as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
        found[file.relative_to(folder).as_posix()] = digest
    return found


def open_dataset(target: Path) -> xr.Dataset:
    """A dataset from disk, in memory where it is small."""
    with _without_warnings():
        dataset = _lazily(target)
    return dataset.load() if dataset.nbytes <= _IN_MEMORY else dataset


def _lazily(target: Path) -> xr.Dataset:
    """A dataset on disk, its names in order; nothing is read but metadata and coordinates."""
    # a field's unit may be "seconds": numbers all the same
    found = xr.open_zarr(
        _files(target), chunks=None, decode_timedelta=False, zarr_format=3, consolidated=False
    )
    data, coordinates = (
        {name: group[name].variable for name in sorted(group, key=str)}
        for group in (found.data_vars, found.coords)
    )
    return xr.Dataset(data, coordinates, found.attrs)


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    """Without warnings: zarr says that string types and consolidation are not final; tests read
    both back. One thread at a time: the filters are the process's, and each restores what it found.
    """
    with _filters, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _chunk_shape(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Chunks of about CHUNK_BYTES, whole along the last axes."""
    left, chunks = max(_CHUNK_BYTES // max(itemsize, 1), 1), []
    for n in reversed(shape):
        chunks.append(max(min(n, left), 1))
        left = max(left // max(n, 1), 1)
    return tuple(reversed(chunks))
