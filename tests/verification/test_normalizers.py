"""A loss whose softmax normalizers are held constant."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxtheory


def test_a_softmax_jacobian_without_its_rank_one_part_is_named():
    def loss(z, y):
        return -jnp.mean(jnp.sum(jax.nn.softmax(z) * y, axis=-1))

    def gradient(z, y):  # diag(s) y in place of (diag(s) - s s^T) y
        return -jax.nn.softmax(z) * y / z.shape[0]

    y = np.random.default_rng(0).normal(size=(6, 4))
    comparison = jaxtheory.compare_gradients(loss, gradient, np.zeros((6, 4)), y)
    assert not comparison.agrees and "rank-one part of a softmax's Jacobian" in comparison.verdict


def softmax_loss(params, X, y):
    """Attention inside: scores X W q + b of three prompts, b without effect, and a value matrix."""
    s = jax.nn.softmax(X @ params["W"] @ params["q"] + params["b"], axis=-1)
    return jnp.sum(jnp.square(jnp.einsum("nld,nl->nd", X, s) @ params["V"] - y)) / 2


def softmax_gradient(params, X, y, rank_one=1.0):
    s = jax.nn.softmax(X @ params["W"] @ params["q"], axis=-1)
    read = jnp.einsum("nld,nl->nd", X, s)
    error = read @ params["V"] - y
    g = jnp.einsum("nld,nd->nl", X, error @ params["V"].T)
    z = jnp.einsum("nl,nld->d", s * (g - rank_one * jnp.sum(s * g, -1, keepdims=True)), X)
    return {
        "W": jnp.outer(z, params["q"]),
        "q": params["W"].T @ z,
        "V": read.T @ error,
        "b": jnp.zeros(()),
    }


@pytest.mark.parametrize(
    ("rank_one", "message"),
    [(0.0, r"s s\^T.*\) is missing"), (-1.0, r"s s\^T.*\) has the wrong sign")],
)
def test_the_rank_one_part_of_a_softmax_is_named_wherever_it_is(rank_one, message):
    random = np.random.default_rng(3)
    shapes = {"W": (4, 4), "q": (4,), "V": (4, 2), "b": ()}
    params = {name: random.normal(size=shape) for name, shape in shapes.items()}
    data = random.normal(size=(3, 6, 4)), random.normal(size=(3, 2))
    wrong = lambda *args: softmax_gradient(*args, rank_one=rank_one)
    assert jaxtheory.compare_gradients(softmax_loss, softmax_gradient, params, *data).agrees
    comparison = jaxtheory.compare_gradients(softmax_loss, wrong, params, *data)
    assert not comparison.agrees
    assert re.search(message, comparison.verdict), comparison.verdict
    assert "the rank-one part of a softmax's Jacobian" in comparison.verdict
    assert re.search("in all of (W and q|q and W); right in V, b", comparison.verdict)
