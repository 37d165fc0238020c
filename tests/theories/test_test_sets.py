"""A theory whose test set has a size field draws as many sequences or prompts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.core.config import canonical
from jaxtheory.theories import get


@pytest.mark.parametrize("name", ["random_walk", "in_context_regression", "nearest_neighbor"])
def test_the_first_of_more_are_those_of_fewer(name):
    theory, draw = get(name), jax.jit(get(name).problem)
    configs = [canonical(theory.Config(num_test=n), jnp.float64) for n in (5, 9)]
    small, large = (draw(jax.random.key(3), config) for config in configs)
    for a, b in zip(*map(jax.tree.leaves, (small.train, large.train)), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(*map(jax.tree.leaves, (small.test, large.test)), strict=True):
        assert (a.shape[0], b.shape[0]) == (5, 9)
        if np.allclose(a, 1 / 5):  # the weights of a mean
            np.testing.assert_allclose(b, 1 / 9)
        else:
            np.testing.assert_allclose(a, b[:5], rtol=1e-12)
