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
    few, many = (draw(jax.random.key(3), config) for config in configs)
    for one, other in zip(*map(jax.tree.leaves, (few.train, many.train)), strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(*map(jax.tree.leaves, (few.test, many.test)), strict=True):
        assert (one.shape[0], other.shape[0]) == (5, 9)
        if np.allclose(one, 1 / 5):  # the weights of a mean
            np.testing.assert_allclose(other, 1 / 9)
        else:
            np.testing.assert_allclose(one, other[:5], rtol=1e-12)
