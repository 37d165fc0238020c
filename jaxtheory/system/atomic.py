"""Files that are complete or absent: written under a temporary name and renamed."""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from jaxtheory.system.disk import synced
from jaxtheory.system.temporary import temporary_sibling
from jaxtheory.texts.errors import InputError


@contextlib.contextmanager
def _replace_atomically(file: Path) -> Iterator[Path]:
    """Yield a temporary path in a file's folder, which replaces the file when the block ends.

    The replacement happens only after a block without errors and when the data are on disk. A
    killed process therefore leaves the old file or the new one, and never a part. A symbolic link
    stays, and the file that it points to is replaced.

    Raises InputError if the file cannot be written, or is a device, a pipe or a folder.
    """
    try:
        target = file.resolve() if file.is_symlink() else file
        unfit = target.exists() and not target.is_file()
    except (OSError, RuntimeError) as error:  # a name that is too long, or a loop of links
        why = getattr(error, "strerror", None) or "a loop of links"
        raise InputError(f"{file}: {why}; choose another name for this file") from None
    if unfit:
        kind = "a folder" if target.is_dir() else "not a regular file"
        raise InputError(f"{file} is {kind}; choose another name for this file")
    try:
        with temporary_sibling(target) as temporary:
            yield temporary
            with temporary.open("rb+") as stream:
                os.fsync(stream.fileno())
            os.replace(temporary, target)
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"{file}: {why}; choose a writable folder with free space") from None


def write(file: Path, data: bytes | str) -> str:
    """Write a file atomically, text as UTF-8, and return the SHA-256 of its contents.

    Characters that UTF-8 does not have, as in the names of some files, are written as escapes.
    """
    content = data.encode(errors="backslashreplace") if isinstance(data, str) else data
    with _replace_atomically(file) as temporary:
        synced(temporary, content)
    return hashlib.sha256(content).hexdigest()


def file_hash(file: Path) -> str:
    """Return the SHA-256 of a file, or "" if there is no readable file."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
    except OSError:
        return ""
