"""Locks between processes, which save time and on which no result depends.

On a network file system a lock may hold for one machine only, or end when any copy of its file is
closed; a forked child keeps it, and a process that is frozen never gives it back.
"""

import contextlib
import errno
import math
import os
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from jaxtheory.system.temporary import flock

_NOTICE = 1.0  # seconds of waiting before a notice
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)
_BUSY = (errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK)


@contextlib.contextmanager
def locked(
    file: Path, patience: float = math.inf, tell: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Run a block in one process at a time, as far as locks are reliable.

    tell() is called once if another process holds the lock for more than a second. After `patience`
    seconds, or where there are no locks, the block runs without one.
    """
    handle = os.open(file, _FLAGS, 0o666)
    begun, silent = time.monotonic(), True
    try:
        while True:
            try:
                flock(handle, wait=False)
                break
            except OSError as error:
                waited = time.monotonic() - begun
                if error.errno not in _BUSY or waited > patience:
                    break
                if silent and waited > _NOTICE:
                    silent = False
                    tell()
                time.sleep(0.02)
        yield
    finally:
        os.close(handle)  # this releases the lock


@contextlib.contextmanager
def claimed(file: Path, number: int) -> Iterator[bool]:
    """Claim a number in [0, 2^62) for the block; False if another claim of it is open.

    A claim is a lock on one byte of a file, which ends with its process. Where there are no locks
    every claim succeeds.
    """
    try:
        handle = os.open(file, _FLAGS, 0o666)
    except OSError:
        yield True
        return
    try:
        yield _lock_byte(handle, number)
    finally:
        os.close(handle)


def _lock_byte(handle: int, number: int) -> bool:
    """Lock one byte of an open file until it is closed; False if it is held already."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        if hasattr(fcntl, "F_OFD_SETLK"):  # a lock of this open file, not of the process
            lock = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, number, 1, 0)
            fcntl.fcntl(handle, fcntl.F_OFD_SETLK, lock)
        else:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
    except OSError as error:
        return error.errno not in _BUSY
    return True
