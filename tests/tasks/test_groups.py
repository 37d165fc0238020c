"""The task of group-sparse classification."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.on_tasks import Made, one_hot_maps, without_maps

from jaxtheory.core.config import Size
from jaxtheory.ops.draws import run_key


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


def loss_without(case, information):
    best = jax.jit(case.task.optimal_without, static_argnums=0)
    return float(best(information, case.problem, case.config))


def drawn_anew(case, seed=0):
    """A new batch, of the type and shapes of the training batch."""
    batch = jax.jit(case.task.fresh)(run_key(5, seed), case.problem, case.config)
    like = lambda x: (x.shape, x.dtype)
    assert jax.tree.map(like, batch) == jax.tree.map(like, case.batch)
    return batch


@pytest.mark.parametrize("settings", [{}, {"D": 2, "jstar": 1, "sigma_x": 0.3}], ids=str)
def test_new_samples_have_the_law_of_the_old_ones(settings):
    case = Made("group_sparse", seed=5, **{"n": 3000, **settings})
    batch, second = drawn_anew(case), drawn_anew(case, seed=1)
    sigma, star = float(case.config.noise_scale), int(case.config.relevant_group) - 1
    for part in (case.batch, batch, second):
        x, y = np.asarray(part.x), np.asarray(part.y)
        np.testing.assert_array_equal(np.sign(x[:, star].T @ np.asarray(case.problem.truth)), y)
        assert abs(x.mean()) < 4 * sigma / np.sqrt(x.size)
        assert abs(x.var() / sigma**2 - 1) < 4 * np.sqrt(2 / x.size)
        assert abs(y.mean()) < 4 / np.sqrt(len(y))
    assert not np.any(batch.x == second.x) and not np.any(batch.x == case.batch.x)
    np.testing.assert_array_equal(batch.weight, case.batch.weight)


def test_new_samples_are_padded_as_the_old_ones():
    plain, padded = Made("group_sparse"), Made("group_sparse", D=Size(9, 6), n=Size(24, 20))
    batch, wide = drawn_anew(plain), drawn_anew(padded)
    np.testing.assert_allclose(wide.x[:, :6, :20], batch.x, rtol=1e-12)
    assert not np.any(wide.x[:, 6:]) and not np.any(wide.y[20:])


@pytest.mark.parametrize("star", [1, 3, 6])
def test_edges_go_to_the_relevant_group(star):
    case = Made("group_sparse", jstar=star)
    edges = np.asarray(jax.jit(case.task.edges)(case.batch, case.problem, case.config))
    want = np.zeros((20, 6, 6), bool)
    for query in range(6):
        want[:, query, star - 1] = query != star - 1
    np.testing.assert_array_equal(edges, want)


@pytest.mark.parametrize("settings", [{}, {"D": 2, "jstar": 1}, {"d": 2, "D": 2, "n": 1}], ids=str)
def test_nothing_but_the_relevant_group_tells_the_label(settings):
    """The mirror image of the relevant group has the other label, beside the same other groups, so
    that any answer has the mean of both logistic losses.
    """
    case = Made("group_sparse", seed=6, **settings)
    test, star = case.problem.test, int(case.config.relevant_group) - 1
    v = np.asarray(case.problem.truth)
    u = np.asarray(test.x)[:, star].T @ v
    np.testing.assert_array_equal(np.sign(u), test.y)
    np.testing.assert_array_equal(np.sign(-u), -np.asarray(test.y))
    f = np.linspace(-3, 3, 601)
    least = np.min((np.log1p(np.exp(-f)) + np.log1p(np.exp(f))) / 2)
    for information in ("prompt", "tokens"):
        assert loss_without(case, information) == pytest.approx(least, rel=1e-12)
