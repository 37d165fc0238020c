"""Temporary files and folders: written beside their place, and owned by whoever holds a lock.

    .tmp-<16 hexadecimal digits>/lock      locked by the owner for as long as it lives
    .tmp-<16 hexadecimal digits>/NAME      what it writes, to be renamed when it is whole

A lock ends with its process, also in another container or on another machine of the same name.
Where the file system knows no locks, nothing is taken from anybody, and leftovers stay.
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
def beside(target: Path) -> Iterator[Path]:
    """A temporary name for what is renamed to `target` when it is whole; removed afterwards."""
    with owned(target.parent) as folder:
        yield folder / target.name


@contextlib.contextmanager
def owned(parent: Path) -> Iterator[Path]:
    """A temporary folder that no other process removes, removed afterwards."""
    lock = None
    while lock is None:  # until nobody has removed it before it was locked
        folder = parent / f"{PREFIX}{os.urandom(8).hex()}"
        folder.mkdir()
        try:
            lock = _locked(folder, wait=True)
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def tidy(parent: Path) -> None:
    """Remove the temporary folders whose owners run no more."""
    for folder in parent.glob(f"{PREFIX}*"):
        if not _OURS.fullmatch(folder.name) or folder.is_symlink():
            continue
        with contextlib.suppress(OSError):  # another owner's
            lock = _locked(folder, wait=False)
            if lock is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


def _locked(folder: Path, wait: bool) -> int | None:
    """The lock of a temporary folder, open and locked; None where the folder is gone by then.

    Without `wait` it raises OSError where another process holds the lock, or where there are no
    locks.
    """
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o666)
    except FileNotFoundError:
        return None
    try:
        flock(lock, wait)
        if os.path.samestat(os.fstat(lock), os.stat(folder / _LOCK)):
            return lock
    except FileNotFoundError:
        pass
    except OSError:
        os.close(lock)
        raise
    os.close(lock)
    return None


def flock(file: int, wait: bool) -> None:
    """Lock an open file until it is closed. Where there are no locks, who waits goes on without
    one, and who does not wait gets an OSError.
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
