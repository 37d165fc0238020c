"""A sweep is one program, compiled once for the slots it uses."""

import chex
import numpy as np
import pytest
from helpers.worked_example import THEORY, Config, compilations, training_loops

from jaxtheory import run_key, simulate, sweep
from jaxtheory.engine.compute import compiled
from jaxtheory.theories import get

TRACES = 5  # forms, plan, loop; twice, what it reads


def test_theories_that_differ_in_an_analysis_share_the_training_loop():
    variant = THEORY._replace(
        analyses=lambda params, problem, config: {"twice": 2 * params.weights},
        dims={**THEORY.dims, "twice": ("coordinate",)},
    )
    options = {"vary": {"eta": [0.1, 0.2]}, "seeds": 2, "steps": 4, "dtype": "float64"}
    with compilations() as programs:
        for theory in (THEORY, variant, THEORY, variant):
            data = sweep(theory, Config(dimension=9), **options)
    assert (
        training_loops(programs) <= 1
        and "twice" in data
        and sum("_evaluate" in name for name in programs) <= 3
    )


def test_traced_and_evaluation_axes_share_one_compilation_and_a_second_call_needs_none():
    sgd = THEORY.algorithms["sgd"]
    step = chex.assert_max_traces(sgd.step, n=TRACES)
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


AXES = {  # of each kind that a theory has: traced, size and evaluation
    "random_walk": {"learning_rate": [1.0, 0.5], "num_states": [4, 6]},
    "attention_pruning": {
        "regularization": [5.0, 1.0],
        "dimension": [16, 8],
        "pruning_ratio": [0.5, 0.2],
    },
    "contextual_bigram": {"l1": [1e-5, 1e-3], "length": [50, 20], "threshold": [0.3, 0.1]},
    "nearest_neighbor": {"mask": [5.0, 2.0], "context": [4, 2], "separation": [0.1, 0.2]},
    "group_sparse": {"margin": [0.2, 0.1], "num_groups": [6, 3]},
    "low_rank": {"noise": [0.1, 0.2], "num_neurons": [20, 10], "truncation_rank": [2, 1]},
    "in_context_regression": {"spectrum": [1.0, 0.0], "rank": [2, 1]},
    "causal_graph": {"concentration": [0.5, 1.0], "length": [16, 8]},
    "task_diversity": {"ridge": [0.0, 0.1], "num_tasks": [8, 4]},
    "factual_recall": {"zipf": [0.0, 1.0], "num_subjects": [16, 8]},
    "positional_semantic": {"ridge": [0.01, 0.1], "num_samples": [32, 16]},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", AXES)
def test_a_sweep_along_every_kind_of_axis_is_one_program(name):
    """Its step is traced as often as that of one run, and one training loop is compiled."""
    theory, axes = get(name), AXES[name]
    algorithm = next(iter(theory.algorithms))
    plain = theory.algorithms[algorithm]
    step = chex.assert_max_traces(plain.step, n=TRACES)
    theory = theory._replace(algorithms={algorithm: plain._replace(step=step)})
    config = theory.Config(**{axis: values[0] for axis, values in axes.items()})
    with compilations() as programs:
        sweep(theory, config, vary={**axes, "steps": [3, 2]}, seeds=2, steps=3, buckets="pad")
    assert training_loops(programs) == 1


@pytest.mark.parametrize(("buckets", "loops"), [("pad", 1), ("exact", 3)])
def test_a_padded_size_axis_needs_one_compilation(buckets, loops):
    compiled._compiled.clear()  # a run alone may share a program with a sweep of exact sizes
    with compilations() as programs:
        data = sweep(
            THEORY,
            Config(batch_size=5),
            vary={"d": [3, 4, 6]},
            seeds=2,
            steps=4,
            buckets=buckets,
            dtype="float64",
        )
    assert training_loops(programs) == loops
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
