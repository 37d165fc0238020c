"""Compiled programs are forgotten when the process grows large."""

import gc
import resource
from pathlib import Path

import jax

from jaxtheory.engine.compute import compiled

LIMIT = 2 * 2**30  # bytes of resident memory
MAPS = 20_000  # memory maps, of which Linux gives a process 65530


def forget_when_large() -> None:
    """Forget all compiled programs if this process holds more than LIMIT or MAPS."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        maps = Path("/proc/self/maps").read_bytes().count(b"\n")
    except OSError:
        return
    if pages * resource.getpagesize() > LIMIT or maps > MAPS:
        compiled._compiled.clear()
        jax.clear_caches()
        gc.collect()
