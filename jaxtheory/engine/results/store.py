"""Store of results on disk: resumable, labeled, and safe for concurrent writers.

    DIR/manifest.json     the identity of the request, the fixed plan and the versions; written once
                          (versions that are accepted later are added)
    DIR/parts/*.part      one file per finished chunk: a checksum and its arrays, renamed into place
    DIR/states/           states of the runs after their last step (states.py)
    DIR/data.zarr         the labeled dataset, written to a temporary name and renamed when whole;
                          its chunks carry checksums
    DIR/data.sum          the mark of the manifest, and a checksum per file of data.zarr

A part is finished when its file reads back whole. A part that is missing or damaged is computed
again. The checksums of parts and of the dataset include the mark of the store, so that those of
another store count as damaged. Files with other names are left alone, and pickles are never loaded.
"""

import contextlib
import functools
import hashlib
import json
import math
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from jaxtheory.core.errors import InputError
from jaxtheory.core.plain import as_json
from jaxtheory.engine.records import Chunk, Part
from jaxtheory.engine.results import archive, packed
from jaxtheory.engine.results.environment import present
from jaxtheory.system import disk
from jaxtheory.system.disk import synced
from jaxtheory.system.locks import locked
from jaxtheory.system.temporary import PREFIX, beside, owned, tidy

_FORMAT = 3
_KEYS = (
    "fold_in(threefry2x32 key(k), seed); streams 0 problem, 1 init, 2 steps; fold_in(steps, "
    "t): 0 batch, 1 step"
)
_MARKED = (
    "format",
    "request",
    "plan",
    "keys",
    "versions",
)  # entries of the manifest that make up the mark
MERGED = "merged"  # an entry of the manifest of a merged store: the marks of its sources
STATES = "states"  # the folder of results/states.py in a store
_PART = re.compile(r"(\d+)-(\d+)-(\d+)\.part")  # backup copies have other names


