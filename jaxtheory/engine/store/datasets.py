"""Datasets of a store: each request has its own, which is published once and never replaced.

DIR/data/REQUEST.json         the request and the metadata of its dataset
DIR/data/REQUEST/data.zarr    the dataset, with checksums in its chunks
DIR/data/REQUEST/data.sum     the mark of the request, and a checksum per file
DIR/data/begun, newest        the name of the request that was begun, or finished, last
DIR/data.zarr                 the newest dataset, as links to its files
"""

import contextlib
import errno
import hashlib
import importlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from jaxtheory.engine.store import archive
from jaxtheory.engine.store.rectangle import places
from jaxtheory.engine.store.store import (
    FORMAT,
    MANIFEST,
    Store,
    publish,
    read_manifest,
    read_signed,
    signed,
)
from jaxtheory.system import disk
from jaxtheory.system.temporary import temporary_sibling
from jaxtheory.texts.errors import InputError

importlib.import_module("jaxtheory.engine.accessor")  # registers data.jaxtheory

_DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
_OLD_FORMAT = 3  # of stores with one dataset, which are read only
_OLD_MARK = ("format", "request", "plan", "keys", "versions")


def mark_of(identity: Mapping[str, Any]) -> str:
    """Return the mark of a request, whose first 16 digits are its name in a store."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def begin(store: Store, identity: Mapping[str, Any], described: Mapping[str, Any]) -> None:
    """Note that a request was begun, with the metadata of its dataset, as plain data."""
    name = mark_of(identity)[:16]
    file = store.path / "data" / f"{name}.json"
    with store.errors():
        if _read(file) is None:
            content = {"format": FORMAT, "request": identity, "described": described}
            publish(file, signed(content), lambda: _read(file) is not None)
        _point(store, "begun", name)


def begun(path: Path) -> dict[str, Any] | None:
    """Return the request that was begun last in a store, and the metadata of its dataset."""
    names = [_pointed(path, "begun"), *_by_time(path, "*.json")]
    requests = (_read(path / "data" / f"{name}.json") for name in names if name)
    return next((request for request in requests if request), None)


def finished(path: Path, identity: Mapping[str, Any]) -> xr.Dataset | None:
    """Return the dataset of a request, or None if it is missing or damaged."""
    mark = mark_of(identity)
    return _intact(path / "data" / mark[:16], mark)


def includes(path: Path, identity: Mapping[str, Any]) -> bool:
    """True if the dataset of another request has all runs of a request."""
    for name in _by_time(path, "*.json"):
        request = _read(path / "data" / f"{name}.json")
        if request is None or mark_of(request["request"]) == mark_of(identity):
            continue
        at = places(identity, request["request"])
        if at is not None and all((index >= 0).all() for index in at):
            return True
    return False


def finish(store: Store, identity: Mapping[str, Any], dataset: xr.Dataset) -> xr.Dataset:
    """Publish the dataset of a request, and open it. The first dataset of a request stays.

    Raises InputError if it cannot be written, or changes on disk while it is written.
    """
    mark = mark_of(identity)
    folder = store.path / "data" / mark[:16]
    try:
        with temporary_sibling(folder) as temporary:
            target = temporary / "data.zarr"
            temporary.mkdir()
            archive.write_zarr(dataset, target)
            disk.synced(temporary / "data.sum", archive.summed(target, mark).encode())
            if lost := archive.lacking(dataset, target):
                raise InputError(
                    f"store {store.path}: {', '.join(lost)} of the dataset changed on disk while "
                    "it was written; rerun the same command"
                )
            _publish_folder(temporary, folder, mark)
    except OSError as error:
        if (done := finished(store.path, identity)) is None:
            with store.errors():
                raise error from None
        return done
    _show(store, folder)
    return archive.open_dataset(folder / "data.zarr")


def _publish_folder(temporary: Path, folder: Path, mark: str) -> None:
    """Rename a folder to its place, unless an intact one is there."""
    while True:
        try:
            os.rename(temporary, folder)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            if _intact(folder, mark) is not None:
                return
            os.rename(folder, temporary.with_name(f"damaged-{os.urandom(4).hex()}"))


def show(store: Store, identity: Mapping[str, Any]) -> None:
    """Show the dataset of a request as DIR/data.zarr, if none is shown."""
    if not (store.path / "data.zarr").is_dir() or not _pointed(store.path, "newest"):
        _show(store, store.path / "data" / mark_of(identity)[:16])


def _show(store: Store, folder: Path) -> None:
    """Show a dataset as DIR/data.zarr. Where that cannot be written, nothing is shown."""
    target = store.path / "data.zarr"
    with contextlib.suppress(OSError, shutil.Error), temporary_sibling(target) as temporary:
        shutil.copytree(folder / "data.zarr", temporary, copy_function=_link_or_copy)
        if target.exists() or target.is_symlink():
            os.rename(target, temporary.with_name("before"))
        os.rename(temporary, target)
        _point(store, "newest", folder.name)


def _link_or_copy(source: str, target: str) -> str:
    """Link a file, or copy it where the file system has no links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def _point(store: Store, name: str, request: str) -> None:
    """Write the name of a request into a file."""
    file = store.path / "data" / name
    if _pointed(store.path, name) != request:
        with temporary_sibling(file) as temporary:
            disk.synced(temporary, request.encode())
            os.replace(temporary, file)


