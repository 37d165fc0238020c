"""Files of this machine: how a path is meant, and how a file is read and written."""

import errno
import io
import os
import stat
from pathlib import Path
from typing import Any

from jaxtheory.core.errors import InputError


def located(path: Any) -> Path:
    """The place that a user's path means: `~` and `~user` are home directories where there is such
    a user; `::`, `://` and everything else are ordinary characters of a name.

    Args:
        path: A string or a path.

    Returns:
        The path of a file or folder of this machine.

    Raises:
        InputError: if it is not a path.

    Example:
        >>> located("results/exp::v2").name
        'exp::v2'
    """
    try:
        text = os.fspath(path)
    except TypeError:
        raise InputError(f"{path!r} is not a path; give the name of a file or folder") from None
    if not isinstance(text, str) or "\0" in text:
        raise InputError(f"{path!r} is not a path; give the name of a file or folder")
    return Path(os.path.expanduser(text))


def open_regular(file: Path) -> io.BufferedReader:
    """A regular file, open for reading. Raises OSError for anything else: a pipe would be waited
    for, and a device may have no end.
    """
    if not stat.S_ISREG(os.stat(file).st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", str(file))
    return file.open("rb")


def read_bytes(file: Path) -> bytes:
    """The bytes of a regular file. Raises OSError, also where they do not fit into memory."""
    with open_regular(file) as handle:
        try:
            return handle.read()
        except MemoryError:
            raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), str(file)) from None


def synced(file: Path, data: bytes) -> None:
    """Write a file, and wait until the disk has it."""
    with file.open("wb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())
