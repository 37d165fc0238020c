"""Programs are compiled once for the slots they use, and no more are kept than memory allows."""

import resource
import subprocess
import sys
from pathlib import Path

import chex
import numpy as np
import pytest
from helpers.worked_example import THEORY, Config, compilations, training_loops

from jaxtheory import run_key, simulate, sweep
from jaxtheory.engine.compute import program


def test_theories_that_differ_in_an_analysis_share_the_training_loop():
    other = THEORY._replace(
        analyses=lambda params, problem, config: {"twice": 2 * params.weights},
        dims={**THEORY.dims, "twice": ("coordinate",)},
    )
    options = {"vary": {"eta": [0.1, 0.2]}, "seeds": 2, "steps": 4, "dtype": "float64"}
    with compilations() as seen:
        for theory in (THEORY, other, THEORY, other):
            data = sweep(theory, Config(dimension=9), **options)
    assert (
        training_loops(seen) <= 1
        and "twice" in data
        and sum("_evaluate" in name for name in seen) <= 3
    )


def test_a_second_sweep_of_any_theory_compiles_nothing():
    options = {"vary": {"eta": [0.1, 0.2]}, "seeds": 2, "steps": 4, "dtype": "float64"}
    sweep(THEORY, Config(dimension=11), **options)
    with compilations() as seen:
        sweep(THEORY, Config(dimension=11), **{**options, "key": 3})
    assert training_loops(seen) == 0


MANY = """
import sys; sys.path.insert(0, {here!r})
import jaxtheory
from helpers.worked_example import THEORY, Config
for k in range(120):
    config = Config(dimension=2 + k % 12, batch_size=3 + k // 12)
    jaxtheory.sweep(THEORY, config, vary={{"eta": [0.1, 0.2]}}, seeds=2, steps=5)
print(int(open("/proc/self/statm").read().split()[1]) * {page} // 2**20)
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="reads the resident memory from /proc"
)
def test_many_different_sweeps_stay_below_800_megabytes():
    code = MANY.format(here=str(Path(__file__).parents[2]), page=resource.getpagesize())
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 800  # 2240 where every program is kept


def test_traced_and_evaluation_axes_share_one_compilation_and_a_second_call_needs_none():
    sgd = THEORY.algorithms["sgd"]
    step = chex.assert_max_traces(sgd.step, n=5)  # forms, plan, loop; twice, what it reads
    theory = THEORY._replace(algorithms={"sgd": sgd._replace(step=step)})
    with compilations() as first:
        sweep(
            theory,
            Config(dimension=7),
            vary={"eta": [0.1, 0.2, 0.3], "theta": [0.0, 0.1]},
            zip={"noise": [0.1, 0.2]},
            seeds=3,
            steps=4,
        )
    with compilations() as second:
        sweep(
            theory,
            Config(dimension=7),
            vary={"eta": [0.4, 0.05, 0.2], "theta": [0.3, 0.2]},
            zip={"noise": [0.0, 0.5]},
            seeds=[5, 8, 9],
            steps=9,
            record=3,
        )
    assert training_loops(first) == 1
    assert training_loops(second) == 0


@pytest.mark.parametrize(("buckets", "loops"), [("pad", 1), ("exact", 3)])
def test_a_padded_size_axis_needs_one_compilation(buckets, loops):
    program._compiled.clear()  # a run alone may share a program with a sweep of exact sizes
    with compilations() as seen:
        data = sweep(
            THEORY,
            Config(batch_size=5),
            vary={"d": [3, 4, 6]},
            seeds=2,
            steps=4,
            buckets=buckets,
            dtype="float64",
        )
    assert training_loops(seen) == loops
    for d in (3, 4, 6):
        run = simulate(
            THEORY, Config(batch_size=5, dimension=d), run_key(0, 1), steps=4, dtype="float64"
        )
        np.testing.assert_allclose(
            data.loss.sel(dimension=d, seed=1), run.metrics["loss"], rtol=1e-12
        )
        np.testing.assert_allclose(
            data.weights.sel(dimension=d, seed=1)[:, :d], run.metrics["weights"], rtol=1e-12
        )
