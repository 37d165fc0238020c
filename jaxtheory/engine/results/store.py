"""Results on disk: resumable, labeled, never half-written, by as many processes as like.

    DIR/manifest.json     the request's identity, the fixed plan, versions; written once and never
                          again
    DIR/parts/*.part      one file per finished chunk: a checksum and its arrays, renamed into place
    DIR/data.zarr         the labeled dataset, assembled beside and renamed when whole; its chunks
                          carry checksums
    DIR/data.sum          the mark of the manifest, and a checksum per file of data.zarr

A part is finished when its file reads back whole; one that is missing or damaged is computed again.
Parts and the dataset are checked together with the mark, so that those of another store count as
damaged. Files of other names are left alone. No pickle is loaded.
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

import jax
import numpy as np
import xarray as xr

from jaxtheory.core.errors import InputError
from jaxtheory.engine.compute.part import Part
from jaxtheory.engine.planning.layout import Chunk
from jaxtheory.engine.results import archive, packed
from jaxtheory.engine.results.identity import as_json
from jaxtheory.system import disk
from jaxtheory.system.disk import synced
from jaxtheory.system.locks import locked
from jaxtheory.system.temporary import PREFIX, beside, owned, tidy

_FORMAT = 3
_KEYS = (
    "fold_in(threefry2x32 key(k), seed); streams 0 problem, 1 init, 2 steps; fold_in(steps, "
    "t): 0 batch, 1 step"
)
_MARKED = ("format", "request", "plan", "keys", "versions")  # of the manifest, in the mark
_PART = re.compile(r"(\d+)-(\d+)-(\d+)\.part")  # copies that other programs make have other names


class Store:
    """A result directory. Opening reads it and compares the request; nothing is written before
    `begin`.
    """

    def __init__(self, path: str | os.PathLike, identity: Mapping[str, Any]):
        self.path = disk.located(path)
        self.identity = as_json(identity)
        self.manifest: dict[str, Any] | None = None
        file = self.path / "manifest.json"
        try:
            taken = self.path.exists() and (
                not self.path.is_dir()
                or any(not other.name.startswith(PREFIX) for other in self.path.iterdir())
            )
            if file.exists():  # looked for last: another process may create the store meanwhile
                self.manifest = self._read_manifest(file)
                return
        except OSError as error:
            raise self._refusal(error) from None
        if taken:
            raise InputError(
                f"{self.path} exists and is no result directory; choose another store directory"
            )

    def _read_manifest(self, file: Path) -> dict[str, Any]:
        """The manifest, if it is whole and of the same request."""
        manifest = parsed(file)
        stored = manifest["request"]
        changed = _differences({**stored, "code": None}, {**self.identity, "code": None})
        if changed:
            raise InputError(
                "\n".join(
                    [
                        f"{self.path} holds the results of another request; choose another store "
                        "directory:",
                        *changed,
                    ]
                )
            )
        old, new = stored.get("code") or {}, self.identity["code"]
        if edited := [name for name in new if old.get(name) != new[name]]:
            theory = self.identity["theory"]
            raise InputError(
                f"{self.path}: the code of {theory} has changed since ({', '.join(edited)}); "
                "choose another store directory"
            )
        return manifest

    @functools.cached_property
    def mark(self) -> str:
        """What parts and the dataset of this store carry."""
        assert self.manifest is not None
        return mark_of(self.manifest)

    @property
    def plan(self) -> list[dict[str, Any]] | None:
        """The stored plan, which a resumed sweep follows: a layout per bucket."""
        return None if self.manifest is None else self.manifest["plan"]

    @property
    def parts(self) -> Path:
        return self.path / "parts"

    def begin(self, plan: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Create the directory with the plan, unless another process was faster; returns the plan
        to follow.
        """
        if self.manifest is None:
            self.manifest = self._create(plan)
        try:
            self.parts.mkdir(exist_ok=True)
        except OSError as error:
            raise self._refusal(error) from None
        self.tidy()
        return list(self.manifest["plan"])

    def _create(self, plan: list[dict[str, Any]]) -> dict[str, Any]:
        """Write the manifest, or read another process's, in a directory that holds temporary files
        at most.
        """
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
                os.link(temporary, file)  # fails where there is one
        except FileExistsError:
            pass
        except OSError as error:
            raise self._refusal(error) from None
        return self._read_manifest(file)

    def tidy(self) -> None:
        """Remove what killed processes left."""
        tidy(self.path)
        tidy(self.parts)

    def _refusal(self, error: OSError) -> InputError:
        return InputError(
            f"store {self.path}: {error.strerror or error}; choose a directory that can be "
            "written and has room"
        )

    def missing(self, chunks: Iterable[Chunk]) -> list[Chunk]:
        """The slots of some chunks that no whole part holds, as chunks."""
        kept = self._kept()
        return [
            piece
            for chunk in chunks
            for piece in _without(chunk, kept.get(chunk.bucket.number, []))
        ]

    def _kept(self) -> dict[int, list[tuple[int, int]]]:
        """Per bucket the ranges of slots whose parts read back whole; damaged files are removed."""
        found: dict[int, list[tuple[int, int]]] = {}
        for file in self._files():
            try:
                whole = packed.whole(disk.read_bytes(file), self.mark, file.stem)
            except OSError:
                whole = False
            if whole:
                bucket, first, last = map(int, file.stem.split("-"))
                found.setdefault(bucket, []).append((first, last))
            else:
                self._remove(file)
        return found

    def _files(self) -> list[Path]:
        """The files of parts; those that are being written stand elsewhere."""
        return sorted(file for file in self.parts.glob("*") if _PART.fullmatch(file.name))

    def _remove(self, file: Path) -> None:
        """Remove a part that is damaged."""
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            why = error.strerror or error
            raise InputError(
                f"store {self.path}: {file} is damaged and cannot be removed ({why}); remove it"
            ) from None

    def file(self, chunk: Chunk) -> Path:
        """Where a chunk's part stands."""
        return self.parts / f"{chunk.name}.part"

    def has(self, chunk: Chunk) -> bool:
        """Whether the part of just this chunk stands here, whole or not."""
        return self.file(chunk).exists()

    def write(self, chunk: Chunk, part: Part) -> None:
        """Keep a finished part."""
        target = self.file(chunk)
        try:
            with beside(target) as temporary:
                synced(temporary, packed.encode_part(part, self.mark, target.stem))
                os.replace(temporary, target)
        except OSError as error:
            raise self._refusal(error) from None

    def read_parts(self) -> Iterator[Part]:
        """Every part, one after the other."""
        for file in self._files():
            try:
                part = packed.decode_part(disk.read_bytes(file), self.mark, file.stem)
            except OSError:
                part = None
            if part is None:
                self._remove(file)
                raise InputError(f"{file}: damaged while it was read; run the same command again")
            yield part

    def dataset(self) -> xr.Dataset | None:
        """The finished dataset, or None where it is missing, damaged, or another store's."""
        return None if self.manifest is None else finished_dataset(self.path, self.mark)

    def finish(self, dataset: xr.Dataset) -> xr.Dataset:
        """Write data.zarr beside the target, rename it, and open it. Of several processes the first
        one's stays: replaced while another reads it, chunks that are gone would read as NaN.
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
            done = self.dataset()  # of another process, that was faster
            if done is not None:
                return done
            raise self._refusal(error) from None

    def _compare(self, dataset: xr.Dataset, written: Path) -> None:
        """Raise InputError unless all of a dataset stands on disk."""
        if lost := archive.lacking(dataset, written):
            raise InputError(
                f"store {self.path}: {', '.join(lost)} of the dataset changed on disk while it was "
                "written; run the same command again"
            )

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Any]:
        """An allocator of arrays that live in files, for assembling what memory need not hold."""
        count = iter(range(1 << 30))

        def allocate(name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
            size = math.prod(shape) * dtype.itemsize
            if not size:
                return np.empty(shape, dtype)
            file = folder / str(next(count))
            try:
                with file.open("wb") as handle:  # a full disk is met here, not while it is written
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
    """The dataset of a result directory with this mark, or None where it is missing, damaged, or
    another one's.
    """
    return archive.read_whole(path / "data.zarr", path / "data.sum", mark)


def parsed(file: Path) -> dict[str, Any]:
    """A manifest of this format whose checksum agrees. Raises InputError."""
    try:
        manifest: dict[str, Any] = dict(json.loads(disk.read_bytes(file)))
        if manifest["format"] != _FORMAT:
            raise InputError(
                f"{file.parent} was written by another version of jaxtheory; choose another store "
                "directory"
            )
        if manifest.pop("digest") != manifest_checksum(manifest):
            raise ValueError("its checksum is another")
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
        raise InputError(f"{file} cannot be read ({why}); choose another store directory") from None
    return manifest


def mark_of(manifest: Mapping[str, Any]) -> str:
    """A digest of all that a manifest said from the beginning; what a later sweep notes in it is
    left out.
    """
    return manifest_checksum({name: manifest.get(name) for name in _MARKED})


def manifest_checksum(manifest: Mapping[str, Any]) -> str:
    """A checksum of a manifest."""
    return hashlib.sha256(json.dumps(as_json(manifest), sort_keys=True).encode()).hexdigest()


def _differences(old: Any, new: Any, where: str = "") -> list[str]:
    """What differs between two JSON values, a line each."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [
            line
            for k in sorted({*old, *new})
            for line in _differences(old.get(k), new.get(k), f"{where}.{k}" if where else k)
        ]
    return (
        [] if old == new else [f"  {where}: stored {json.dumps(old)}, asked for {json.dumps(new)}"]
    )


def _without(chunk: Chunk, ranges: list[tuple[int, int]]) -> list[Chunk]:
    """What is left of a chunk when some ranges of slots are taken out."""
    left, at = [], chunk.first
    for first, last in sorted(ranges):
        if at < min(first, chunk.last):
            left.append(chunk._replace(first=at, last=min(first, chunk.last)))
        at = max(at, last)
    return [*left, chunk._replace(first=at)] if at < chunk.last else left


def installed_versions() -> dict[str, str]:
    """What computed the numbers."""
    names = ("jaxtheory", "jax", "jaxlib", "numpy", "optax", "xarray", "zarr")
    found = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "backend": jax.default_backend(),
    }
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        here = Path(__file__).parent
        run = subprocess.run(
            ["git", "-C", str(here), "rev-parse", "HEAD"],
            capture_output=True,
            encoding="utf-8",
            timeout=5,
            check=True,
        )
        found["commit"] = run.stdout.strip()
    return found
