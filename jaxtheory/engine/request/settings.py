"""Threads: how many, and JAX's settings, which each thread has of its own."""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import jax

from jaxtheory.engine.request.request import flag
from jaxtheory.system.backend import backend

# JAX's settings of the calling thread that its workers take over; those that change numbers are the
# request's
FLAGS: dict[str, Callable] = {
    "jax_log_compiles": jax.log_compiles,
    "jax_numpy_dtype_promotion": jax.numpy_dtype_promotion,
    "jax_numpy_rank_promotion": jax.numpy_rank_promotion,
}


def workers() -> int:
    """How many chunks are computed side by side: JAXTHEORY_DEVICES, else the accelerators, else the
    cores of the CPU.
    """
    wanted = os.environ.get("JAXTHEORY_DEVICES", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    if backend() != "cpu":
        return jax.local_device_count()
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def settings() -> dict[str, Any]:
    """The calling thread's JAX settings that its workers take over."""
    return {name: flag(name) for name in FLAGS}


@contextlib.contextmanager
def under(settings: dict[str, Any], device: Any) -> Iterator[None]:
    """Within: these JAX settings, and this device (None: JAX's default)."""
    with contextlib.ExitStack() as within:
        for name, setting in FLAGS.items():
            within.enter_context(setting(settings[name]))
        if device is not None:
            within.enter_context(jax.default_device(device))
        yield
