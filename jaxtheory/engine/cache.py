"""JAX's cache of compiled programs on disk: where it lies, and who may write it. A damaged entry is
removed, so that it is written anew.

What lies in the cache is run, so that whoever can write into it can run code here.

JAX writes entries in place, so a process that is killed or a full disk leaves a truncated one. It
cannot be read, is never replaced, and JAX would warn of it in every process from then on.
"""

import contextlib
import functools
import importlib
import os
import re
import stat
import sys
import warnings
import zlib
from pathlib import Path
from typing import Any

from jaxtheory.core.errors import notice

SAID = re.compile(
    r"Error (?:reading|writing) persistent compilation cache entry for '(?P<program>[^']+)': "
    r"(?P<why>.*)",
    re.DOTALL,
)
ZSTD = b"\x28\xb5\x2f\xfd"  # how its frames begin; other entries are zlib's


def choose() -> None:
    """Keep compiled programs between processes, in a folder of the user's own where no other was
    chosen. One that others can write, or own, is not used, and a line says so.
    """
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    place, shortest = os.path.join(base, "jaxtheory"), "0"
    config = getattr(sys.modules.get("jax"), "config", None)
    if config is None:
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", place)
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", shortest)
        chosen = os.environ["JAX_COMPILATION_CACHE_DIR"]
    else:
        if config.jax_compilation_cache_dir is None:
            config.update("jax_compilation_cache_dir", place)
            config.update("jax_persistent_cache_min_compile_time_secs", float(shortest))
        chosen = config.jax_compilation_cache_dir
    why = distrusted(Path(chosen)) if chosen else None
    if why is None or os.environ.get("JAX_ENABLE_COMPILATION_CACHE") == "false":
        return
    os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"  # in processes that start from here, too
    if config is not None:
        config.update("jax_enable_compilation_cache", False)
    notice(f"compilation cache {chosen}: {why}; without it all is compiled again each time")


def distrusted(folder: Path) -> str | None:
    """Why programs of a folder are not run; None where they may be, or there are none."""
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


@functools.cache
def make() -> None:
    """Make the folder of the cache where there is none, for this user alone: JAX would follow the
    umask, and let a group write it.
    """
    folder = sys.modules["jax"].config.jax_compilation_cache_dir
    with contextlib.suppress(OSError, TypeError):  # JAX reports it, or no cache is set
        os.makedirs(folder, mode=0o700, exist_ok=True)


def watch() -> None:
    """From now on a warning of JAX about its cache mends it. Where nothing is damaged, a folder
    that cannot be written for instance, one line says so, once in a process.
    """
    shown, said = warnings.showwarning, set[str]()

    def show(
        message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None
    ) -> None:
        found = SAID.match(str(message))
        if found is None:
            return shown(message, category, filename, lineno, file, line)
        folder = getattr(sys.modules["jax"].config, "jax_compilation_cache_dir", None)
        if not folder or mend(Path(folder), found["program"]) or said:
            return None
        said.add(found["why"])
        why = found["why"].partition("\n")[0]
        text = f"compilation cache {folder}: {why}; without it all is compiled again each time"
        return shown(category(text), category, filename, lineno, file, "")

    warnings.showwarning = show


def mend(folder: Path, program: str) -> int:
    """Remove the damaged entries of a program; returns how many there were."""
    count = 0
    for entry in folder.glob(f"{program}-*-cache"):
        try:
            if damaged(entry.read_bytes()):
                entry.unlink()
                count += 1
        except OSError:  # gone, or somebody else's
            continue
    return count


def damaged(data: bytes) -> bool:
    """Whether an entry cannot be decompressed."""
    try:
        if data.startswith(ZSTD):
            importlib.import_module("numcodecs.zstd").decompress(data)
        else:
            zlib.decompress(data)
    except (zlib.error, RuntimeError, ValueError):
        return True
    return False
