"""Store of results on disk: rectangles of finished runs, from which any request takes its own.

    DIR/manifest.json         what decides the numbers of each run in the store; written once
    DIR/parts/N-NAME.json     a rectangle of runs (rectangle.py), N in the order of publication
    DIR/parts/NAME-*.part     one file per finished chunk of it: a checksum, a note, the arrays
    DIR/states/NAME-*.state   states of the runs of a chunk after their last step (states.py)
    DIR/data/REQUEST.json     a request that was begun; its dataset is the folder DIR/data/REQUEST
    DIR/data.zarr             the newest dataset, for people, as links to its files

Every file is written under a temporary name and published in one step. A published part, rectangle
or dataset is never overwritten, unless it is damaged: what a reader has opened stays. Parts are
found by opening, since a listing may be outdated on a network file system. A part is finished when
its file reads back intact; one that is missing or damaged is computed again. Files with other names
are left alone, and pickles are never loaded.
"""

import contextlib
import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxtheory.engine.store import difference, packed
from jaxtheory.engine.store.packed import Packed
from jaxtheory.engine.store.rectangle import Rectangle, check_content, is_same
from jaxtheory.system import disk, locks
from jaxtheory.system.temporary import PREFIX, owned, temporary_sibling, tidy
from jaxtheory.texts.errors import InputError, notice

FORMAT = 4
KEYS = (
    "fold_in(threefry2x32 key(k), seed); streams 0 problem, 1 init, 2 steps; fold_in(steps, "
    "t): 0 batch, 1 step"
)
MANIFEST = "manifest.json"
_RECTANGLE = re.compile(r"(\d{6})-[0-9a-f]{12}\.json")
_PATIENCE = 10.0  # seconds of waiting for a decision of another process, which only saves time
_FOLDERS = ("parts", "states", "data")


