"""One process at a time."""

import contextlib
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """One process at a time, where the system and the file system know locks."""
    with file.open("w", encoding="utf-8") as handle:
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)  # given back as the file is closed
        yield
