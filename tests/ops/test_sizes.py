"""Several sums in one pass; sums, means and identities ignore padding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory import Size, sizes
from jaxtheory.ops.sizes import sums


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("length", [0, 1, 7])
def test_sums_and_their_derivatives_are_those_one_by_one(length, axis):
    x = jax.random.normal(jax.random.key(length), (3, 3)).at[0, 0].set(0)
    x = jnp.resize(x, (length, 3) if axis == 0 else (3, length))
    terms = lambda x: (x, x * x, jnp.exp(x))
    joint = lambda x: sum(jnp.sum(jnp.sin(y)) for y in sums(*terms(x), axis=axis))
    separate = lambda x: sum(jnp.sum(jnp.sin(jnp.sum(y, axis=axis))) for y in terms(x))
    for derive in (lambda f: f, jax.grad, jax.jacfwd, jax.hessian):
        np.testing.assert_allclose(derive(joint)(x), derive(separate)(x), rtol=1e-12, atol=1e-12)
    pair = jax.vmap(joint)(jnp.stack([x, 2 * x]))
    np.testing.assert_allclose(pair, [separate(x), separate(2 * x)], rtol=1e-12, atol=1e-12)


def test_sums_means_and_identities_ignore_padding():
    plain, wide = (Size(3), Size(2)), (Size(5, 3), Size(4, 2))
    values = jnp.arange(6.0).reshape(3, 2)
    padded = jnp.full((5, 4), 7.0).at[:3, :2].set(values)  # garbage beyond the sizes
    assert sizes.total(values, *plain) == sizes.total(padded, *wide) == 15
    assert sizes.mean(values, *plain) == sizes.mean(padded, *wide) == 2.5
    np.testing.assert_array_equal(sizes.mean(padded, wide[0])[:2], [2.0, 3.0])
    np.testing.assert_array_equal(sizes.eye(wide[1]), np.diag([1.0, 1, 0, 0]))
    np.testing.assert_array_equal(jax.jit(lambda n: sizes.eye(Size(4, n)))(2), sizes.eye(wide[1]))


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_an_accelerator_reduces_as_many_terms_at_once_as_its_shared_memory_holds(dtype):
    x = jax.random.normal(jax.random.key(0), (12, 4), dtype)
    terms = [x**k for k in range(12)]
    traced = jax.jit(lambda *terms: sums(*terms, axis=0)).trace(*terms)
    reductions = lambda platform: [
        line.split("=")[0].split(":")[-1].strip()
        for line in traced.lower(lowering_platforms=(platform,)).as_text().splitlines()
        if "stablehlo.reduce" in line
    ]
    assert reductions("cpu") == ["12"]
    assert reductions("cuda") == reductions("tpu") == ["5", "5", "2"]
