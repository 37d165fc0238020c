"""Files that are whole or not there: written beside their place and renamed."""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from jaxtheory.core.errors import InputError
from jaxtheory.system.disk import synced
from jaxtheory.system.temporary import beside


@contextlib.contextmanager
def _whole(file: Path) -> Iterator[Path]:
    """A temporary path in a file's folder, for a function that writes a file by its path. It
    replaces the file when the block ends without an error and the disk has it, so that a process
    that is killed leaves the old file or the new one and never a part. A link stays; the file it
    leads to is replaced.

    Raises InputError where the file cannot be written, or is a device, a pipe or a folder.
    """
    place = file.resolve() if file.is_symlink() else file
    if place.exists() and not place.is_file():
        kind = "a folder" if place.is_dir() else "not a regular file"
        raise InputError(f"{file} is {kind}; choose another place for this file")
    try:
        with beside(place) as temporary:
            yield temporary
            with temporary.open("rb+") as written:
                os.fsync(written.fileno())
            os.replace(temporary, place)
    except OSError as error:
        why = error.strerror or error
        raise InputError(
            f"{file}: {why}; choose a folder that can be written and has room"
        ) from None


def write(file: Path, data: bytes | str) -> str:
    """Write a whole file, text as UTF-8, and return the SHA-256 of its contents."""
    content = data.encode() if isinstance(data, str) else data
    with _whole(file) as temporary:
        synced(temporary, content)
    return hashlib.sha256(content).hexdigest()


def file_hash(file: Path) -> str:
    """The SHA-256 of a file; "" where there is none, or none that can be read."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
    except OSError:
        return ""