class Store:
    """A directory of results.

    Opening it reads the manifest and compares the request. Nothing is written before `begin`.
    """

    def __init__(self, path: str | os.PathLike, identity: Mapping[str, Any]):
        self.path = disk.located(path)
        self.identity = as_json(identity)
        self.manifest: dict[str, Any] | None = None
        file = self.path / "manifest.json"
        try:
            occupied = self.path.exists() and (
                not self.path.is_dir()
                or any(not other.name.startswith(PREFIX) for other in self.path.iterdir())
            )
            if file.exists():  # checked last: another process may be creating it
                self.manifest = self._read_manifest(file)
                return
        except OSError as error:
            raise self._refusal(error) from None
        if occupied:
            raise InputError(
                f"{self.path} already exists and is not a jaxtheory store; choose another "
                "directory for store="
            )

    def _read_manifest(self, file: Path) -> dict[str, Any]:
        """Read the manifest. Raises InputError unless it is whole and of the same request."""
        manifest = read_manifest(file)
        stored = manifest["request"]
        changed = _differences({**stored, "code": None}, {**self.identity, "code": None})
        if changed:
            raise InputError(
                "\n".join(
                    [
                        f"{self.path} holds the results of another request; choose another "
                        "directory for store= (a store can be given more seeds, more values of one "
                        "axis or more steps, one of these at a time):",
                        *changed,
                    ]
                )
            )
        old, new = stored.get("code") or {}, self.identity["code"]
        if edited := [name for name in new if old.get(name) != new[name]]:
            theory = self.identity["theory"]
            raise InputError(
                f"{self.path}: the code of {theory} has changed since ({', '.join(edited)}); "
                "choose another directory for store="
            )
        return manifest

    @functools.cached_property
    def mark(self) -> str:
        """The mark of this store, which its parts and its dataset carry."""
        assert self.manifest is not None
        return mark_of(self.manifest)

    @property
    def plan(self) -> list[dict[str, Any]] | None:
        """The stored plan, with one layout per bucket, which a resumed sweep follows."""
        return None if self.manifest is None else self.manifest["plan"]

    @property
    def parts(self) -> Path:
        return self.path / "parts"

    def begin(self, plan: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Create the directory with a plan, and return the plan to follow.

        It is another one if another process created the store first.
        """
        if self.manifest is None:
            self.manifest = self._create(plan)
        if MERGED in self.manifest:
            raise InputError(
                f"{self.path} was merged from other stores and its dataset is damaged; merge them "
                "again, or choose another directory for store="
            )
        try:
            self.parts.mkdir(exist_ok=True)
        except OSError as error:
            raise self._refusal(error) from None
        self.tidy()
        return list(self.manifest["plan"])

    def _create(self, plan: list[dict[str, Any]]) -> dict[str, Any]:
        """Write the manifest, or read that of a process that was faster."""
        whole = {
            "format": _FORMAT,
            "request": self.identity,
            "plan": as_json(plan),
            "keys": _KEYS,
            "versions": installed_versions(),
        }
        whole["digest"] = manifest_checksum(whole)
        file = self.path / "manifest.json"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with beside(file) as temporary:
                synced(temporary, json.dumps(whole, indent=1).encode())
                os.link(temporary, file)  # fails if another process was faster
        except FileExistsError:
            pass
        except OSError as error:
            raise self._refusal(error) from None
        return self._read_manifest(file)

    def tidy(self) -> None:
        """Remove temporary files of killed processes."""
        for folder in (self.path, self.parts, self.path / STATES):
            tidy(folder)

    def _refusal(self, error: OSError) -> InputError:
        return InputError(
            f"store {self.path}: {error.strerror or error}; choose a writable directory on a disk "
            "with free space"
        )

    def missing(self, chunks: Iterable[Chunk]) -> list[Chunk]:
        """Return the slots of these chunks that are not in a whole part, as chunks."""
        kept = self._kept()
        return [
            piece
            for chunk in chunks
            for piece in _without(chunk, kept.get(chunk.bucket.number, []))
        ]

    def _kept(self) -> dict[int, list[tuple[int, int]]]:
        """For each bucket, the slots whose parts read back whole; damaged files are removed."""
        ranges: dict[int, list[tuple[int, int]]] = {}
        for file in self._files():
            try:
                whole = packed.whole(disk.read_bytes(file), self.mark, file.stem)
            except OSError:
                whole = False
            if whole:
                bucket, first, last = map(int, file.stem.split("-"))
                ranges.setdefault(bucket, []).append((first, last))
            else:
                self._remove(file)
        return ranges

    def _files(self) -> list[Path]:
        """The files of finished parts, without temporary files."""
        return sorted(file for file in self.parts.glob("*") if _PART.fullmatch(file.name))

    def _remove(self, file: Path) -> None:
        """Remove a damaged part."""
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            why = error.strerror or error
            raise InputError(
                f"store {self.path}: {file} is damaged and cannot be removed ({why}); remove it "
                "yourself"
            ) from None

    def file(self, chunk: Chunk) -> Path:
        """Return the path of a chunk's part."""
        return self.parts / f"{chunk.name}.part"

    def has(self, chunk: Chunk) -> bool:
        """True if the file of this chunk's part exists, whole or damaged."""
        return self.file(chunk).exists()

    def write(self, chunk: Chunk, part: Part) -> None:
        """Write a finished part."""
        target = self.file(chunk)
        try:
            with beside(target) as temporary:
                synced(temporary, packed.encode_part(part, self.mark, target.stem))
                os.replace(temporary, target)
        except OSError as error:
            raise self._refusal(error) from None

    def read_parts(self) -> Iterator[Part]:
        """Yield the parts one after the other. Raises InputError for a damaged one."""
        for file in self._files():
            try:
                part = packed.decode_part(disk.read_bytes(file), self.mark, file.stem)
            except OSError:
                part = None
            if part is None:
                self._remove(file)
                raise InputError(f"{file} was damaged while it was read; rerun the same command")
            yield part

    def dataset(self) -> xr.Dataset | None:
        """Return the finished dataset, or None if it is missing or damaged."""
        return None if self.manifest is None else finished_dataset(self.path, self.mark)

    def finish(self, dataset: xr.Dataset) -> xr.Dataset:
        """Write data.zarr under a temporary name, rename it, and open it.

        If several processes finish, the first dataset stays: if it were replaced while another
        process reads it, missing chunks would read as NaN.
        """
        target = self.path / "data.zarr"
        try:
            with beside(target) as temporary:
                archive.write_zarr(dataset, temporary)
                sums = archive.summed(temporary, self.mark)
                self._compare(dataset, temporary)
                with locked(self.path / ".lock"):
                    done = self.dataset()
                    if done is not None:
                        return done
                    (self.path / "data.sum").unlink(missing_ok=True)
                    if target.exists():
                        os.rename(target, temporary.with_name("before"))
                    os.rename(temporary, target)
                    with beside(self.path / "data.sum") as text:
                        text.write_text(sums, encoding="utf-8")
                        os.replace(text, self.path / "data.sum")
                    return archive.open_dataset(target)
        except OSError as error:
            done = self.dataset()  # of a process that was faster
            if done is not None:
                return done
            raise self._refusal(error) from None

    def _compare(self, dataset: xr.Dataset, written: Path) -> None:
        """Raise InputError unless the whole dataset is on disk."""
        if lost := archive.lacking(dataset, written):
            raise InputError(
                f"store {self.path}: {', '.join(lost)} of the dataset changed on disk while it was "
                "written; rerun the same command"
            )

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Any]:
        """Give an allocator of arrays in temporary files, for a dataset that exceeds memory."""
        count = iter(range(1 << 30))

        def allocate(name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
            size = math.prod(shape) * dtype.itemsize
            if not size:
                return np.empty(shape, dtype)
            file = folder / str(next(count))
            try:
                with file.open("wb") as handle:  # fails here if the disk is full
                    if hasattr(os, "posix_fallocate"):
                        os.posix_fallocate(handle.fileno(), 0, size)
                    else:
                        handle.truncate(size)
            except OSError as error:
                raise self._refusal(error) from None
            return np.memmap(file, dtype, "r+", shape=shape)

        with contextlib.ExitStack() as stack:
            try:
                folder = stack.enter_context(owned(self.path))
            except OSError as error:
                raise self._refusal(error) from None
            yield allocate


def finished_dataset(path: Path, mark: str) -> xr.Dataset | None:
    """Return the dataset of the store with this mark, or None if it is missing or damaged."""
    return archive.read_whole(path / "data.zarr", path / "data.sum", mark)


def read_manifest(file: Path) -> dict[str, Any]:
    """Read a manifest. Raises InputError unless its format and its checksum agree."""
    try:
        manifest: dict[str, Any] = dict(json.loads(disk.read_bytes(file)))
        if manifest["format"] != _FORMAT:
            raise InputError(
                f"{file.parent} was written by another version of jaxtheory; choose another "
                "directory for store="
            )
        if manifest.pop("digest") != manifest_checksum(manifest):
            raise ValueError("its checksum does not match")
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
        raise InputError(
            f"{file} cannot be read ({why}); choose another directory for store="
        ) from None
    return manifest


def mark_of(manifest: Mapping[str, Any]) -> str:
    """Return the mark of a store: a hash of its first manifest, without later additions."""
    return manifest_checksum({name: manifest.get(name) for name in _MARKED})


def manifest_checksum(manifest: Mapping[str, Any]) -> str:
    """Return the checksum of a manifest."""
    return hashlib.sha256(json.dumps(as_json(manifest), sort_keys=True).encode()).hexdigest()


def _differences(old: Any, new: Any, where: str = "") -> list[str]:
    """Differences between two JSON values, one line each."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [
            line
            for k in sorted({*old, *new})
            for line in _differences(old.get(k), new.get(k), f"{where}.{k}" if where else k)
        ]
    return [] if old == new else [f"  {where}: stored {_shown(old)}, requested {_shown(new)}"]


def _without(chunk: Chunk, ranges: list[tuple[int, int]]) -> list[Chunk]:
    """The chunks that remain when ranges of slots are removed from a chunk."""
    left, at = [], chunk.first
    for first, last in sorted(ranges):
        if at < min(first, chunk.last):
            left.append(chunk._replace(first=at, last=min(first, chunk.last)))
        at = max(at, last)
    return [*left, chunk._replace(first=at)] if at < chunk.last else left


def installed_versions() -> dict[str, str]:
    """Return the versions of the software that computes in this process."""
    names = ("jaxtheory", "jax", "jaxlib", "numpy", "optax", "xarray", "zarr")
    versions = {
        **present(),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        here = Path(__file__).parent
        run = subprocess.run(
            ["git", "-C", str(here), "rev-parse", "HEAD"],
            capture_output=True,
            encoding="utf-8",
            timeout=5,
            check=True,
        )
        versions["commit"] = run.stdout.strip()
    return versions


def _shown(value: Any) -> str:
    """JSON of a value; of a long list its first entries and its last one."""
    if isinstance(value, list) and len(value) > 12:
        first = ", ".join(map(json.dumps, value[:4]))
        return f"[{first}, ..., {json.dumps(value[-1])}] ({len(value)} values)"
    return json.dumps(value)
