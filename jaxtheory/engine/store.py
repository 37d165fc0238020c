"""Results on disk: resumable, labelled, never half-written, by as many processes as like.

    DIR/manifest.json     the request's identity, the fixed plan, versions; written once and never
                          again
    DIR/parts/*.part      one file per finished chunk: a checksum and its arrays, renamed into place
    DIR/data.zarr         the labelled dataset, assembled beside and renamed when whole; its chunks
                          carry checksums
    DIR/data.sum          a checksum per file of data.zarr

A part is finished when its file reads back whole; one that is missing or damaged is computed again.
No pickle is loaded.
"""

import contextlib
import hashlib
import io
import json
import math
import os
import platform
import shutil
import socket
import subprocess
import tempfile
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import numpy as np
import xarray as xr

from jaxtheory.core.errors import InputError
from jaxtheory.core.locks import locked
from jaxtheory.engine.identity import plain
from jaxtheory.engine.layout import Chunk
from jaxtheory.engine.part import Part

FORMAT = 2
KEYS = (
    "fold_in(threefry2x32 key(k), seed); streams 0 problem, 1 init, 2 steps; fold_in(steps, "
    "t): 0 batch, 1 step"
)
PART = "[0-9]*.part"  # a finished one: those that are being written begin with .tmp
CHUNK_BYTES = 16 << 20  # of one chunk of an array in data.zarr
IN_MEMORY = 1 << 30  # bytes up to which a finished dataset is read into memory
_quiet = threading.Lock()


class Store:
    """A result directory. Opening reads it and compares the request; nothing is written before
    `begin`.
    """

    def __init__(self, path: str | os.PathLike, identity: Mapping[str, Any]):
        self.path = Path(path).expanduser()
        self.identity = plain(identity)
        self.manifest: dict[str, Any] | None = None
        file = self.path / "manifest.json"
        try:
            taken = self.path.exists() and (
                not self.path.is_dir()
                or any(not other.name.startswith(".tmp-") for other in self.path.iterdir())
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
        try:
            manifest = json.loads(file.read_text(encoding="utf-8"))
            stored, _, _ = dict(manifest["request"]), manifest["plan"], manifest["versions"]
            if manifest.pop("digest", None) not in (None, digest_of(manifest)):
                raise ValueError("its checksum is another")
        except (OSError, ValueError, KeyError, TypeError) as error:
            why = f"{type(error).__name__}: {error}"
            raise InputError(
                f"{file} cannot be read ({why}); choose another store directory"
            ) from None
        if manifest.get("format") != FORMAT:
            raise InputError(
                f"{self.path} was written by another version of jaxtheory; choose another store "
                "directory"
            )
        changed = differences({**stored, "code": None}, {**self.identity, "code": None})
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
        found: dict[str, Any] = manifest
        return found

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
            "format": FORMAT,
            "request": self.identity,
            "plan": plain(plan),
            "keys": KEYS,
            "versions": versions(),
        }
        whole["digest"] = digest_of(whole)
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
            piece for chunk in chunks for piece in without(chunk, kept.get(chunk.bucket.number, []))
        ]

    def _kept(self) -> dict[int, list[tuple[int, int]]]:
        """Per bucket the ranges of slots whose parts read back whole; damaged files are removed."""
        found: dict[int, list[tuple[int, int]]] = {}
        for file in sorted(self.parts.glob(PART)):
            bucket, first, last = map(int, file.stem.split("-"))
            if checked(file) is None:
                try:
                    file.unlink(missing_ok=True)
                except OSError as error:
                    raise self._refusal(error) from None
            else:
                found.setdefault(bucket, []).append((first, last))
        return found

    def file(self, chunk: Chunk) -> Path:
        """Where a chunk's part stands."""
        return self.parts / f"{chunk.name}.part"

    def has(self, chunk: Chunk) -> bool:
        """Whether the part of just this chunk stands here, whole or not."""
        return self.file(chunk).exists()

    def write(self, chunk: Chunk, part: Part) -> None:
        """Keep a finished part."""
        buffer = io.BytesIO()
        np.savez(
            buffer, allow_pickle=False, **{"point": part.point, "place": part.place, **part.values}
        )
        data = buffer.getvalue()
        target = self.file(chunk)
        try:
            with beside(target) as temporary:
                synced(temporary, hashlib.sha256(data).digest() + data)
                os.replace(temporary, target)
        except OSError as error:
            raise self._refusal(error) from None

    def read_parts(self) -> Iterator[Part]:
        """Every part, one after the other."""
        for file in sorted(self.parts.glob(PART)):
            data = checked(file)
            if data is None:
                raise InputError(f"{file}: damaged while it was read; run the same command again")
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                values = {name: arrays[name] for name in arrays.files}
            yield Part(values.pop("point"), values.pop("place"), values)

    def dataset(self) -> xr.Dataset | None:
        """The finished dataset, or None where it is missing or damaged."""
        return finished(self.path)

    def finish(self, dataset: xr.Dataset) -> xr.Dataset:
        """Write data.zarr beside the target, rename it, and open it. Of several processes the first
        one's stays: replaced while another reads it, chunks that are gone would read as NaN.
        """
        target = self.path / "data.zarr"
        try:
            with beside(target) as temporary:
                write_zarr(dataset, temporary)
                lines = "".join(
                    f"{digest}  {name}\n" for name, digest in sorted(checksums(temporary).items())
                )
                with locked(self.path / ".lock"):
                    done = self.dataset()
                    if done is not None:
                        return done
                    (self.path / "data.sum").unlink(missing_ok=True)
                    if target.exists():
                        os.rename(target, temporary.with_suffix(".old"))
                        shutil.rmtree(temporary.with_suffix(".old"), ignore_errors=True)
                    os.rename(temporary, target)
                    with beside(self.path / "data.sum") as text:
                        text.write_text(lines, encoding="utf-8")
                        os.replace(text, self.path / "data.sum")
                    return opened(target)
        except OSError as error:
            done = self.dataset()  # of another process, that was faster
            if done is not None:
                return done
            raise self._refusal(error) from None

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Any]:
        """An allocator of arrays that live in files, for assembling what memory need not hold."""
        try:
            folder = Path(tempfile.mkdtemp(dir=self.path, prefix=mine()))
        except OSError as error:
            raise self._refusal(error) from None
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

        try:
            yield allocate
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def finished(path: Path) -> xr.Dataset | None:
    """The dataset of a result directory, or None where it is missing or damaged. No clock is asked:
    parts of one manifest that are computed again are the same.
    """
    target, sums = path / "data.zarr", path / "data.sum"
    try:
        text = sums.read_text(encoding="utf-8", errors="replace")
        lines = dict(line.split("  ", 1)[::-1] for line in text.splitlines() if "  " in line)
        return opened(target) if lines and lines == checksums(target) else None
    except OSError:
        return None


