"""The algorithms, metrics and analyses in small runs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxtheory
from jaxtheory.theories.low_rank import THEORY, Config, analyses, data

KEY = jaxtheory.run_key(0, 1)
SMALL = Config(
    num_patterns=6,
    dimension=6,
    query_dim=6,
    value_dim=6,
    num_neurons=40,
    num_relevant=6,
    num_confusion=1,
    batch_size=16,
    num_samples=80,
    num_test=40,
    noise=0.05,
    init_diagonal=0.3,
)


def run(algorithm, config=SMALL, **options):
    return jaxtheory.simulate(
        THEORY,
        config,
        KEY,
        algorithm=algorithm,
        **{"steps": 60, "record": [0, 60], "dtype": "float64", **options},
    )


def test_sgd_fits_and_its_changes_have_rank_two():
    simulation = run("sgd")
    assert (
        simulation.metrics["loss"][0] > 0.9
        and simulation.metrics["loss"][-1] < 0.05
        and simulation.metrics["error"][-1] == 0
    )
    assert simulation.metrics["gap_rank"][-1].tolist() == [2, 2, 2, 2]
    loss = simulation.analyses["truncated_loss"]
    assert loss[0] - loss[-1] > 0.1 and abs(loss[1] - loss[-1]) < 0.01
    np.testing.assert_allclose(loss[-1], simulation.metrics["loss"][-1], atol=1e-9)
    pruned = simulation.analyses["pruned_loss"]
    np.testing.assert_allclose(pruned[0], simulation.metrics["loss"][-1], atol=1e-12)
    np.testing.assert_allclose(pruned[-1], 1, atol=1e-12)
    np.testing.assert_allclose(
        simulation.analyses["head_pruned_loss"], [simulation.metrics["loss"][-1], 1], atol=1e-12
    )
    assert pruned[60, 0] < pruned[60, 1]


def test_lora_of_rank_one_fits_too():
    simulation = run("lora", SMALL.replace(lora_rank=jaxtheory.Size(1)), steps=150, record=[0, 150])
    assert simulation.metrics["loss"][-1] < 0.05
    assert (
        simulation.metrics["singular_values"][-1][:, 1].max()
        < 1e-9 * simulation.metrics["singular_values"][-1].max()
    )


def test_attention_starts_uniform():
    simulation = run("sgd", SMALL.replace(init_diagonal=1e-4), steps=0, record=[0])
    share = 6 / (6 + 1 + 4)
    np.testing.assert_allclose(simulation.metrics["relevant_attention"][0], share, atol=1e-6)
    np.testing.assert_allclose(simulation.metrics["relevant_query_attention"][0], share, atol=1e-6)
    assert simulation.metrics["gap_rank"][0].tolist() == [0] * 4 and simulation.metrics[
        "balance_drift"
    ][0].tolist() == [0, 0]


def test_a_large_step_is_flagged_as_diverged():
    for rate in (1e3, 1e6):
        simulation = run("sgd", SMALL.replace(learning_rate=rate), dtype="float32")
        assert simulation.diverged_at is not None and np.isnan(simulation.metrics["loss"][-1])
    bad = jax.tree.map(
        lambda x: jnp.full_like(x, jnp.nan), THEORY.init(KEY, data.problem(KEY, SMALL), SMALL)
    )
    s = analyses.ranks.singular_values(bad, SMALL)
    assert np.isnan(s).all() and analyses.ranks.gap_rank(s, jnp.full(4, 6, jnp.int32)).shape == (4,)


@pytest.mark.parametrize(
    "change", [{"num_neurons": 1}, {"query_dim": 1, "value_dim": 1, "truncation_rank": 1}]
)
def test_one_neuron_and_one_dimension_are_sizes_as_others(change):
    simulation = run("sgd", SMALL.replace(**change), steps=2, record=[0, 2])
    assert (
        simulation.metrics["gap_rank"][-1][3] == 1
        and 0 <= simulation.metrics["small_fraction"][-1] < 1
    )


def test_settings_of_one_start_share_their_problem():
    plan = jaxtheory.plan(
        THEORY,
        SMALL,
        vary={"learning_rate": [0.5, 1.0], "init_diagonal": [0.1, 0.2], "output_scale": [0.1, 0.2]},
        steps=10,
    )
    assert plan.problems == 1 and plan.runs == 8 and plan.compilations == 1
