"""JAX's cache of compiled programs on disk: its folder, who may write to it, and its repair.

Programs in the cache are executed, so whoever can write to it can run code here. JAX writes entries
in place. A killed process or a full disk therefore leaves a truncated entry, which JAX never
replaces and warns about in every process that needs it.
"""

import contextlib
import functools
import importlib
import os
import stat
import zlib
from pathlib import Path
from typing import Any

from jaxtheory.texts.errors import notice

_DEFAULT_SECONDS = 1.0  # JAX keeps only what took longer; a sweep has many shorter programs
_ZSTD = b"\x28\xb5\x2f\xfd"  # the first bytes of a Zstandard frame; other entries are zlib's


@functools.cache
def use() -> None:
    """Keep compiled programs between processes, by default in a folder of the user's.

    A folder that other users own or can write to is not used, with a warning. This function is
    called before the first compilation of a process, so that importing jaxtheory changes no setting
    of JAX.
    """
    config: Any = importlib.import_module("jax").config
    if config.jax_compilation_cache_dir is None:
        config.update("jax_compilation_cache_dir", str(_default()))
    if config.jax_persistent_cache_min_compile_time_secs == _DEFAULT_SECONDS:
        config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    folder = config.jax_compilation_cache_dir
    if not folder or not config.jax_enable_compilation_cache:
        return
    if (why := _distrusted(Path(folder))) is not None:
        config.update("jax_enable_compilation_cache", False)
        notice(f"compilation cache {folder}: {why}; it is not used, and every process compiles")
        return
    with contextlib.suppress(OSError):  # JAX reports it; its own mkdir would follow the umask
        os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.path.isdir(folder) and not os.access(folder, os.W_OK):
        # Its programs are still read. Without this, JAX would warn of each that it cannot write.
        config.update("jax_persistent_cache_min_compile_time_secs", float("inf"))
        notice(f"compilation cache {folder}: it cannot be written to; new programs are not kept")


def _default() -> Path:
    """Return the default folder of the cache."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "jaxtheory"


def _distrusted(folder: Path) -> str | None:
    """Return the reason why the programs of a folder must not be run, or None."""
    try:
        status = folder.stat()
    except OSError:
        return None
    if not hasattr(os, "geteuid"):
        return None
    if status.st_uid not in (0, os.geteuid()):
        return "it belongs to another user, whose code could be run; choose a folder that is yours"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return (
            "other users can write to it, so their code could be run; empty it, then chmod go-w it"
        )
    return None


def repair(folder: Path) -> int:
    """Remove the damaged entries of a cache, and return how many there were."""
    count = 0
    for entry in folder.glob("*-cache"):
        with contextlib.suppress(OSError):  # it is gone, or belongs to another user
            if _damaged(entry.read_bytes()):
                entry.unlink()
                count += 1
    return count


def _damaged(data: bytes) -> bool:
    """True if an entry cannot be decompressed."""
    try:
        if data.startswith(_ZSTD):
            importlib.import_module("numcodecs.zstd").decompress(data)
        else:
            zlib.decompress(data)
    except (zlib.error, RuntimeError, ValueError):
        return True
    return False
