"""Runs: gradient descent and its reduction, both stages in one run or by start=, and what the
planner does with D.
"""

import jax
import numpy as np
import pytest

import jaxtheory
from jaxtheory.ops.draws import run_key
from jaxtheory.theories.group_sparse import THEORY, Config

KEY = run_key(0, 0)
SMALL = Config(group_dim=2, num_groups=3, num_samples=60, downstream_samples=20)


def run(config, **options):
    return jaxtheory.simulate(THEORY, config, KEY, dtype="float64", **options)


def test_a_large_sample_follows_the_six_numbers_and_the_selected_run():
    """At n = 2000 gradient descent is the reduction within a few per cent, and selects."""
    config = SMALL.replace(num_samples=jaxtheory.Size(2000))
    full, reduced = (
        run(config, steps=60, record=20, algorithm=a).metrics for a in ("gd", "population")
    )
    np.testing.assert_allclose(full["loss"], reduced["loss"], rtol=0.05)
    np.testing.assert_allclose(full["relevant_attention"], reduced["relevant_attention"], rtol=0.05)
    assert full["relevant_attention"][-1] > 0.85 and full["accuracy"][-1] > 0.95
    np.testing.assert_allclose(reduced["off_structure"], 0, atol=1e-20)
    np.testing.assert_allclose(reduced["value_norm_ratio"][1:], 1)


@pytest.mark.parametrize("attention", ["frozen", "trained", "scratch"])
def test_both_stages_in_one_run_are_two_runs(attention):
    config = SMALL.replace(attention=attention)
    first = run(config, steps=30)
    second = run(config, steps=20, algorithm="downstream", start=first)
    full_run = run(config.replace(pretraining_steps=30), steps=50, algorithm="downstream")
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-14),
        second.params,
        full_run.params,
    )
    matches = [
        np.array_equal(a, b) for a, b in zip(first.params[2:], second.params.layer[2:], strict=True)
    ]
    assert all(matches) == (attention == "frozen")


def test_sgd_takes_each_downstream_sample_once():
    """The mean of the first steps' moves of v at rate 0+ is the gradient of the mean loss at v = 0:
    every sample counts once.
    """
    config = SMALL.replace(downstream_rate=1e-9)
    once = run(config, steps=20, algorithm="logistic").params.beta
    fit = run(config, steps=20, algorithm="logistic_fit").params.beta
    np.testing.assert_allclose(once, fit, rtol=1e-6)


def test_the_planner_takes_exact_buckets_for_groups():
    """Padding D from 4 to 12 costs many times the work of the small ones, once there are enough
    steps to outweigh compilation; d and n that differ little are padded.
    """
    long = {"steps": 10**5, "seeds": 8}
    buckets = lambda **vary: len(jaxtheory.plan(THEORY, Config(), vary=vary, **long).buckets)
    assert buckets(num_groups=[4, 6, 8, 12]) == 4
    assert buckets(group_dim=[4, 5], num_samples=[400, 500]) == 1