def digest_of(manifest: Mapping[str, Any]) -> str:
    """A checksum of a manifest."""
    return hashlib.sha256(json.dumps(plain(manifest), sort_keys=True).encode()).hexdigest()


def differences(old: Any, new: Any, where: str = "") -> list[str]:
    """What differs between two JSON values, a line each."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [
            line
            for k in sorted({*old, *new})
            for line in differences(old.get(k), new.get(k), f"{where}.{k}" if where else k)
        ]
    return (
        [] if old == new else [f"  {where}: stored {json.dumps(old)}, asked for {json.dumps(new)}"]
    )


@contextlib.contextmanager
def beside(target: Path) -> Iterator[Path]:
    """A temporary name in the target's folder that tells its owner, removed afterwards."""
    temporary = target.parent / f"{mine()}{os.urandom(4).hex()}-{target.name}"
    try:
        yield temporary
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


def synced(file: Path, data: bytes) -> None:
    """Write a file, and wait until the disk has it."""
    with file.open("wb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())


def mine() -> str:
    """How the names of this process's temporary files begin."""
    return f".tmp-{socket.gethostname()}-{os.getpid()}-"


def tidy(folder: Path) -> None:
    """Remove what processes of this machine left that run no more."""
    for leftover in folder.glob(f".tmp-{socket.gethostname()}-*"):
        try:
            os.kill(
                int(leftover.name.removeprefix(f".tmp-{socket.gethostname()}-").split("-")[0]), 0
            )
        except ProcessLookupError:
            shutil.rmtree(leftover, ignore_errors=True) if leftover.is_dir() else leftover.unlink(
                missing_ok=True
            )
        except (OSError, ValueError):  # somebody else's process or file
            pass


def checked(file: Path) -> bytes | None:
    """The contents of a part file behind its checksum, or None when they do not agree."""
    try:
        data = file.read_bytes()
    except OSError:
        return None
    return data[32:] if hashlib.sha256(data[32:]).digest() == data[:32] else None


def without(chunk: Chunk, ranges: list[tuple[int, int]]) -> list[Chunk]:
    """What is left of a chunk when some ranges of slots are taken out."""
    left, at = [], chunk.first
    for first, last in sorted(ranges):
        if at < min(first, chunk.last):
            left.append(chunk._replace(first=at, last=min(first, chunk.last)))
        at = max(at, last)
    return [*left, chunk._replace(first=at)] if at < chunk.last else left


def versions() -> dict[str, str]:
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


def checksums(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file of a folder, by its path there."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
    }


def write_zarr(dataset: xr.Dataset, target: Path) -> None:
    """Write a dataset whose chunks carry a checksum that reading meets; every chunk is written,
    also one that is all NaN.
    """
    from zarr.codecs import Crc32cCodec, ZstdCodec

    encoding: dict[str, Any] = {}
    for name, variable in dataset.variables.items():
        encoding[str(name)] = {"compressors": (ZstdCodec(level=1), Crc32cCodec())}
        if variable.ndim:
            encoding[str(name)]["chunks"] = chunk_shape(variable.shape, variable.dtype.itemsize)
    with quiet():
        dataset.to_zarr(
            target, mode="w", consolidated=True, encoding=encoding, write_empty_chunks=True
        )


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without warnings: zarr says that string types and consolidation are not final; tests read
    both back. One thread at a time: the filters are the process's, and each restores what it found.
    """
    with _quiet, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def chunk_shape(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Chunks of about CHUNK_BYTES, whole along the last axes."""
    left, chunks = max(CHUNK_BYTES // max(itemsize, 1), 1), []
    for n in reversed(shape):
        chunks.append(max(min(n, left), 1))
        left = max(left // max(n, 1), 1)
    return tuple(reversed(chunks))


def opened(target: Path) -> xr.Dataset:
    """A dataset from disk, in memory where it is small."""
    with quiet():
        # a field's unit may be "seconds": numbers all the same
        dataset = xr.open_zarr(target, chunks=None, decode_timedelta=False)
    return dataset.load() if dataset.nbytes <= IN_MEMORY else dataset
