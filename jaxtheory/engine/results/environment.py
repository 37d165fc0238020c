"""The environment that decides the bits of a result, beside the request and the code.

These are versions of software, the processor that XLA compiles for, and flags of XLA and JAX. Each
part of a store notes them.
"""

import functools
import hashlib
import os
import platform
import re
import shlex
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.experimental import serialize_executable

from jaxtheory.code import traces

PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "optax")  # jaxlib calls the LAPACK of SciPy
NAMES = ("backend", *PACKAGES, "target", "xla_flags", "jax_flags", "variables")  # beside python
_IGNORED = (  # XLA flags that change no program: dumps, logs, numbers of devices, times
    "xla_dump_|xla_log_|xla_vmodule|xla_hlo_(profile|graph|pass_re)|xla_force_host_platform_"
    "|xla_(cpu|gpu)_(dump|log|print|profile)|xla_gpu_(cuda_data_dir|per_fusion_autotune_cache_dir)"
    "|xla_.*(timeout|verbose|_logging)"
)
_VARIABLES = (  # which libraries of matrices read
    *("NVIDIA_TF32_OVERRIDE", "CUBLAS_WORKSPACE_CONFIG", "OPENBLAS_CORETYPE", "MKL_CBWR"),
    *("LIBTPU_INIT_ARGS", "HSA_OVERRIDE_GFX_VERSION"),
)
# JAX flags that change programs or draws and that only the whole process can set, with their
# defaults; `numerics` applies the others
FLAGS: dict[str, Any] = {
    "eager_constant_folding": False,
    "jax_auto_pcast": True,
    "jax_bcoo_cusparse_lowering": False,
    "jax_compiler_enable_remat_pass": True,
    "jax_custom_vjp3": False,
    "jax_disable_most_optimizations": False,
    "jax_embedded_constants_max_bytes": 32,
    "jax_enable_pgle": False,
    "jax_exec_time_optimization_effort": 0.0,
    "jax_explicit_x64_dtypes": 1,
    "jax_high_dynamic_range_gumbel": False,
    "jax_memory_fitting_effort": 0.0,
    "jax_memory_fitting_level": "O2",
    "jax_mosaic_allow_hlo": False,
    "jax_optimization_level": "UNKNOWN",
    "jax_pallas_use_mosaic_gpu": True,
    "jax_pgle_aggregation_percentile": 90,
    "jax_pgle_profiling_runs": 3,
    "jax_ragged_dot_use_gpu_pallas_triton_lowering": False,
    "jax_ragged_dot_use_ragged_dot_instruction": True,
    "jax_random_seed_offset": 0,
    "jax_refs_to_pins": False,
    "jax_remat3": False,
    "jax_scan3": False,
    "jax_threefry_gpu_kernel_lowering": False,
    "jax_use_direct_linearize": True,
    "jax_use_emit_pipeline_primitive": False,
    "jax_use_magma": "auto",
    "jax_use_shardy_partitioner": True,
    "jax_use_simplified_jaxpr_constants": False,
    "jax_xla_profile_version": 0,
}
# of x86, those that decide how numbers are computed
_VECTORS = re.compile(r"[+](avx|s?sse|fma|f16c|xop|amx|evex|prefer).*")
_WIDEST = ("avx512f", "avx2", "avx", "sse4.2", "sse2", "sve", "neon")


def present() -> dict[str, str]:
    """Return the environment of this process as texts.

    python: the minor version, because `sum` of floats changed in 3.12. backend: on which JAX
    computes. target: the processor that XLA compiles for. xla_flags, jax_flags, variables: what is
    set otherwise than by default, or "none".
    """
    return {
        "python": minor(platform.python_version()),
        "backend": jax.default_backend(),
        **{name: metadata.version(name) for name in PACKAGES},
        "target": _target(jax.default_backend()),
        "xla_flags": _xla_flags(os.environ.get("XLA_FLAGS", "")) or "none",
        "jax_flags": _jax_flags() or "none",
        "variables": _variables() or "none",
    }


def minor(version: str) -> str:
    """Return the first two numbers of a version."""
    return ".".join(version.split(".")[:2])


@functools.cache
def _target(backend: str) -> str:
    """Return the processor that XLA compiles for, from a program that it compiled.

    On a CPU this is the widest instruction set, the model that instructions are arranged for, and a
    hash of all instruction sets. XLA may be limited to fewer than the CPU has.
    """
    if backend != "cpu":
        devices = jax.local_devices()
        kinds = ", ".join(sorted({device.device_kind for device in devices}))
        return f"{kinds} ({' '.join(str(devices[0].client.platform_version).split())})"
    with traces.under(""), jax.disable_jit(False):
        program = jax.jit(lambda x: x + 1).lower(np.float32(0)).compile()
    machine, model, features = _machine_of(serialize_executable.serialize(program)[0])
    if not features:
        return platform.machine()
    names = features.split(",")
    vectors = [name for name in names if _VECTORS.fullmatch(name)] or names
    digest = hashlib.sha256(",".join(sorted(vectors)).encode()).hexdigest()[:8]
    widest = next((name for name in _WIDEST if f"+{name}" in vectors), "")
    return " ".join(filter(None, (machine, model, widest, digest)))


def _machine_of(program: bytes) -> tuple[str, str, str]:
    """Return the architecture, the model and the instruction sets in a serialized program.

    They are three texts of a protocol buffer with the numbers 1, 2 and 3, each after its length.
    Empty texts stand for what is not found.
    """
    triple = re.search(rb"\n.([a-z0-9_]+)-[a-z0-9_]+-[a-z0-9_-]+(?=\x12)", program, re.DOTALL)
    if triple is None:
        return "", "", ""
    start = triple.end() + 2
    end = start + program[start - 1]
    size = re.compile(rb"\x1a([\x80-\xff]*[\x00-\x7f])").match(program, end)
    if size is None:
        return "", "", ""
    count = sum((byte & 0x7F) << (7 * i) for i, byte in enumerate(size[1]))
    texts = triple[1], program[start:end], program[size.end() : size.end() + count]
    machine, model, features = (text.decode("ascii", "replace") for text in texts)
    return machine, model, features


def _xla_flags(text: str) -> str:
    """Return XLA flags that change programs, sorted; of several values of a flag, the last counts.

    The text is that of XLA_FLAGS: flags, or the name of a file with flags.
    """
    if text and not text.lstrip().startswith("-"):
        try:
            text = Path(text).read_text(encoding="utf-8")
        except OSError:
            return text
    pairs = (word.lstrip("-").partition("=") for word in shlex.split(text))
    flags = {name: value or "true" for name, _, value in pairs}
    names = sorted(name for name in flags if not re.match(_IGNORED, name))
    return " ".join(f"{name}={flags[name]}" for name in names)


def _jax_flags() -> str:
    """Return the flags of `FLAGS` that are not the defaults."""
    values = {name: getattr(jax.config, name, default) for name, default in FLAGS.items()}
    return " ".join(f"{n}={v}" for n, v in values.items() if str(v) != str(FLAGS[n]))


def _variables() -> str:
    """Return the environment variables of libraries of matrices that are set."""
    return " ".join(f"{name}={os.environ[name]}" for name in _VARIABLES if os.environ.get(name))
