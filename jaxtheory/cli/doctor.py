"""Facts about this installation. JAX is imported inside functions only, as it may not start."""

import importlib
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jaxtheory.system import compilation_cache
from jaxtheory.system.backend import backend, workers

_PACKAGES = ("jaxtheory", "jax", "jaxlib", "optax", "numpy", "xarray", "zarr", "matplotlib")


def facts(results: Path) -> list[tuple[str, Any]]:
    """List versions and the directory of results as (name, value)."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return [
        ("python", f"{platform.python_version()} on {machine}"),
        *((name, version(name)) for name in _PACKAGES),
        ("results", f"{results.absolute()}, {writable(results)}"),
    ]


def running() -> list[tuple[str, Any]]:
    """List the devices, the number format and the cache of JAX as (name, value).

    Raises:
        InputError: JAX cannot start.
    """
    backend()
    jax = importlib.import_module("jax")
    compilation_cache.use()
    devices = jax.devices()
    cache = jax.config.jax_enable_compilation_cache and jax.config.jax_compilation_cache_dir
    return [
        ("devices", f"{len(devices)} x {devices[0].platform} ({devices[0].device_kind})"),
        ("side by side", f"{workers()} chunks of a sweep (JAXTHEORY_DEVICES changes it)"),
        ("dtype", f"{jax.numpy.zeros(()).dtype} (--dtype changes it for one command)"),
        ("compilation cache", cache or "off"),
    ]


def repaired() -> str:
    """Remove damaged programs from JAX's compilation cache and describe how many there were."""
    folder = importlib.import_module("jax").config.jax_compilation_cache_dir
    count = compilation_cache.repair(Path(folder)) if folder else 0
    return f"{count} damaged {'program' if count == 1 else 'programs'} removed"


def writable(place: Path) -> str:
    """Describe if a directory can be written or created."""
    existing = next(
        parent for parent in (place.absolute(), *place.absolute().parents) if parent.exists()
    )
    allowed = existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
    return "writable" if allowed else f"not writable: {existing}"
