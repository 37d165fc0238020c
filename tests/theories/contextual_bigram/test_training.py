"""The algorithms in small runs."""

import jax
import numpy as np
import pytest
from helpers.some import some

import jaxtheory
from jaxtheory.theories.contextual_bigram import THEORY, Config, predictions

KEY = jaxtheory.run_key(0, 1)
SMALL = Config(
    length=30, batch_size=256, learning_rate=0.1, late_learning_rate=0.05, switch_step=60
)


def run(algorithm, config=SMALL, **options):
    options = {"steps": 120, "record": [0, 120], "dtype": "float64", **options}
    return jaxtheory.simulate(THEORY, config, KEY, algorithm=algorithm, **options)


def test_proximal_then_refit_recovers_the_task():
    trained = run("proximal")
    assert trained.metrics["right_sign"][-1] == 1
    assert trained.analyses["support_recovery"] == 1 and trained.analyses["empty_columns"] == 0
    assert trained.analyses["rounded_attention_distance"] < 0.1
    refitted = run("refit", start=trained.params, config=SMALL.replace(late_learning_rate=0.02))
    np.testing.assert_allclose(
        refitted.metrics["attention_distance"],
        trained.analyses["rounded_attention_distance"],
        rtol=1e-9,
    )
    assert refitted.metrics["excess_loss"][-1] < 0.5 * trained.metrics["excess_loss"][-1]


def test_without_l1_the_sparse_algorithms_are_the_plain_ones():
    off = SMALL.replace(l1=0.0)
    for sparse, plain in (("proximal", "sgd"), ("noise", "noise_sgd")):
        a, b = run(sparse, off, steps=70, record=[70]), run(plain, off, steps=70, record=[70])
        np.testing.assert_allclose(a.params.attention, b.params.attention, rtol=1e-12)


def test_population_and_dynamics_are_one_run_as_predicted():
    a, b = run("population", record=20), run("dynamics", record=20)
    curves = jax.jit(lambda problem, config: predictions.predict(problem, config, a.steps))(
        a.problem, a.config
    )
    for name in ("attention_alignment", "value_alignment", "loss"):
        np.testing.assert_allclose(a.metrics[name], b.metrics[name], atol=1e-11)
        np.testing.assert_allclose(a.metrics[name], curves[f"{name}:population"], atol=1e-11)


def test_transfer_recovers_the_support_in_one_step():
    config = SMALL.replace(batch_size=512, switch_step=20, learning_rate=0.01)
    one = run("transfer", config, steps=20, record=[0, 19, 20])
    assert one.metrics["support_match"].tolist() == [0, 0, 1]
    np.testing.assert_allclose(one.metrics["attention_alignment"][:2], 0, atol=1e-12)
    dense = run("transfer", config.replace(l1=0.0), steps=20, record=[20])
    curves = jax.jit(lambda problem, config: predictions.predict(problem, config, np.array([20])))(
        dense.problem, dense.config
    )
    assert curves["support_match:one_step"][0] > 0.99
    np.testing.assert_allclose(
        dense.metrics["off_support_std"][0], curves["off_support_std:one_step"][0], rtol=0.2
    )


def test_softmax_attention_is_a_law():
    A = run("softmax", SMALL.replace(softmax_rate=4.0)).params.attention
    np.testing.assert_allclose(A.sum(axis=0), 1, rtol=1e-12)
    assert (A > 0).all() and A.max() > 0.1


@pytest.mark.parametrize("algorithm", some(THEORY.algorithms, "proximal", "softmax", "momentum"))
def test_columns_keep_their_sums_in_float32(algorithm):
    if algorithm == "sgd_plain":
        pytest.skip("raw gradients do not keep them")
    A = run(algorithm, dtype="float32").params.attention
    np.testing.assert_allclose(A.sum(axis=0), 1, atol=2e-6)


def test_a_batch_size_axis_shares_the_task_and_l1_shares_the_batches():
    plan = jaxtheory.plan(
        THEORY,
        SMALL,
        vary={"l1": [0.0, 1e-5, 1e-3], "learning_rate": [0.05, 0.1], "theta": [0.2, 0.4]},
        steps=10,
    )
    assert plan.problems == 1 and plan.runs == 6 and plan.compilations == 1
