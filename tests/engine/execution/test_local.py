"""Computing chunks: the number of devices and the cuts change no bit, and nothing hangs."""

import os
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr
from helpers.some import some
from helpers.worked_example import THEORY, Config

from jaxtheory import plan, sweep
from jaxtheory.engine.execution import local
from jaxtheory.engine.planning import planner
from jaxtheory.engine.planning.planner import plan_request
from jaxtheory.engine.records import Chunk
from jaxtheory.engine.request.request import read


def run(code, timeout=400, **environment):
    """The output of a Python process, without what this one has set for JAX."""
    own = {
        k: v for k, v in os.environ.items() if not k.startswith("JAX") and k != "NPROC"
    } | environment
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=own,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split()


RATES = """
import hashlib, sys, jaxtheory, numpy as np
theory = jaxtheory.theories.get("group_sparse")
if sys.argv[1:] == ["half"]:
    from jaxtheory.engine.store import store
    write, count = store.Store.write, []
    def some(self, *args):
        count.append(1)
        if len(count) > 1: raise KeyboardInterrupt
        write(self, *args)
    store.Store.write = some
config = theory.Config()
options = dict(seeds=4, steps=60, record=20, dtype="float32", store={store!r})
options["vary"] = {{"eta": [.05, .1, .2, .4, .8], "d": [2, 3, 5]}}
data = jaxtheory.sweep(theory, config, **options)
numbers = b"".join(np.ascontiguousarray(data[n].values).tobytes() for n in sorted(data))
print(hashlib.sha256(numbers).hexdigest())
"""


@pytest.mark.slow
def test_any_number_of_devices_gives_the_same_bits(tmp_path):
    code = lambda name: RATES.format(store=str(tmp_path / name))
    digests = {n: run(code(n), JAXTHEORY_DEVICES=n)[-1] for n in ("1", "2", "4", "8")}
    assert len(set(digests.values())) == 1, digests
    half = "import sys; sys.argv = ['', 'half']\n" + code("mixed")
    with pytest.raises(AssertionError, match="KeyboardInterrupt"):
        run(half, JAXTHEORY_DEVICES="2")
    assert run(code("mixed"), JAXTHEORY_DEVICES="1")[-1] == digests["1"]
    datasets = [xr.open_zarr(tmp_path / name / "data.zarr").load() for name in ("1", "8", "mixed")]
    assert datasets[0].identical(datasets[1]) and datasets[0].identical(datasets[2])


SWEEPS = """
{before}
import jaxtheory
theory = jaxtheory.theories.get("attention_pruning")
for k in range(40):
    small = theory.Config(length=4, dimension=5, rank=2)
    options = dict(seeds=4, steps=3, record=3, key=k, dtype="float64")
    jaxtheory.sweep(theory, small, vary={{"lambda": [1 + k / 50, 2.5]}}, **options)
print("done")
"""
STARTED = "import jax; jax.numpy.zeros(3).block_until_ready()"


@pytest.mark.parametrize("before", some(["", STARTED]), ids=["jaxtheory first", "JAX first"])
@pytest.mark.parametrize("devices", some(["1", "2", "4"], "2"))
def test_sweeps_that_factorize_do_not_wait_for_ever(before, devices):
    """On a host thread pool of two threads, where two batched LAPACK calls at a time wait for each
    other.
    """
    assert run(SWEEPS.format(before=before), timeout=240, JAXTHEORY_DEVICES=devices, NPROC="2") == [
        "done"
    ]


BATCHES = """
import jax, jax.numpy as jnp, jaxtheory
room = jaxtheory.theories.get("attention_pruning")

def metrics(params, problem, config):
    found = room.metrics(params, problem, config)
    some = jax.random.normal(jaxtheory.draws.fixed_key(0), (8, 12, 12)) * (1 + found["loss"])
    add = lambda i, total: total + jnp.linalg.svd(some + i, compute_uv=False).sum()
    return {**found, "spectrum": jax.lax.fori_loop(0, 10, add, 0.0)}

theory = room._replace(metrics=metrics)
small = theory.Config(length=4, dimension=5, rank=2)
for k in range(4):
    jaxtheory.sweep(theory, small, vary={"lambda": [1, 2, 3 + k]}, seeds=16, steps=50, record=1)
print("done")
"""


@pytest.mark.parametrize("devices", some(["2", "4"], "2"))
def test_a_theory_may_hand_lapack_several_matrices(devices):
    """On a host thread pool of two threads, where two such calls at a time wait for each other."""
    assert run(BATCHES, timeout=240, JAXTHEORY_DEVICES=devices, NPROC="2") == ["done"]


def test_a_row_of_many_runs_is_cut_and_every_cut_gives_the_same_bits(monkeypatch):
    sweep_plan = plan(
        THEORY, Config(), vary={"eta": [0.1 + 1e-6 * i for i in range(10_000)]}, steps=5
    )
    assert (
        sweep_plan.problems == 1
        and sum(chunk.last - chunk.first for chunk in sweep_plan.chunks) > 100
    )
    options = {
        "vary": {"eta": [0.1 + 1e-3 * i for i in range(300)]},
        "seeds": 2,
        "steps": 5,
        "dtype": "float64",
    }
    reference = sweep(THEORY, Config(), **options)
    monkeypatch.setattr(planner, "_CHUNK_SECONDS", 1e-9)  # a slot at a time
    assert sweep(THEORY, Config(), **options).identical(reference)


def test_a_chunk_is_a_pure_function_of_the_request():
    request = read(THEORY, Config(), vary={"eta": [0.1, 0.2]}, seeds=3, steps=4, dtype="float64")
    chunk = plan_request(request).chunks[0]
    one, two = local.run_chunk(request, chunk), local.run_chunk(request, Chunk(*chunk))
    assert (
        all(np.array_equal(one.values[n], two.values[n], equal_nan=True) for n in one.values)
        and one.values
    )