class Store:
    """A directory of results. Nothing is written before `begin`.

    Args:
        path: The directory.

    Raises:
        InputError: The path is not one.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = disk.located(path)
        self._notes: dict[Path, dict[str, str]] = {}  # of parts that were seen intact

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn an error of the file system within a block into one line."""
        try:
            yield
        except OSError as error:
            raise InputError(
                f"store {self.path}: {error.strerror or error}; choose a writable directory on a "
                "disk with free space"
            ) from None

    def exists(self) -> bool:
        """True if there is a store. Raises InputError if there is something else."""
        with self.errors():
            occupied = self.path.exists() and (
                not self.path.is_dir()
                or any(not entry.name.startswith(PREFIX) for entry in self.path.iterdir())
            )
            if (self.path / MANIFEST).exists():  # checked last: others may be creating it
                return True
        if occupied:
            raise InputError(
                f"{self.path} already exists and is not a jaxtheory store; choose another "
                "directory for store="
            )
        return False

    def require(self, runs: Mapping[str, Any], grid: Mapping[str, Any]) -> None:
        """Raise InputError, with what differs, unless the store is of these runs.

        `grid` is the identity of the request, whose values are named where axes differ.
        """
        stored = read_manifest(self.path)["runs"]
        if not is_same(stored, runs):
            rectangles = self.rectangles()
            difference.refuse(
                self.path, (stored, rectangles[0].content if rectangles else {}), (runs, grid)
            )

    def begin(self, runs: Mapping[str, Any]) -> None:
        """Create the directory, or find it created, and remove what killed processes left."""
        file = self.path / MANIFEST
        with self.errors():
            self.path.mkdir(parents=True, exist_ok=True)
            if not file.exists():
                publish(file, signed({"format": FORMAT, "runs": runs, "keys": KEYS}))
            for folder in _FOLDERS:
                (self.path / folder).mkdir(exist_ok=True)
        self.tidy()

    def tidy(self) -> None:
        """Remove temporary files of killed processes, as far as that is possible."""
        for folder in (self.path, *(self.path / name for name in _FOLDERS)):
            with contextlib.suppress(OSError):
                tidy(folder)

    @contextlib.contextmanager
    def decision(self) -> Iterator[None]:
        """Run a block that decides what is missing, in one process at a time."""
        tell = lambda: notice(
            f"store {self.path}: waiting for another process that decides what is missing"
        )
        with contextlib.ExitStack() as stack:
            with self.errors():
                stack.enter_context(locks.locked(self.path / ".lock", _PATIENCE, tell))
            yield

    # Rectangles

    def rectangles(self) -> list[Rectangle]:
        """Return the rectangles in the order of publication; damaged descriptions are skipped."""
        rectangles = list[Rectangle]()
        with self.errors(), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for file in sorted((self.path / "parts").iterdir()):
                match = _RECTANGLE.fullmatch(file.name)
                rectangle = match and _read_rectangle(file, int(match[1]))
                if rectangle and rectangle.name not in [peer.name for peer in rectangles]:
                    rectangles.append(rectangle)
        return rectangles

    def rectangle(self, name: str) -> Rectangle | None:
        """Return the rectangle of a name, or None."""
        return next((one for one in self.rectangles() if one.name == name), None)

    def add(self, content: Mapping[str, Any]) -> Rectangle:
        """Publish a rectangle behind all others, or return it if it is there."""
        rectangle = Rectangle(0, content)
        while True:
            present = self.rectangles()
            for peer in present:
                if peer.mark == rectangle.mark:
                    return peer
            number = max((peer.number for peer in present), default=0) + 1
            file = self.path / "parts" / f"{number:06d}-{rectangle.name}.json"
            with self.errors():
                publish(file, signed({"format": FORMAT, **content}))
            if (published := _read_rectangle(file, number)) is None:
                with self.errors():  # a damaged description of this name is in the way
                    file.unlink(missing_ok=True)
                continue
            return published

    # Parts

    def file(self, rectangle: Rectangle, chunk: str, kind: str = "part") -> Path:
        """Return the path of a chunk's part, or of its states with the kind "state"."""
        return self.path / f"{kind}s" / f"{rectangle.name}-{chunk}.{kind}"

    def read(self, rectangle: Rectangle, chunk: str, kind: str = "part") -> Packed | None:
        """Return the arrays of a chunk, or None if they are missing or damaged."""
        try:
            data = disk.read_bytes(self.file(rectangle, chunk, kind))
        except OSError:
            return None
        return packed.decode(data, rectangle.mark, f"{chunk} {kind}")

    def note(self, rectangle: Rectangle, chunk: str) -> dict[str, str] | None:
        """Return the note of a finished chunk, or None if its part is missing or damaged.

        A part that was intact once is not read again.
        """
        file = self.file(rectangle, chunk)
        if file not in self._notes:
            try:
                data = disk.read_bytes(file)
            except OSError:
                return None
            if not packed.is_intact(data, rectangle.mark, f"{chunk} part"):
                return None
            self._notes[file] = packed.note_of(data)
        return self._notes[file]

    def write(
        self,
        rectangle: Rectangle,
        chunk: str,
        arrays: dict[str, np.ndarray],
        note: dict[str, str],
        kind: str = "part",
    ) -> None:
        """Publish the arrays of a chunk, unless it is published intact."""
        data = packed.encode(arrays, rectangle.mark, f"{chunk} {kind}", note)
        with self.errors():
            publish(
                self.file(rectangle, chunk, kind),
                data,
                lambda: self.read(rectangle, chunk, kind) is not None,
            )

    def claim(self, rectangle: Rectangle, chunk: str) -> contextlib.AbstractContextManager[bool]:
        """Claim a chunk while a block runs; False if another process or thread has it."""
        digest = hashlib.sha256(f"{rectangle.mark} {chunk}".encode()).digest()
        return locks.claimed(self.path / ".claims", int.from_bytes(digest[:7], "big"))

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Callable[[str, tuple[int, ...], np.dtype], np.ndarray]]:
        """Give an allocator of arrays in temporary files, for a dataset that exceeds memory."""
        count = iter(range(1 << 30))

        def allocate(_name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
            size = math.prod(shape) * dtype.itemsize
            if not size:
                return np.empty(shape, dtype)
            file = folder / str(next(count))
            with self.errors(), file.open("wb") as handle:  # fails here if the disk is full
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(handle.fileno(), 0, size)
                else:
                    handle.truncate(size)
                array = np.memmap(file, dtype, "r+", shape=shape)
            return array

        with contextlib.ExitStack() as stack:
            with self.errors():
                folder = stack.enter_context(owned(self.path))
            yield allocate


def publish(file: Path, data: bytes, intact: Callable[[], bool] = lambda: True) -> None:
    """Write a file in one step, unless it exists; one that is not intact is replaced."""
    with temporary_sibling(file) as temporary:
        disk.synced(temporary, data)
        try:
            os.link(temporary, file)
        except FileExistsError:
            if not intact():
                os.replace(temporary, file)


def signed(content: Mapping[str, Any]) -> bytes:
    """Return a description as JSON with a checksum of its entries."""
    return json.dumps({**content, "digest": _digest(content)}, indent=1).encode()


def read_signed(file: Path) -> dict[str, Any]:
    """Return the entries of a description.

    Raises OSError, ValueError, TypeError, KeyError, AttributeError or RecursionError for a file
    that `signed` did not make.
    """
    content: dict[str, Any] = dict(json.loads(disk.read_bytes(file)))
    if content.get("format") == FORMAT and content.pop("digest") != _digest(content):
        raise ValueError("its checksum does not match")
    return content


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest of a store. Raises InputError if it is damaged or of another format."""
    try:
        manifest = read_signed(path / MANIFEST)
        is_foreign = manifest["format"] != FORMAT
        if not is_foreign and not isinstance(manifest["runs"]["config"], dict):
            raise ValueError("its entries have other types")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path / MANIFEST} cannot be read ({type(error).__name__}: {error}); choose another "
            "directory for store="
        ) from None
    if is_foreign:
        raise InputError(
            f"{path} was written by another version of jaxtheory; read it with "
            f"jaxtheory.open_store({str(path)!r}) or `jaxtheory export`, and choose another "
            "directory for store="
        )
    return manifest


def _read_rectangle(file: Path, number: int) -> Rectangle | None:
    """The rectangle of a file, or None if it is damaged or under another's name."""
    try:
        content = read_signed(file)
        if content.pop("format") != FORMAT:
            return None
        check_content(content)
        rectangle = Rectangle(number, content)
        named = file.name == f"{number:06d}-{rectangle.name}.json"
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return rectangle if named else None
