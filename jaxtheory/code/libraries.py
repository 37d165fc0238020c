"""Libraries, whose functions and classes count by their names.

These are JAX and what it is used with, the standard library, and further installed packages. The
last count with their version and the checksums of their files. A package that requires jaxtheory,
such as one with a theory of a user, is not a library: its code counts by its contents.
"""

import functools
import hashlib
import importlib.metadata
import os
import re
import site
import sys
import sysconfig
from typing import Any

LIBRARIES = {
    "jax",
    "jaxlib",
    "numpy",
    "scipy",
    "flax",
    "optax",
    "chex",
    "jaxtyping",
    "beartype",
    "xarray",
    "matplotlib",
} | sys.stdlib_module_names
# modules that are hashed like those of a user; other modules of jaxtheory count by their texts
_THEORIES = (
    "jaxtheory.theories",
    "jaxtheory.tasks",
    "jaxtheory._sweeps",
    "jaxtheory.llama",
)
_STANDARD = {os.path.dirname(os.__file__), *map(sysconfig.get_path, ("stdlib", "platstdlib"))}
_INSTALLED = {*map(sysconfig.get_path, ("purelib", "platlib")), site.getusersitepackages()}


def is_library(module: str) -> bool:
    """True for a module whose functions and classes count by their names."""
    return is_ours(module) or is_outside(module)


def is_ours(module: str) -> bool:
    """True for a module of jaxtheory, apart from the theories."""
    return module.startswith("jaxtheory.") and not module.startswith(_THEORIES)


def is_outside(module: str) -> bool:
    """True for a module of a library other than jaxtheory."""
    top = module.partition(".")[0]
    return _belongs(top, _place(top)) if top else False


def release(module: str) -> str:
    """Return the version and checksums of an installed package, "" for a library of the list."""
    top = module.partition(".")[0]
    return "" if top in LIBRARIES or is_ours(module) else _release(top) or ""


def _place(top: str) -> str | None:
    """Return the file or the folder of an imported package, None if it is a part of Python."""
    module = sys.modules.get(top)
    file = getattr(module, "__file__", None)
    if not isinstance(file, str):
        file = next(iter(getattr(module, "__path__", ())), None)
    return file if isinstance(file, str) else None


@functools.lru_cache(maxsize=4096)
def _belongs(top: str, place: str | None) -> bool:
    """True for a library, given the name of its package and where it is."""
    if top in sys.stdlib_module_names:  # a file of a user may have the name of such a module
        return place is None or _below(place, _STANDARD)
    return top in LIBRARIES or (
        top != "jaxtheory"
        and place is not None
        and _below(place, {*_INSTALLED, *site.getsitepackages()})
        and _release(top) is not None
    )


def _below(place: str, folders: set[Any]) -> bool:
    real = {os.path.realpath(folder) + os.sep for folder in folders if folder}
    return os.path.realpath(place).startswith(tuple(real))


@functools.cache
def _release(top: str) -> str | None:
    """Return the version of an installed package with a hash of its files.

    It is None for a package that requires jaxtheory, or whose files are not recorded.
    """
    try:
        release = importlib.metadata.distribution(top)
    except importlib.metadata.PackageNotFoundError:
        names = importlib.metadata.packages_distributions().get(top, ())
        if not names:
            return None
        release = importlib.metadata.distribution(names[0])
    if any(re.match(r"jaxtheory\b", requirement) for requirement in release.requires or ()):
        return None
    if any(entry.group.startswith("jaxtheory.") for entry in release.entry_points):
        return None
    entries = [(str(x), x.hash) for x in release.files or () if x.suffix == ".py"]
    files = sorted((name, mark.value) for name, mark in entries if mark is not None)
    if not files:
        return None
    return f"{release.version} {hashlib.sha256(repr(files).encode()).hexdigest()[:16]}"
