"""JAX's cache of compiled programs on disk: a damaged entry is removed, so that it is written anew.

JAX writes entries in place, so a process that is killed or a full disk leaves a truncated one. It
cannot be read, is never replaced, and JAX would warn of it in every process from then on.
"""

import importlib
import re
import sys
import warnings
import zlib
from pathlib import Path
from typing import Any

SAID = re.compile(
    r"Error (?:reading|writing) persistent compilation cache entry for '(?P<program>[^']+)': "
    r"(?P<why>.*)",
    re.DOTALL,
)
ZSTD = b"\x28\xb5\x2f\xfd"  # how its frames begin; other entries are zlib's


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
