"""Temporary files and folders beside their target, owned by the process that holds a lock.

    .tmp-<16 hexadecimal digits>/lock      locked by the owner while it runs
    .tmp-<16 hexadecimal digits>/NAME      the file it writes, renamed when it is complete

A lock ends with its process, also in another container or on another machine of the same name. On a
file system without locks, no folder of another process is removed, and leftovers remain.
"""

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

PREFIX, _LOCK = ".tmp-", "lock"
_OURS = re.compile(re.escape(PREFIX) + "[0-9a-f]{16}")


@contextlib.contextmanager
def temporary_sibling(target: Path) -> Iterator[Path]:
    """Yield a temporary path in the folder of `target`, to be renamed to it; removed afterwards."""
    with owned(target.parent) as folder:
        yield folder / target.name


@contextlib.contextmanager
def owned(parent: Path) -> Iterator[Path]:
    """Yield a temporary folder that no other process removes; it is removed afterwards."""
    lock = None
    while lock is None:  # another process may remove the folder before it is locked
        folder = parent / f"{PREFIX}{os.urandom(8).hex()}"
        folder.mkdir()
        try:
            lock = _locked(folder, wait=True)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    try:
        yield folder
    finally:
        try:
            shutil.rmtree(folder, ignore_errors=True)
        finally:  # also where that is interrupted
            os.close(lock)


def tidy(parent: Path) -> None:
    """Remove the temporary folders whose owners have ended."""
    for folder in parent.glob(f"{PREFIX}*"):
        if not _OURS.fullmatch(folder.name) or folder.is_symlink():
            continue
        with contextlib.suppress(OSError):  # its owner is running
            lock = _locked(folder, wait=False)
            if lock is not None:
                try:
                    shutil.rmtree(folder, ignore_errors=True)
                finally:
                    os.close(lock)


def _locked(folder: Path, wait: bool) -> int | None:
    """Lock a temporary folder and return the open lock file; None if the folder is gone.

    Without `wait` it raises OSError if another process holds the lock or there are no locks.
    """
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o666)
    except FileNotFoundError:
        return None
    ours = False
    try:
        flock(lock, wait)
        ours = os.path.samestat(os.fstat(lock), os.stat(folder / _LOCK))
    except FileNotFoundError:
        pass
    finally:
        if not ours:
            os.close(lock)
    return lock if ours else None


def flock(file: int, wait: bool) -> None:
    """Lock an open file until it is closed.

    If the system has no locks, the function returns without one when `wait` is True and raises
    OSError otherwise.
    """
    try:
        import fcntl
    except ImportError:
        if wait:
            return
        raise OSError("no locks") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        if not wait:
            raise
