"""JAX's settings: those under which a sweep computes, and those that its threads take over."""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.errors import InputError
from jaxtheory.system import compilation_cache

# JAX's settings of the calling thread that its workers take over; those that change numbers are the
# request's
_FLAGS: dict[str, Callable] = {
    "jax_log_compiles": jax.log_compiles,
    "jax_numpy_dtype_promotion": jax.numpy_dtype_promotion,
    "jax_numpy_rank_promotion": jax.numpy_rank_promotion,
}


def settings() -> dict[str, Any]:
    """The calling thread's JAX settings that its workers take over."""
    return {name: flag(name) for name in _FLAGS}


@contextlib.contextmanager
def under(settings: dict[str, Any], device: Any) -> Iterator[None]:
    """Within: these JAX settings, and this device (None: JAX's default)."""
    with contextlib.ExitStack() as within:
        for name, setting in _FLAGS.items():
            within.enter_context(setting(settings[name]))
        if device is not None:
            within.enter_context(jax.default_device(device))
        yield


@contextlib.contextmanager
def numerics(dtype: Any = None, partitionable: bool | None = None) -> Iterator[np.dtype]:
    """Within: this float dtype and way to draw (None: JAX's present settings), matrix products at
    precision "highest".

    NaN is allowed, because lanes may diverge; programs are compiled, because jax_disable_jit would
    round otherwise; and transfers are allowed, because numbers of Python go to the device here.
    """
    name = dtype_name(dtype)
    compilation_cache.use()
    with (
        jax.enable_x64(name == "float64"),
        jax.threefry_partitionable(
            flag("jax_threefry_partitionable") if partitionable is None else partitionable
        ),
        jax.default_matmul_precision("highest"),
        jax.debug_nans(False),
        jax.debug_infs(False),
        jax.disable_jit(False),
        jax.transfer_guard("allow"),
    ):
        yield np.dtype(name)


def compiler_options(level: int) -> dict[str, Any] | None:
    """On CPU, where compilation is most of what a sweep takes: an optimization level of LLVM (0 to
    3), the plain emitters, one unit of code; what XLA_FLAGS names is left as it says.
    """
    if jax.default_backend() != "cpu":
        return None
    options = {
        "xla_backend_optimization_level": level,
        "xla_cpu_use_fusion_emitters": False,
        "xla_cpu_parallel_codegen_split_count": 1,
    }
    chosen = os.environ.get("XLA_FLAGS", "")
    return {name: value for name, value in options.items() if name not in chosen}


def flag(name: str) -> Any:
    """JAX's present setting of a flag, in this thread."""
    return getattr(jax.config, name)


def dtype_name(dtype: Any) -> str:
    """ "float32" or "float64"; raises InputError for any other dtype."""
    if dtype is None:
        return str(jnp.result_type(float))
    try:
        name = str(np.dtype(dtype))
    except TypeError:
        name = ""
    if name not in ("float32", "float64"):
        raise InputError(f"dtype = {dtype!r}: choose 'float32' or 'float64'")
    return name
