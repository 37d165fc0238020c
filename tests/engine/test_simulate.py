"""`simulate`: one run."""

import pytest
from helpers.worked_example import THEORY, Config

import jaxtheory
from jaxtheory import InputError, run_key, simulate
from jaxtheory.theories import get

WALK, KEY = get("random_walk"), jaxtheory.run_key(0, 0)
SMALL = WALK.Config(num_states=5, length=17)


def test_a_config_of_another_theory_is_refused():
    with pytest.raises(InputError, match="pass a Config of linear_regression"):
        simulate(THEORY, jaxtheory.theories.get("random_walk").Config(), run_key(0, 0), steps=1)
    with pytest.raises(InputError, match="run_key"):
        simulate(THEORY, Config(), 0, steps=1)


def test_steps_may_be_given_by_position():
    run = jaxtheory.simulate(WALK, SMALL, KEY, 3)
    assert run.steps.tolist() == [0, 1, 2, 3]
