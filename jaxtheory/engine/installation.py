"""What this installation runs on."""

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax

from jaxtheory.engine.threads import workers

PACKAGES = ("jaxtheory", "jax", "jaxlib", "optax", "numpy", "xarray", "zarr", "matplotlib")


def facts(results: Path) -> list[tuple[str, Any]]:
    """(what, value): versions, devices, number format, caches, and whether results can be kept."""
    devices = jax.devices()
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return [
        ("python", f"{platform.python_version()} on {machine}"),
        *((name, version(name)) for name in PACKAGES),
        ("devices", f"{len(devices)} x {devices[0].platform} ({devices[0].device_kind})"),
        ("side by side", f"{workers()} chunks of a sweep (JAXTHEORY_DEVICES changes it)"),
        ("dtype", f"{jax.numpy.zeros(()).dtype} (--dtype changes it for one command)"),
        ("compilation cache", getattr(jax.config, "jax_compilation_cache_dir", None) or "off"),
        ("results", f"{results.absolute()}, {writable(results)}"),
    ]


def writable(place: Path) -> str:
    """Whether a directory can be written, or made."""
    existing = next(
        parent for parent in (place.absolute(), *place.absolute().parents) if parent.exists()
    )
    allowed = existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
    return "writable" if allowed else f"not writable: {existing}"
