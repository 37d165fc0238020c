"""The memory of this machine."""

import os
from pathlib import Path

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory() -> int:
    """Return the memory limit of the machine or its container in bytes, or 0 if it is unknown."""
    try:
        limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (ValueError, OSError, AttributeError):
        limits = []
    for path in map(Path, _CGROUPS):
        try:
            limits.append(int(path.read_text(encoding="utf-8")))
        except (OSError, ValueError):  # there is no such file, or it says "max"
            continue
    return min(limits, default=0)


def bytes_text(count: float) -> str:
    """Return a number of bytes with a binary unit, such as "1.5 GiB"."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            break
        count /= 1024
    return f"{count:.3g} {unit}"
