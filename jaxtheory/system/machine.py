"""The memory of this machine."""

import os
from pathlib import Path

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory() -> int:
    """Bytes that a process can have: of the machine or of its container; 0 where not known."""
    try:
        found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (ValueError, OSError, AttributeError):
        found = []
    for path in map(Path, _CGROUPS):
        try:
            found.append(int(path.read_text(encoding="utf-8")))
        except (OSError, ValueError):  # none, or "max"
            continue
    return min(found, default=0)


def bytes_text(count: float) -> str:
    """Bytes as people write them."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            break
        count /= 1024
    return f"{count:.3g} {unit}"
