"""Masked softmax and its derivative, also where nothing is attended to."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.ops import attention


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e4])
def test_masked_softmax_and_its_derivative(scale):
    z = scale * jax.random.normal(jax.random.key(0), (3, 5))
    mask = jnp.tril(jnp.ones((3, 5), bool), 1)
    s = attention.softmax(z, mask)
    with np.errstate(under="ignore"):
        top = np.max(np.where(mask, z, -np.inf), axis=1, keepdims=True)
        weights = np.where(mask, np.exp(np.where(mask, z, top) - top), 0)
    np.testing.assert_allclose(s, weights / weights.sum(1, keepdims=True), rtol=1e-13)
    g = jax.random.normal(jax.random.key(1), (3, 5))
    _, pull = jax.vjp(lambda z: attention.softmax(z, mask), z)
    np.testing.assert_allclose(attention.softmax_vjp(s, g), pull(g)[0], atol=1e-14)
    _, push = jax.jvp(lambda z: attention.softmax(z, mask), (z,), (g,))
    np.testing.assert_allclose(attention.softmax_vjp(s, g), push, atol=1e-14)
    np.testing.assert_allclose(attention.softmax_vjp(s.T, g.T, axis=0).T, push, atol=1e-14)


def test_softmax_at_degenerate_points():
    empty = attention.softmax(jnp.zeros((2, 3)), jnp.array([[True, False, False], [False] * 3]))
    np.testing.assert_array_equal(empty, [[1, 0, 0], [0, 0, 0]])
    gradient = jax.grad(lambda z: attention.softmax(z, jnp.array([False, True, True]))[1])(
        jnp.array([1e300, 0.0, 0.0])
    )
    np.testing.assert_allclose(gradient, [0, 0.25, -0.25])
    nothing = jax.jacobian(lambda z: attention.softmax(z, jnp.zeros(3, bool)))(jnp.ones(3))
    np.testing.assert_array_equal(nothing, np.zeros((3, 3)))
    far = attention.softmax(jnp.array([-1e307, -1e308, 0]), jnp.array([True, True, False]))
    np.testing.assert_array_equal(far, [1, 0, 0])
    assert np.isnan(attention.softmax(jnp.array([np.inf, 0.0]))).any()
