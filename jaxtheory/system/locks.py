"""One process at a time."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from jaxtheory.system.temporary import flock


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """One process at a time, where the system and the file system know locks."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)  # a pipe is not waited for
    handle = os.open(file, flags, 0o666)
    try:
        flock(handle, wait=True)
        yield
    finally:
        os.close(handle)  # which gives the lock back
