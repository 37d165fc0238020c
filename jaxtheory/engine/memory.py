"""Bytes: what this machine has, what this process holds, and a refusal of what cannot fit."""

import os
from pathlib import Path

import jax

from jaxtheory.core.config import Size, fields
from jaxtheory.core.errors import InputError
from jaxtheory.engine.cost import step_work
from jaxtheory.engine.layout import Bucket
from jaxtheory.engine.request import Request, backend

CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
FIELDS = 3  # that a refusal names at most


def limit() -> int:
    """Bytes that a process can have: of the machine or of its container; of an accelerator where
    JAX uses one. 0: not known.
    """
    if backend() != "cpu":
        return int((jax.local_devices()[0].memory_stats() or {}).get("bytes_limit", 0))
    try:
        found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (ValueError, OSError, AttributeError):
        found = []
    for path in map(Path, CGROUPS):
        try:
            found.append(int(path.read_text()))
        except (OSError, ValueError):  # none, or "max"
            continue
    return min(found, default=0)


def resident() -> int:
    """Bytes that this process holds now; 0 where that cannot be read."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def words(count: float) -> str:
    """Bytes as people write them."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            break
        count /= 1024
    return f"{count:.3g} {unit}"


def refuse(request: Request, bucket: Bucket) -> None:
    """Raise InputError where the arrays of a bucket's chunks exceed this machine's memory, with the
    size fields to lower.
    """
    most = limit()
    if not most or bucket.memory <= most:
        return
    table = fields(type(bucket.template))
    gains = {}
    for name, field in table.items():
        if field.kind != "size" or (n := int(getattr(bucket.template, name).cap)) < 2:
            continue
        try:
            smaller = bucket.template.replace(**{name: Size(n // 2)})
            gains[name] = step_work(request.theory, bucket.algorithm, smaller)[0].largest
        except InputError:  # no valid size
            continue
    largest = step_work(request.theory, bucket.algorithm, bucket.template)[0].largest
    helps = sorted((n for n in gains if gains[n] <= 0.75 * largest), key=lambda n: gains[n])
    lower = ", ".join(f"{n} ({table[n].symbol})" for n in helps[:FIELDS]) or "the sizes"
    raise InputError(
        f"memory: this takes about {words(bucket.memory)} at once, and there are {words(most)}; "
        f"lower {lower}"
    )
