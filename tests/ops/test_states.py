"""Both routes to an entry at each position, a chain of selects and a gather, along either axis."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.ops.states import FEW, at_state


@pytest.mark.parametrize("states", [1, 2, FEW, FEW + 1])
def test_an_entry_at_each_position(states):
    draw = np.random.default_rng(7)
    x, s = draw.normal(size=(states, 5)), draw.integers(0, states, (9, 5), np.int32)
    s[0, 0], s[1, 0] = 0, states - 1
    expected = x[s, np.arange(5)[None, :]]
    assert np.array_equal(at_state(jnp.asarray(x), jnp.asarray(s), axis=0), expected)
    assert np.array_equal(at_state(jnp.asarray(x.T), jnp.asarray(s.T), axis=1), expected.T)
