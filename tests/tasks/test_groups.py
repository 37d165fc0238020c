"""The task of group-sparse classification."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers.on_tasks import Made, one_hot_maps, without_maps

from jaxtheory.core.config import Size


def test_the_network_sees_a_group_in_each_position():
    case = Made("group_sparse")
    x = np.asarray(case.inputs())
    assert x.shape == (20, 6, 4)
    for j in range(6):
        np.testing.assert_array_equal(x[:, j], case.batch.x[:, j].T)


def test_the_loss_is_the_logistic_one_at_the_last_group():
    case = Made("group_sparse", seed=1)
    f, y = np.asarray(case.outputs())[:, -1, 0], np.asarray(case.batch.y)
    np.testing.assert_allclose(case.loss(), np.mean(np.log1p(np.exp(-y * f))), rtol=1e-12)


def test_the_direction_of_the_relevant_group_answers():
    case = Made("group_sparse", seed=2, jstar=5)

    def best(batch):
        f = 1e6 * np.einsum("dn,d->n", np.asarray(batch.x)[:, 4], case.problem.truth)
        return jnp.broadcast_to(jnp.asarray(f)[:, None, None], (len(f), 6, 1))

    metrics = case.metrics(best)
    assert case.optimal() == {"loss": 0.0, "accuracy": 1.0}
    assert metrics["accuracy"] == pytest.approx(1) and metrics["loss"] < 1e-4
    assert case.metrics()["accuracy"] < 0.7


def test_attention_to_the_group_is_seen_on_both_tasks():
    case = Made("group_sparse", seed=3)
    count = lambda batch: batch.x.shape[2]
    right = lambda batch: one_hot_maps(jnp.full(count(batch), 1), (count(batch), 6), heads=3)
    metrics = case.metrics(maps=right)
    assert metrics["group_attention"] == metrics["downstream_attention"] == pytest.approx(1)
    wrong = lambda batch: one_hot_maps(jnp.full(count(batch), 2), (count(batch), 6), heads=3)
    assert case.metrics(maps=wrong)["group_attention"] == pytest.approx(0)
    assert np.isnan(case.metrics(maps=without_maps)["downstream_attention"])


def test_the_downstream_samples_have_their_margin():
    """The network sees x + gamma y v~ at the relevant group, and x elsewhere."""
    case, batches = Made("group_sparse", seed=4, jstar=2, margin=0.7), []
    case.metrics(maps=lambda batch: batches.append(batch))
    test, downstream = batches
    drawn, v = case.problem.downstream_test, np.asarray(case.problem.downstream_truth)
    moved = np.asarray(downstream.x - drawn.x)
    np.testing.assert_allclose(moved[:, 1], 0.7 * np.outer(v, drawn.y), rtol=1e-12, atol=1e-12)
    assert not np.delete(moved, 1, axis=1).any() and (test.x == case.problem.test.x).all()


def test_padded_groups_and_samples_count_for_nothing():
    plain = Made("group_sparse")
    padded = Made("group_sparse", D=Size(9, 6), n=Size(24, 20))
    np.testing.assert_allclose(padded.inputs()[:20, :6], plain.inputs(), rtol=1e-12)
    outputs = jnp.pad(plain.outputs(), ((0, 4), (0, 3), (0, 0)), constant_values=4.0)
    np.testing.assert_allclose(padded.loss(outputs), plain.loss(), rtol=1e-12)
    fill = lambda batch: jnp.pad(
        plain.outputs(plain.problem.test), ((0, 0), (0, 3), (0, 0)), constant_values=4.0
    )
    big = lambda batch: jnp.pad(
        plain.maps(plain.problem.test), ((0, 0), (0, 0), (0, 0), (0, 3), (0, 3))
    )
    metrics = padded.metrics(fill, big)
    for name, value in plain.metrics().items():
        np.testing.assert_allclose(metrics[name], value, rtol=1e-12, err_msg=name)
