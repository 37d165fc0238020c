"""Every room states the conditions of its source."""

import jax
import pytest

from jaxtheory.theories import get, names


@pytest.mark.parametrize("name", names())
def test_a_room_states_its_assumptions(name):
    theory = get(name)
    stated = lambda key, config: theory.assumptions(theory.problem(key, config), config)
    key = jax.random.key(0)
    assert any(jax.eval_shape(stated, key, config) for config in theory.examples)
