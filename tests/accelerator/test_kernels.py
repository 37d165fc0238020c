"""The engine's programs, compiled for an NVIDIA H100 and a TPU v5e on a machine that has neither.

They are compared with the counts in kernels.json, which belong to one version of jaxlib. Without
the extra `aot` nothing is compiled.
"""

import functools
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import jaxlib
import pytest

from jaxtheory.theories import names

HERE = Path(__file__).parent
TABLE = json.loads((HERE / "kernels.json").read_text())
PLUGINS = {"cuda": ("jax_cuda12_plugin", "jax_cuda13_plugin"), "tpu": ("libtpu",)}
SLACK = 1.2
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@functools.cache
def counts(platform: str) -> dict:
    """What kernels.py prints, by theory, in a process without the flags of the tests."""
    if not any(map(importlib.util.find_spec, PLUGINS[platform])):
        pytest.skip(f"no compiler for {platform} here: pip install 'jaxtheory[aot]'")
    flags = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_gpu_autotune_level=0"}
    done = subprocess.run(
        [sys.executable, HERE / "kernels.py", platform],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **flags},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return {name: kernels for line in lines for name, kernels in json.loads(line).items()}


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("platform", PLUGINS)
def test_a_sweep_is_one_chunk_of_as_few_kernels_as_before(platform: str, name: str) -> None:
    kernels = counts(platform)[name]
    assert kernels["chunks"] == 1
    if platform == "cuda":  # a TPU runs its loops without the host
        assert kernels["lengths"][1] in (4, 16)
    known = TABLE.get(jaxlib.__version__, {}).get(platform, {}).get(name)
    if known is None:
        pytest.skip(f"kernels.json has no counts of jaxlib {jaxlib.__version__}")
    assert kernels["calls"] == known["calls"]
    for kind in ("step", "record"):
        assert kernels[kind] <= SLACK * known[kind]
