"""Files of this machine: paths as users write them, reading and writing."""

import errno
import io
import os
import stat
from pathlib import Path
from typing import Any

from jaxtheory.texts.errors import InputError


def located(path: Any) -> Path:
    """Return a user's path with `~` and `~user` expanded.

    `~user` is unchanged if there is no such user; `::`, `://` and everything else are ordinary
    characters of a name.

    Args:
        path: A string or a path.

    Returns:
        The path of a file or folder of this machine.

    Raises:
        InputError: The value is not a path.

    Example:
        >>> located("results/exp::v2").name
        'exp::v2'
    """
    try:
        text = os.fspath(path)
    except TypeError:
        raise InputError(f"{path!r} is not a path; give the name of a file or a folder") from None
    if not isinstance(text, str) or "\0" in text:
        raise InputError(f"{path!r} is not a path; give the name of a file or a folder")
    return Path(os.path.expanduser(text))


def open_regular(file: Path) -> io.BufferedReader:
    """Open a regular file for reading.

    Anything else raises OSError, because a pipe would block and a device may never end.
    """
    if not stat.S_ISREG(os.stat(file).st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", str(file))
    return file.open("rb")


def read_bytes(file: Path) -> bytes:
    """Read the bytes of a regular file. Raises OSError, also if they do not fit into memory."""
    with open_regular(file) as handle:
        try:
            return handle.read()
        except MemoryError:
            raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), str(file)) from None


def synced(file: Path, data: bytes | memoryview) -> None:
    """Write a file and wait until it is on disk."""
    with file.open("wb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())
