"""Locks between processes."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from jaxtheory.system.temporary import flock


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Run a block in one process at a time, if the system and the file system support locks."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)  # so that a pipe does not block
    handle = os.open(file, flags, 0o666)
    try:
        flock(handle, wait=True)
        yield
    finally:
        os.close(handle)  # this releases the lock
