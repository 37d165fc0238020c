"""JAX's cache of compiled programs on disk: where it lies, who may write it, and its repair.

What lies in the cache is run, so that whoever can write into it can run code here. JAX writes
entries in place: a process that is killed, or a full disk, leaves a truncated one, of which JAX
warns in every process that needs it and which it never replaces.
"""

import contextlib
import functools
import importlib
import os
import stat
import zlib
from pathlib import Path
from typing import Any

from jaxtheory.core.errors import notice

_ZSTD = b"\x28\xb5\x2f\xfd"  # how its frames begin; other entries are zlib's


@functools.cache
def use() -> None:
    """Keep compiled programs between processes, in a folder of this user's where no other folder
    was chosen. A folder that others own or can write is not used, and one line says so.

    It is called before the first compilation of a process, so that importing jaxtheory changes no
    setting of JAX.
    """
    config: Any = importlib.import_module("jax").config
    if config.jax_compilation_cache_dir is None:
        config.update("jax_compilation_cache_dir", str(_default()))
        config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    folder = config.jax_compilation_cache_dir
    if not folder or not config.jax_enable_compilation_cache:
        return
    if (why := _distrusted(Path(folder))) is not None:
        config.update("jax_enable_compilation_cache", False)
        notice(f"compilation cache {folder}: {why}; without it all is compiled again each time")
        return
    with contextlib.suppress(OSError):  # JAX reports it. It would follow the umask
        os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.path.isdir(folder) and not os.access(folder, os.W_OK):
        # programs that lie there are still read; JAX would warn of each that it cannot write
        config.update("jax_persistent_cache_min_compile_time_secs", float("inf"))
        notice(f"compilation cache {folder}: it cannot be written; new programs are not kept")


def _default() -> Path:
    """The folder of the cache where none was chosen."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "jaxtheory"


def _distrusted(folder: Path) -> str | None:
    """The reason why the programs of a folder are not run, or None."""
    try:
        found = folder.stat()
    except OSError:
        return None
    if not hasattr(os, "geteuid"):
        return None
    if found.st_uid not in (0, os.geteuid()):
        return "it belongs to another user, who could have it run code; choose a folder of your own"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "others can write it and have it run code; chmod go-w, after removing what is in it"
    return None


def repair(folder: Path) -> int:
    """Remove the damaged entries of a cache, and return how many there were."""
    count = 0
    for entry in folder.glob("*-cache"):
        with contextlib.suppress(OSError):  # gone, or somebody else's
            if _damaged(entry.read_bytes()):
                entry.unlink()
                count += 1
    return count


def _damaged(data: bytes) -> bool:
    """True for an entry that cannot be decompressed."""
    try:
        if data.startswith(_ZSTD):
            importlib.import_module("numcodecs.zstd").decompress(data)
        else:
            zlib.decompress(data)
    except (zlib.error, RuntimeError, ValueError):
        return True
    return False
