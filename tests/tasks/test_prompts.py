"""The task of nearest neighbors."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.on_tasks import Made, one_hot_maps, without_maps

from jaxtheory.core.config import Size
from jaxtheory.ops.draws import run_key


def test_the_network_sees_the_tokens_of_the_theory():
    case = Made("nearest_neighbor")
    x, prompts = np.asarray(case.inputs()), case.batch
    assert x.shape == (12, 5, 6)
    np.testing.assert_array_equal(x[:, :4, :4], prompts.x)
    np.testing.assert_array_equal(x[:, :4, 4], prompts.y)
    np.testing.assert_array_equal(x[:, 4, :4], prompts.q)
    assert not np.any(x[:, :4, 5]) and not np.any(x[:, 4, 4]) and np.all(x[:, 4, 5] == 1)


def test_averaged_labels_are_drawn_as_gaussian_ones():
    averaged, drawn = Made("nearest_neighbor"), Made("nearest_neighbor", labels="gaussian")
    np.testing.assert_array_equal(averaged.batch.y, drawn.batch.y)
    assert set(np.unique(Made("nearest_neighbor", labels="rademacher").batch.y)) == {-1.0, 1.0}


def neighbor(batch):
    """The answer of one-nearest-neighbor prediction, from distances alone."""
    near = np.argmin(np.linalg.norm(batch.x - batch.q[:, None], axis=2), axis=1)
    f = np.asarray(batch.y)[np.arange(len(near)), near]
    return jnp.broadcast_to(jnp.asarray(f)[:, None, None], (len(f), batch.x.shape[1] + 1, 1))


def test_the_loss_is_half_the_squared_distance_from_the_nearest_label():
    case = Made("nearest_neighbor", seed=1)
    f, want = np.asarray(case.outputs())[:, -1, 0], np.asarray(neighbor(case.batch))[:, 0, 0]
    np.testing.assert_allclose(case.loss(), np.mean((f - want) ** 2) / 2, rtol=1e-12)


def test_the_nearest_neighbor_is_the_best_answer_under_shift_too():
    case = Made("nearest_neighbor", seed=2, delta=0.7)
    metrics = case.metrics(neighbor)
    for name in ("loss", "shift_error", "separated_error"):
        assert metrics[name] == pytest.approx(0, abs=1e-20)
    for name in ("accuracy", "shift_agreement", "separated_agreement"):
        assert metrics[name] == pytest.approx(1)
    assert case.optimal() == {"loss": 0.0, "accuracy": 1.0}
    assert case.metrics()["loss"] > 0.1


def test_attention_to_the_nearest_example_is_seen():
    case = Made("nearest_neighbor", seed=3)
    right = lambda batch: one_hot_maps(batch.nearest, (len(batch.y), 5), heads=2)
    assert case.metrics(maps=right)["nearest_attention"] == pytest.approx(1)
    wrong = lambda batch: one_hot_maps((batch.nearest + 1) % 4, (len(batch.y), 5))
    assert case.metrics(maps=wrong)["nearest_attention"] == pytest.approx(0)
    assert np.isnan(case.metrics(maps=without_maps)["nearest_attention"])


def test_padded_examples_and_prompts_count_for_nothing():
    plain = Made("nearest_neighbor")
    padded = Made("nearest_neighbor", N=Size(7, 4), B=Size(15, 12), M=Size(13, 10))
    x = np.asarray(padded.inputs())
    assert x.shape == (15, 8, 6) and not np.any(x[:, 5:])
    np.testing.assert_allclose(x[:12, :5], plain.inputs(), atol=1e-12)
    fill = lambda batch: jnp.pad(
        plain.outputs(plain.problem.test), ((0, 3), (0, 3), (0, 0)), constant_values=2.0
    )
    big = lambda batch: jnp.pad(
        plain.maps(plain.problem.test), ((0, 0), (0, 3), (0, 0), (0, 3), (0, 3))
    )
    metrics = padded.metrics(fill, big)
    for name, value in plain.metrics().items():
        np.testing.assert_allclose(metrics[name], value, rtol=1e-9, err_msg=name)


def loss_without(case, information):
    best = jax.jit(case.task.optimal_without, static_argnums=0)
    return float(best(information, case.problem, case.config))


def drawn_anew(case, seed=0):
    """A new batch, of the type and shapes of the training batch."""
    batch = jax.jit(case.task.fresh)(run_key(5, seed), case.problem, case.config)
    like = lambda x: (x.shape, x.dtype)
    assert jax.tree.map(like, batch) == jax.tree.map(like, case.batch)
    return batch


LAWS = ("averaged", "gaussian", "rademacher", "code", "even")


@pytest.mark.parametrize("labels", LAWS)
def test_new_prompts_have_the_law_of_the_old_ones(labels):
    case = Made("nearest_neighbor", seed=4, B=3000, labels=labels)
    batch, second = drawn_anew(case), drawn_anew(case, seed=1)
    for part in (case.batch, batch, second):
        x, q, _, nearest, y, _ = map(np.asarray, part)
        np.testing.assert_allclose(np.linalg.norm(x, axis=2), 1, rtol=1e-12)
        np.testing.assert_array_equal(
            nearest, np.argmin(np.linalg.norm(x - q[:, None], axis=2), axis=1)
        )
        for points in (x.reshape(-1, 4), q):  # E x = 0 and E x x^T = I / 4
            moments = points.T @ points / len(points)
            assert np.all(abs(points.mean(axis=0)) < 4 * 0.5 / np.sqrt(len(points)))
            np.testing.assert_allclose(moments, np.eye(4) / 4, atol=4 * 0.25 / len(points) ** 0.5)
        scale = np.sqrt(2 if labels in LAWS[:2] else 1)
        np.testing.assert_allclose(y.T @ y / 3000, np.eye(4), atol=4 * scale / np.sqrt(3000))
        assert np.all(abs(y.mean(axis=0)) < 4 / np.sqrt(3000))
    assert not np.any(batch.x == second.x) and np.any(batch.y != second.y)
    np.testing.assert_array_equal(batch.weight, case.batch.weight)


@pytest.mark.parametrize("N", [4, Size(7, 4), 1])
def test_edges_go_to_the_nearest_example(N):
    case = Made("nearest_neighbor", seed=5, N=N)
    edges = np.asarray(jax.jit(case.task.edges)(case.batch, case.problem, case.config))
    x, q = np.asarray(case.batch.x)[:, : Size.wrap(N).n], np.asarray(case.batch.q)
    near = np.argmin(np.linalg.norm(x - q[:, None], axis=2), axis=1)
    want = np.zeros((12, Size.wrap(N).cap + 1, Size.wrap(N).cap + 1), bool)
    for b, query in itertools.product(range(12), range(want.shape[1])):
        want[b, query, near[b]] = query != near[b]
    np.testing.assert_array_equal(edges, want)


def implied(N):
    """The probability that N - 1 products of signs imply the other one, from all signs."""
    bits = N.bit_length()
    signs = np.array(list(itertools.product((-1, 1), repeat=bits)))
    labels = np.array(
        [np.prod(signs[:, [j for j in range(bits) if k >> j & 1]], axis=1) for k in range(1, N + 1)]
    )
    sure = []
    for i in range(N):
        means = {}
        for label, others in zip(labels[i], np.delete(labels, i, axis=0).T, strict=True):
            means.setdefault(tuple(others), []).append(label)
        sure.append(np.mean([np.mean(group) ** 2 for group in means.values()]))
    return np.mean(sure)


def test_labels_of_a_code_are_told_by_those_enumerated():
    case = Made("nearest_neighbor", labels="code")
    at = lambda n: case.task.optimal_without("tokens", None, case.config.replace(N=Size(17, n)))
    values = jax.jit(jax.vmap(at))(jnp.arange(1, 18))
    np.testing.assert_allclose(values, [(1 - implied(N)) / 2 for N in range(1, 18)], rtol=1e-12)


@pytest.mark.parametrize("labels", LAWS)
def test_independent_labels_are_not_told(labels):
    case = Made("nearest_neighbor", labels=labels, N=2, M=4000)
    test = case.problem.test
    label = np.asarray(test.y)[np.arange(4000), np.asarray(test.nearest)]
    second = np.asarray(test.y)[np.arange(4000), 1 - np.asarray(test.nearest)]
    for product, information in ((label * np.sign(second), "tokens"), (label, "prompt")):
        assert abs(np.mean(product)) < 4 * np.std(product) / np.sqrt(4000)
        assert loss_without(case, information) == 0.5
    assert abs(np.mean(label**2) - 1) <= 4 * np.std(label**2) / np.sqrt(4000)
