"""Prompts: the source's laws, ties, shifts, padding."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.ops.draws import run_key
from jaxtheory.theories.nearest_neighbor import Config, calculus, data, model, predictions
from jaxtheory.theories.nearest_neighbor.model import Prompts, Reduced

KEY = run_key(0, 0)
draw = jax.jit(data.problem)
SMALL = Config(dimension=3, context=5, num_prompts=40, num_test=60)


@pytest.mark.parametrize("labels", ["averaged", "gaussian", "rademacher", "code", "even"])
def test_prompts_are_points_on_the_sphere_with_their_nearest(labels):
    problem = draw(KEY, SMALL.replace(labels=labels))
    for prompts in problem:
        np.testing.assert_allclose(np.linalg.norm(prompts.x, axis=2), 1)
        np.testing.assert_allclose(np.linalg.norm(prompts.q, axis=1), 1)
        distance = np.linalg.norm(prompts.x - prompts.q[:, None], axis=2)
        np.testing.assert_allclose(distance**2, 2 - 2 * prompts.t, atol=1e-12)
        np.testing.assert_array_equal(prompts.nearest, np.argmin(distance, axis=1))
        np.testing.assert_allclose(np.sum(prompts.weight), 1)
    assert (problem.train.y is None) == (labels == "averaged")
    if labels not in ("averaged", "gaussian"):
        assert set(np.unique(problem.train.y)) == {-1, 1} == set(np.unique(problem.test.y))
    assert np.all(problem.shift.nearest == 0) and np.all(problem.shift.t[:, 0] == 1)


def every_sign(N):
    """All 2^N patterns of N signs."""
    return jnp.stack(jnp.meshgrid(*[jnp.array([-1.0, 1.0])] * N), axis=-1).reshape(-1, N)


@pytest.mark.parametrize("labels", ["code", "even"])
def test_labels_given_the_examples_are_uncorrelated_signs_even_in_the_examples(labels):
    """The talk's conditions, by all patterns of signs."""
    N, config = 6, SMALL.replace(context=6, labels=labels)
    s, x = every_sign(N), jnp.broadcast_to(draw(KEY, config).train.x[0], (2**N, N, 3))
    y = np.asarray(data.labeled_by(s, x, config))
    np.testing.assert_array_equal(abs(y), 1)
    np.testing.assert_array_equal(y.T @ y / 2**N, np.eye(N))
    np.testing.assert_array_equal(y.mean(axis=0), 0)
    np.testing.assert_array_equal(data.labeled_by(s, -x, config), y)
    g = np.where(3 * np.asarray(x)[0, :, 0] ** 2 <= 1, 1, -1) if labels == "even" else np.ones(N)
    assert labels == "code" or set(g) == {-1, 1}
    words = [[0], [1], [0, 1], [2], [0, 2], [1, 2]]  # 1, 2, 3, 4, 5, 6 in binary digits
    np.testing.assert_array_equal(
        y, g * np.stack([np.asarray(s)[:, w].prod(1) for w in words], axis=1)
    )


@pytest.mark.parametrize("labels", ["code", "even"])
def test_labels_of_a_code_move_an_entry_of_W_that_independent_labels_leave(labels):
    """dL/dW_23 = E (y* f^2 - f^3), by the triples of the code and by the gradient of all labels."""
    N, config = 6, SMALL.replace(context=6, labels=labels)
    problem = draw(KEY, config)
    one = jax.tree.map(lambda a: a[:1], problem.train)
    signs = every_sign(N)
    repeats = jax.tree.map(lambda a: jnp.repeat(a, len(signs), axis=0), one)
    repeats = repeats._replace(
        y=data.labeled_by(signs, repeats.x, config), weight=jnp.full(len(signs), 1 / len(signs))
    )
    params = Reduced(jnp.array(1.3), jnp.array(0.9))
    W = calculus.gradient(calculus.lift(params, config), repeats, problem, config).W
    s = np.asarray(model.attend(params, one, config))[:-1, 0]
    star = int(one.nearest[0])
    g = np.where(3 * np.asarray(one.x)[0, :, 0] ** 2 <= 1, 1, -1) if labels == "even" else [1] * N
    want = 0.0
    for i, j, k in itertools.combinations(range(N), 3):
        if (i + 1) ^ (j + 1) ^ (k + 1) == 0:
            c = g[i] * g[j] * g[k] * s[i] * s[j] * s[k]
            want += (2 / s[star] if star in (i, j, k) else 0) * c - 6 * c
    np.testing.assert_allclose(W[-2, -1], want, rtol=1e-12)
    assert abs(want) > 1e-3


