"""The memory of this machine, and the part of it that this process may use."""

import importlib
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_OWN = Path("/proc/self/cgroup")  # the control groups that this process is in
_GROUPS = Path("/sys/fs/cgroup")


def memory() -> int:
    """Return the bytes of memory that this process can have at most, or 0 if that is unknown.

    This is the least of the machine's memory, the limits of the control groups that the process is
    in (those of its container, of its job or of its session), and its own limits (ulimit -v, -d).
    """
    return min((*_physical(), *_of_groups(), *_of_process()), default=0)


def _physical() -> Iterator[int]:
    """Yield the memory of the machine."""
    try:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return
    if size > 0:
        yield size


def _of_groups() -> Iterator[int]:
    """Yield the limits of the control groups of this process and of those around them.

    A line of `_OWN` is `0::/PATH` in version 2 and `n:memory:/PATH` in version 1. In a container
    the path may be that of the host, where only the limit of the container itself can be read.
    """
    try:
        lines = _OWN.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        lines = []
    paths = {"": PurePosixPath("/"), "memory": PurePosixPath("/")}
    for line in lines:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        for kind in controllers.split(","):
            if kind in paths and path.startswith("/"):
                paths[kind] = PurePosixPath(path)
    for kind, mounts, name in (
        ("", (".", "unified"), "memory.max"),
        ("memory", ("memory",), "memory.limit_in_bytes"),
    ):
        for group in (paths[kind], *paths[kind].parents):
            for mount in mounts:
                try:
                    text = (_GROUPS / mount / str(group).lstrip("/") / name).read_text(
                        encoding="utf-8"
                    )
                    yield int(text)
                except (OSError, ValueError):  # there is no such file, or it says "max"
                    continue


def _of_process() -> Iterator[int]:
    """Yield the limits of this process on addresses and on data."""
    try:
        resource = importlib.import_module("resource")
    except ImportError:
        return
    for name in ("RLIMIT_AS", "RLIMIT_DATA"):
        if hasattr(resource, name):
            soft, _ = resource.getrlimit(getattr(resource, name))
            if soft != resource.RLIM_INFINITY:
                yield soft


def bytes_text(count: float) -> str:
    """Return a number of bytes with a binary unit, such as "1.5 GiB"."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            break
        count /= 1024
    return f"{count:.3g} {unit}"