def _pointed(path: Path, name: str) -> str:
    try:
        text = disk.read_bytes(path / "data" / name).decode()
    except (OSError, ValueError):
        return ""
    return text if text.isalnum() else ""


def _by_time(path: Path, pattern: str) -> list[str]:
    """The names of the requests with a file or folder, the newest first."""
    try:
        files = [(file.stat().st_mtime_ns, file.stem) for file in (path / "data").glob(pattern)]
    except OSError:
        return []
    return [name for _, name in sorted(files, reverse=True)]


def _read(file: Path) -> dict[str, Any] | None:
    """The description of a request, or None if it is missing or damaged."""
    try:
        content = read_signed(file)
        if content["format"] != FORMAT or mark_of(content["request"])[:16] != file.stem:
            return None
        return content
    except _DAMAGED:
        return None


def _intact(folder: Path, mark: str) -> xr.Dataset | None:
    return archive.read_whole(folder / "data.zarr", folder / "data.sum", mark)


def open_store(store: str | Path) -> xr.Dataset:
    """Open the dataset that was finished last in a store.

    Args:
        store: The directory of a store, or the `data.zarr` in it. Stores of earlier versions are
            read too.

    Returns:
        The dataset, which keeps its numbers whatever happens to the store. One of more than 1 GiB
        is read from disk as its values are used.

    Raises:
        InputError: The directory is not a store, or its dataset is incomplete or damaged.

    Example:
        >>> import jaxtheory, tempfile
        >>> from jaxtheory.theories import random_walk
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     data = jaxtheory.sweep(
        ...         random_walk, random_walk.Config(), seeds=2, steps=5, store=f"{folder}/walks"
        ...     )
        ...     same = jaxtheory.open_store(f"{folder}/walks")
        >>> same.identical(data)
        True
    """
    location = disk.located(store)
    path = location.parent if location.name == "data.zarr" else location
    if not path.is_dir():
        raise InputError(
            f"{store}: no such directory; give the directory of a store that a sweep wrote"
        )
    if not (path / MANIFEST).is_file():
        inside = sorted(file.parent.name for file in path.glob(f"*/{MANIFEST}"))
        listed = f"; it holds the stores {', '.join(inside[:5])}" if inside else ""
        more = f" and {len(inside) - 5} more" if len(inside) > 5 else ""
        raise InputError(f"{store} is not the store of a sweep: it has no {MANIFEST}{listed}{more}")
    data = _old_dataset(path)
    if data is None:
        with contextlib.suppress(InputError):  # a damaged manifest
            read_manifest(path)
            data = newest(path)
    if data is None:
        raise InputError(
            f"{store} is incomplete or damaged; rerun the command that wrote it to complete it"
        )
    return data


def newest(path: Path) -> xr.Dataset | None:
    """Return the dataset that was finished last in a store, or None if it is damaged."""
    try:
        return finished(path, request_of(path)["request"])
    except InputError:
        return None


def request_of(path: Path) -> dict[str, Any]:
    """Return the request of the newest dataset of a store, and its metadata.

    Raises InputError if it is missing.
    """
    named = _pointed(path, "newest")
    for name in [named] if named else _by_time(path, "*/"):
        if request := _read(path / "data" / f"{name}.json"):
            return request
    raise InputError(f"{path} is damaged; rerun the command that wrote it")


def _old_dataset(path: Path) -> xr.Dataset | None:
    """The dataset of a store of the format before, or None if it is not one or damaged."""
    try:
        manifest = dict(json.loads(disk.read_bytes(path / MANIFEST)))
        if manifest["format"] != _OLD_FORMAT:
            return None
        content = {name: manifest.get(name) for name in _OLD_MARK}
        return archive.read_whole(path / "data.zarr", path / "data.sum", mark_of(content))
    except _DAMAGED:
        return None
