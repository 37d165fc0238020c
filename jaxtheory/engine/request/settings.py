"""Settings of JAX: those under which a sweep computes, and those that its threads copy."""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import jaxlib.version
import numpy as np

from jaxtheory.code import traces
from jaxtheory.system import blas, compilation_cache
from jaxtheory.texts.errors import InputError, brief

Result = TypeVar("Result")
# JAX settings that are copied from the calling thread to workers; settings that affect results are
# part of the request instead
_FLAGS: dict[str, Callable] = {
    "jax_log_compiles": jax.log_compiles,
    "jax_numpy_dtype_promotion": jax.numpy_dtype_promotion,
    "jax_numpy_rank_promotion": jax.numpy_rank_promotion,
}
_FUSION_EMITTERS_ALONE = (0, 11, 1)  # the first jaxlib whose XLA has no other emitters


def settings() -> dict[str, Any]:
    """Return the settings of the calling thread that its workers copy: those of JAX, and the code.

    The code is the hash under which it traces, see `code.traces`.
    """
    return {**{name: flag(name) for name in _FLAGS}, "code": traces.present()}


@contextlib.contextmanager
def under(settings: dict[str, Any], device: Any) -> Iterator[None]:
    """Apply the settings of another thread and a device; None is JAX's default device."""
    with contextlib.ExitStack() as within:
        within.enter_context(traces.under(settings["code"]))
        for name, setting in _FLAGS.items():
            within.enter_context(setting(settings[name]))
        if device is not None:
            within.enter_context(jax.default_device(device))
        yield


def carry_settings(function: Callable[..., Result]) -> Callable[..., Result]:
    """Return the function under the settings of the calling thread, for another thread."""
    caller = settings()

    def run(*args: Any) -> Result:
        with under(caller, None):
            return function(*args)

    return run


@contextlib.contextmanager
def numerics(dtype: Any = None, partitionable: bool | None = None) -> Iterator[np.dtype]:
    """Apply the settings that decide numbers, and give the float dtype.

    None for `dtype` and `partitionable` (jax_threefry_partitionable) means JAX's present settings.
    Matrix products have the precision "highest". Keys that a theory makes are of threefry, and the
    derivative of a softmax is that of its formula. NaN is allowed, because runs may diverge.
    Programs are compiled, because jax_disable_jit would round differently. Transfers are allowed,
    because Python numbers are sent to the device. LAPACK has one thread, see `blas.one_thread`.
    """
    name = dtype_name(dtype)
    compilation_cache.use()
    with (
        jax.enable_x64(name == "float64"),
        jax.threefry_partitionable(
            flag("jax_threefry_partitionable") if partitionable is None else partitionable
        ),
        jax.default_matmul_precision("highest"),
        jax.default_prng_impl("threefry2x32"),
        jax.softmax_custom_jvp(False),
        jax.debug_nans(False),
        jax.debug_infs(False),
        jax.disable_jit(False),
        jax.transfer_guard("allow"),
        blas.one_thread(),
    ):
        yield np.dtype(name)


def compiler_options(level: int) -> dict[str, Any] | None:
    """Return compiler options for this backend, None if there are none.

    On CPU, where compilation takes most of the time of a sweep, they are the optimization level of
    LLVM (0 to 3), the non-fusion emitters, and one unit of code. On a GPU kernels of matrix
    products are not chosen by timing them, which takes time to compile and could give two
    processes different bits. Options that XLA_FLAGS sets are left out, and so is the choice of
    emitters where XLA has only the fusion emitters and would refuse the option.
    """
    kind = jax.default_backend()
    if kind not in ("cpu", "gpu"):
        return None
    options: dict[str, Any] = {"xla_gpu_autotune_level": 0}
    if kind == "cpu":
        options = {
            "xla_backend_optimization_level": level,
            "xla_cpu_use_fusion_emitters": False,
            "xla_cpu_parallel_codegen_split_count": 1,
        }
        if jaxlib.version.__version_info__ >= _FUSION_EMITTERS_ALONE:
            del options["xla_cpu_use_fusion_emitters"]
    chosen = os.environ.get("XLA_FLAGS", "")
    return {name: value for name, value in options.items() if name not in chosen}


def flag(name: str) -> Any:
    """Return JAX's present setting of a flag in this thread."""
    return getattr(jax.config, name)


def dtype_name(dtype: Any) -> str:
    """Return "float32" or "float64". Raises InputError for any other dtype."""
    if dtype is None:
        return str(jnp.result_type(float))
    try:
        name = str(np.dtype(dtype))
    except Exception:  # the object may raise anything
        name = ""
    if name not in ("float32", "float64"):
        raise InputError(f"dtype = {brief(dtype)}: must be 'float32' or 'float64'")
    return name