def test_training_and_test_prompts_differ():
    problem = draw(KEY, SMALL.replace(num_test=40, labels="gaussian"))
    assert not np.any(np.asarray(problem.train.t) == np.asarray(problem.test.t))


def test_among_equally_near_examples_the_first_counts():
    t = jnp.array([[0.2, 0.7, 0.7, 0.1], [0.5, 0.5, 0.5, 0.5], [0.1, 0.2, 0.3, 0.9]])
    np.testing.assert_array_equal(data.closest(t, Config(context=4)), [1, 0, 3])
    np.testing.assert_array_equal(data.closest(t, Config(context=3).pad(context=4)), [1, 0, 2])


def prompts_at(angles, y):
    """One prompt in the plane with the query at angle 0."""
    x = jnp.stack([jnp.cos(jnp.asarray(angles)), jnp.sin(jnp.asarray(angles))], axis=1)[None]
    return data.make_prompts(
        x, jnp.array([[1.0, 0.0]]), jnp.asarray([y]), 1, Config(dimension=2, context=len(y))
    )


def test_examples_near_the_query_are_flipped_but_for_the_nearest():
    prompts = prompts_at([0.0, 0.2, 1.0, 3.0], [1.0, 2.0, 3.0, 4.0])
    moved = data.flipped(
        prompts, 0.1, Config(dimension=2, context=4)
    )  # |x - q|^2 = 0, .04, .92, 3.98
    np.testing.assert_allclose(moved.t[0], [1, -np.cos(0.2), np.cos(1.0), np.cos(3.0)])
    np.testing.assert_allclose(moved.x[0, 1], -prompts.x[0, 1])
    np.testing.assert_array_equal(moved.y, prompts.y)
    np.testing.assert_allclose(
        data.flipped(prompts, 4.0, Config(dimension=2, context=4)).t[0, 3], -np.cos(3.0)
    )


def test_labels_within_the_separation_are_those_of_the_nearest():
    prompts = prompts_at(
        [0.3, 0.4, 1.0, 3.0], [1.0, 2.0, 3.0, 4.0]
    )  # |x - q|^2 = .09, .16, .92, 3.98
    for delta, labels in (
        (0.0, [1, 2, 3, 4]),
        (0.1, [1, 1, 3, 4]),
        (1.0, [1, 1, 1, 4]),
        (4.0, [1, 1, 1, 1]),
    ):
        np.testing.assert_array_equal(data.relabeled(prompts, delta).y[0], labels)


@pytest.mark.parametrize("dimension", [2, 3, 9])
def test_inner_products_alone_have_the_law_of_those_on_the_sphere(dimension):
    config = Config(dimension=dimension, context=3, num_test=4000, num_prompts=1)
    drawn, sphere = (
        np.sort(np.ravel(t))
        for t in (data.inner_products(KEY, 4000, config), draw(KEY, config).test.t)
    )
    gap = np.max(
        np.abs(np.searchsorted(sphere, drawn) / sphere.size - np.arange(drawn.size) / drawn.size)
    )
    assert gap < 1.95 * np.sqrt(2 / drawn.size)  # Kolmogorov and Smirnov's 1 in 1000


@pytest.mark.parametrize("labels", ["gaussian", "even"])
def test_padding_keeps_the_draws_and_adds_zeros(labels):
    config = SMALL.replace(labels=labels)
    padded = draw(KEY, config.pad(dimension=6, context=8, num_prompts=50, num_test=70))
    for small, large in zip(
        jax.tree.leaves(draw(KEY, config)), jax.tree.leaves(padded), strict=True
    ):
        inside = tuple(map(slice, small.shape))
        np.testing.assert_allclose(np.asarray(large)[inside], small, rtol=1e-13, atol=1e-15)
        assert np.count_nonzero(large) == np.count_nonzero(small)


def test_one_example_is_the_nearest():
    problem = draw(KEY, Config(dimension=2, context=1, num_prompts=5, num_test=5))
    assert isinstance(problem.train, Prompts) and not np.any(problem.train.nearest)
    assert not predictions.assumptions(problem, Config(dimension=2, context=1))[
        "power laws: d >= 3 and N >= 2, margin the lesser of d - 3 and N - 2"
    ][0]
