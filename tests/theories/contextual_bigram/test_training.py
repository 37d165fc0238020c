"""The algorithms, metrics and analyses in small runs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxtheory
from jaxtheory.theories.contextual_bigram import THEORY, Batch, Config, Params, analyses, gradient, init, metrics, predict, problem

KEY = jaxtheory.run_key(0, 1)
SMALL = Config(length=30, batch_size=256, learning_rate=0.1, late_learning_rate=0.05, switch_step=60)


def run(algorithm, config=SMALL, **options):
    options = {"steps": 120, "record": [0, 120], "dtype": "float64", **options}
    return jaxtheory.simulate(THEORY, config, KEY, algorithm=algorithm, **options)


def test_proximal_then_refit_recovers_the_task():
    trained = run("proximal")
    assert trained.metrics["right_sign"][-1] == 1
    assert trained.analyses["support_recovery"] == 1 and trained.analyses["empty_columns"] == 0
    assert trained.analyses["rounded_attention_distance"] < 0.1
    refitted = run("refit", start=trained.params, config=SMALL.replace(late_learning_rate=0.02))
    np.testing.assert_allclose(refitted.metrics["attention_distance"], trained.analyses["rounded_attention_distance"], rtol=1e-9)
    assert refitted.metrics["excess_loss"][-1] < 0.5 * trained.metrics["excess_loss"][-1]


def test_without_l1_the_sparse_algorithms_are_the_plain_ones():
    off = SMALL.replace(l1=0.0)
    for sparse, plain in (("proximal", "sgd"), ("noise", "noise_sgd")):
        a, b = run(sparse, off, steps=70, record=[70]), run(plain, off, steps=70, record=[70])
        np.testing.assert_allclose(a.params.attention, b.params.attention, rtol=1e-12)


def test_population_and_dynamics_are_one_run_as_predicted():
    a, b = run("population", record=20), run("dynamics", record=20)
    curves = jax.jit(lambda problem, config: predict(problem, config, a.steps))(a.problem, a.config)
    for name in ("attention_alignment", "value_alignment", "loss"):
        np.testing.assert_allclose(a.metrics[name], b.metrics[name], atol=1e-11)
        np.testing.assert_allclose(a.metrics[name], curves[f"{name}:population"], atol=1e-11)


def test_transfer_recovers_the_support_in_one_step():
    config = SMALL.replace(batch_size=512, switch_step=20, learning_rate=0.01)
    one = run("transfer", config, steps=20, record=[0, 19, 20])
    assert one.metrics["support_match"].tolist() == [0, 0, 1]
    np.testing.assert_allclose(one.metrics["attention_alignment"][:2], 0, atol=1e-12)
    dense = run("transfer", config.replace(l1=0.0), steps=20, record=[20])
    curves = predict(dense.problem, dense.config, np.array([20]))
    assert curves["support_match:one_step"][0] > 0.99
    np.testing.assert_allclose(dense.metrics["off_support_std"][0], curves["off_support_std:one_step"][0], rtol=0.2)


def test_softmax_attention_is_a_law():
    A = run("softmax", SMALL.replace(softmax_rate=4.0)).params.attention
    np.testing.assert_allclose(A.sum(axis=0), 1, rtol=1e-12)
    assert (A > 0).all() and A.max() > 0.1


@pytest.mark.parametrize("algorithm", THEORY.algorithms)
def test_columns_keep_their_sums_in_float32(algorithm):
    if algorithm == "sgd_plain":
        pytest.skip("raw gradients do not keep them")
    A = run(algorithm, dtype="float32").params.attention
    np.testing.assert_allclose(A.sum(axis=0), 1, atol=2e-6)


def test_a_column_without_a_positive_entry_is_flagged():
    config = Config(length=6)
    task = jax.jit(problem)(KEY, config)
    A = init(KEY, task, config).attention.at[:, 1].set(-0.1)
    found = analyses(Params(A, task.transition), task, config)
    assert found["empty_columns"] == 1 and all(np.isfinite(v) for v in found.values())


def test_metrics_at_the_start_and_at_the_task():
    config = Config(length=40)
    task = jax.jit(problem)(KEY, config)
    start, end = metrics(init(KEY, task, config), task, config), metrics(Params(task.context, task.transition), task, config)
    mu, P, Q = (np.asarray(x) for x in (task.stationary, task.transition, task.context))
    zero = ("attention_alignment", "value_alignment", "attention_residual", "value_residual", "value_cosine_centred", "right_sign")
    assert all(abs(start[name]) < 1e-12 for name in zero)
    np.testing.assert_allclose(start["relative_excess_loss"], 1, rtol=1e-12)
    np.testing.assert_allclose(start["value_cosine"], np.linalg.norm(mu) / np.sqrt(np.sum(mu * P**2)), rtol=1e-12)
    np.testing.assert_allclose(start["attention_cosine"], np.sqrt(1 / 40 / np.sum(mu * Q**2)), rtol=1e-12)
    ones = ("attention_alignment", "value_alignment", "attention_cosine", "value_cosine", "value_cosine_centred", "support_match")
    np.testing.assert_allclose([end[name] for name in ones], 1, rtol=1e-12)
    assert abs(end["excess_loss"]) < 1e-15 and end["attention_distance"] == 0


def test_a_token_that_is_no_query_has_gradient_zero():
    config = Config(length=5, batch_size=4)
    task = jax.jit(problem)(KEY, config)
    batch = Batch(jnp.zeros((4, 5), jnp.uint8), jnp.array([0, 0, 2, 2]), jnp.array([0, 1, 2, 0]))
    g = gradient(Params(init(KEY, task, config).attention, task.transition), batch, task, config).attention
    assert not np.asarray(g)[:, 1].any() and np.asarray(g)[:, 0].any()


def test_a_batch_size_axis_shares_the_task_and_l1_shares_the_batches():
    made = jaxtheory.plan(THEORY, SMALL, vary={"l1": [0.0, 1e-5, 1e-3], "learning_rate": [0.05, 0.1], "theta": [0.2, 0.4]}, steps=10)
    assert made.problems == 1 and made.runs == 6 and made.compilations == 1
