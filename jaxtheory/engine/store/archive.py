"""Datasets on disk as Zarr: write them, verify them, compute their checksums and open them.

Libraries get a Zarr store of local files instead of a path, because they would take a directory
name such as `exp::v2` for a URL. Only version 3 of the Zarr format is read, node by node:
consolidated metadata may contain arrays of version 2, whose filters can run a pickle.
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

_CHUNK_BYTES = 16 << 20  # of one Zarr chunk of an array
_IN_MEMORY = 1 << 30  # bytes up to which a dataset is read into memory
_OF = "# of "  # before the mark of the store in data.sum; `sha256sum --check` skips comments
_filters = threading.Lock()


def write_zarr(dataset: xr.Dataset, target: Path) -> None:
    """Write a dataset whose chunks carry a checksum that is verified when they are read.

    Every chunk is written, also one that is all NaN, so that a missing chunk means damage.
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
    """A local folder as a Zarr store."""
    from zarr.storage import LocalStore

    return LocalStore(target, read_only=read_only)


def lacking(dataset: xr.Dataset, target: Path) -> list[str]:
    """Return the names of variables that differ between the disk and a dataset.

    A variable differs if it is missing on one side, has another shape, type or dimensions, or lacks
    a chunk.
    """
    with _without_warnings():
        stored = _lazily(target).variables
        complete_names = _complete(target)
    wanted = dataset.variables
    return [
        str(name)
        for name in {**wanted, **stored}
        if name not in complete_names
        or name not in wanted
        or name not in stored
        or _described(wanted[name]) != _described(stored[name])
    ]


def _described(variable: xr.Variable) -> tuple:
    """Dimensions, shape and type of a variable; strings may be read back as another string type."""
    text = variable.dtype.kind in "OTU"
    return variable.dims, variable.shape, "text" if text else variable.dtype


def _complete(target: Path) -> set[str]:
    """Names of the arrays whose folder holds all of their chunks and nothing else."""
    import zarr

    group = zarr.open_group(_files(target), mode="r", zarr_format=3, use_consolidated=False)
    return {name for name, array in group.arrays() if _has_all_chunks(target / name, array)}


def _has_all_chunks(folder: Path, array: Any) -> bool:
    """True if the files of an array are exactly its chunks.

    They are counted before their names are listed, because damaged metadata may declare any number
    of chunks.
    """
    files = {f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.is_file()}
    files.discard("zarr.json")
    counts = [-(-n // c) for n, c in zip(array.shape, array.chunks, strict=True)]
    return math.prod(counts) == len(files) and files == {
        "/".join(("c", *map(str, place))) for place in np.ndindex(*counts)
    }


def read_whole(target: Path, sums: Path, mark: str) -> xr.Dataset | None:
    """Return the dataset of the store with this mark, or None if it is missing or damaged.

    A dataset of another store counts as damaged. Timestamps are not compared: parts that are
    computed again under one manifest are the same.
    """
    try:
        text = disk.read_bytes(sums).decode(errors="replace")
        if not text.startswith(f"{_OF}{mark}\n") or text != summed(target, mark):
            return None
        with _without_warnings():
            names = {str(name) for name in _lazily(target).variables}
            is_complete = names == _complete(target)
        return open_dataset(target) if names and is_complete else None
    except Exception:  # Zarr raises anything on files that it did not write
        return None


def summed(target: Path, mark: str) -> str:
    """Return the text of data.sum: the mark of the store, and a checksum per file."""
    lines = (f"{digest}  {name}\n" for name, digest in sorted(_checksums(target).items()))
    return f"{_OF}{mark}\n{''.join(lines)}"


def _checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of every file of a folder, by its relative path."""
    checksums = {}
    for file in sorted(file for file in folder.rglob("*") if file.is_file()):
        with disk.open_regular(file) as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
        checksums[file.relative_to(folder).as_posix()] = digest
    return checksums


def open_dataset(target: Path) -> xr.Dataset:
    """Open a dataset, and read it into memory if it is small.

    It does not carry the encoding of its files, which would be taken over where it is written.
    """
    with _without_warnings():
        dataset = _lazily(target).drop_encoding()
    return dataset.load() if dataset.nbytes <= _IN_MEMORY else dataset


def _lazily(target: Path) -> xr.Dataset:
    """Open a dataset with its names in order; only metadata and coordinates are read."""
    # without decoding, because a config field with the unit "seconds" is still a plain number
    dataset = xr.open_zarr(
        _files(target), chunks=None, decode_timedelta=False, zarr_format=3, consolidated=False
    )
    data, coordinates = (
        {name: group[name].variable for name in sorted(group, key=str)}
        for group in (dataset.data_vars, dataset.coords)
    )
    return xr.Dataset(data, coordinates, dataset.attrs)


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    """Suppress warnings: Zarr says that string types and consolidation are not final.

    Tests read both back. One thread enters at a time, because warning filters belong to the whole
    process.
    """
    with _filters, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _chunk_shape(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Shape of chunks of about _CHUNK_BYTES, whole along the last axes."""
    budget, chunks = max(_CHUNK_BYTES // max(itemsize, 1), 1), []
    for n in reversed(shape):
        chunks.append(max(min(n, budget), 1))
        budget = max(budget // max(n, 1), 1)
    return tuple(reversed(chunks))
