"""Both routes to an entry at each position: a chain of selects for few states, and a gather."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.theories.causal_graph import model


@pytest.mark.parametrize("states", [2, model.FEW, model.FEW + 1])
def test_an_entry_at_each_position(states):
    draw = np.random.default_rng(7)
    x, s = draw.normal(size=(states, 5)), draw.integers(0, states, (9, 5), np.int32)
    s[0, 0], s[1, 0] = 0, states - 1
    got = model.at_state(jnp.asarray(x), jnp.asarray(s))
    assert np.array_equal(got, x[s, np.arange(5)[None, :]])
