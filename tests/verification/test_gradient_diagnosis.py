"""A wrong gradient is explained by the one mistake that explains all of it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.some import some

import jaxtheory
from jaxtheory.theories import get, names
from jaxtheory.verification.conformance import Material


def largest(tree):
    """The place of the leaf with most entries."""
    leaves = jax.tree.leaves(tree)
    return max(range(len(leaves)), key=lambda i: np.size(leaves[i]))


def changed(gradient, place, change):
    """The gradient with a change of (one leaf, that of the parameters)."""

    def wrong(params, *args):
        leaves, tree = jax.tree.flatten(gradient(params, *args))
        leaves[place] = change(leaves[place], jax.tree.leaves(params)[place])
        return jax.tree.unflatten(tree, leaves)

    return wrong


MISTAKES = {  # name -> change of a leaf of two dimensions or more, what the verdict says
    "constant": (lambda g, p: -0.5 * g, "factor -0.5"),
    "sign": (lambda g, p: -g, "the sign is wrong"),
    "half": (lambda g, p: g / 3, "factor 0.333333"),
    "transposed": (lambda g, p: jnp.swapaxes(g, -1, -2), "transposed"),
    "transposed, minus": (lambda g, p: -jnp.swapaxes(g, -1, -2), "transposed"),
    "next index": (lambda g, p: jnp.roll(g, 1, -1), "wrong index: shifted by 1 along axis"),
    "index before": (lambda g, p: jnp.roll(g, -1, 0), "wrong index: shifted by -1 along axis 0"),
    "reversed": (lambda g, p: jnp.flip(g, 0), "reversed along axis 0"),
    "no term": (lambda g, p: 0 * g, "it is zero"),
    "no decay": (lambda g, p: g - 0.2 * p, "it lacks 0.2 times the parameter"),
    "one row": (lambda g, p: g.at[0].multiply(2.0), "wrong at index 0 of axis 0"),
    "constant term": (lambda g, p: g + 1.0, "it lacks a term"),
}


def possible(shape):
    """The mistakes that a leaf of this shape can have, a number, a vector, or a (square) matrix."""
    if not shape:
        return ("constant", "sign", "half", "no term", "no decay")
    square = len(shape) > 1 and shape[-1] == shape[-2]
    mistakes = [m for m in MISTAKES if square or "transposed" not in m]
    same = ("index before", "reversed") if shape[0] == 2 else ()  # as the shift by one
    return [m for m in mistakes if m not in same]


def small(key):
    """loss, params, data of a two-layer network; v is a vector, W square."""
    X, y = jax.random.normal(key, (7, 5)), jnp.sin(jnp.arange(7.0))
    W, v = jnp.eye(5) + jnp.cos(jnp.arange(25.0).reshape(5, 5)), jnp.linspace(-1, 1, 5)

    def loss(params, X, y):
        return jnp.mean(jnp.square(jnp.tanh(X @ params["W"]) @ params["v"] - y)) / 2

    return loss, {"W": W, "v": v}, (X, y)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake):
    loss, params, data = small(jax.random.key(3))
    change, words = MISTAKES[mistake]
    comparison = jaxtheory.compare_gradients(
        loss, changed(jax.grad(loss), 0, change), params, *data
    )
    assert not comparison.agrees and words in comparison.verdict
    assert "; right in v" in comparison.verdict
    assert comparison.differences[0].leaf == "W" and comparison.verdict.startswith("entry (")


def test_a_forgotten_mean_is_named():
    loss, params, data = small(jax.random.key(4))
    for c, words in (
        (7.0, "factor 7: 1/n is missing?"),
        (1 / 7, "factor 0.142857: 1/n is too much?"),
    ):
        wrong = changed(jax.grad(loss), 1, lambda g, p, c=c: c * g)
        verdict = jaxtheory.compare_gradients(loss, wrong, params, *data).verdict
        assert words in verdict and "n = 7 is axis 0 of X" in verdict


@pytest.mark.parametrize("name", some(names(), "random_walk", "low_rank"))
def test_the_rooms_gradients_agree_and_wrong_ones_do_not(name):
    theory, tools = get(name), Material(get(name))
    problem, batch, params = tools.first(0)
    arguments = (batch, problem, tools.config(0))
    comparison = jaxtheory.compare_gradients(theory.loss, theory.gradient, params, *arguments)
    assert comparison.agrees, comparison
    place = largest(params)
    leaf = jax.tree.leaves(params)[place]
    right = jax.tree.leaves(theory.gradient(params, *arguments))[place]
    for mistake in possible(np.shape(leaf)):
        change, words = MISTAKES[mistake]
        if np.array_equal(change(right, leaf), right):
            continue  # a row that is zero may be doubled
        wrong = changed(theory.gradient, place, change)
        comparison = jaxtheory.compare_gradients(theory.loss, wrong, params, *arguments)
        assert not comparison.agrees and words in comparison.verdict, (mistake, comparison.verdict)
