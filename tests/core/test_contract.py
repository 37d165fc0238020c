"""A mistake in a slot of a theory file gives one line with file, slot, expected and got."""

import functools

import optax
import pytest
from helpers.worked_example import THEORY

import jaxtheory
from jaxtheory import Check, InputError, check_theory
from jaxtheory.core.contract import ships
from jaxtheory.core.from_optax import standard
from jaxtheory.theories import get


def test_a_room_with_a_function_from_outside_is_not_trusted():
    room = get("low_rank")
    assert ships(room)
    assert not ships(room._replace(loss=lambda params, batch, problem, config: 0.0))
    for rule in (lambda config: optax.sgd(config.learning_rate), functools.partial(optax.sgd, 0.1)):
        own = {"own": jaxtheory.from_optax(room, rule)}
        assert not ships(room._replace(algorithms=room.algorithms | own))
    loose = standard(room.init, lambda params, batch, problem, config: params)
    assert not ships(room._replace(algorithms=room.algorithms | loose))
    for name in jaxtheory.figures.entries():
        theory = jaxtheory.figures.get(name).theory
        assert theory is None or ships(theory), name


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (
            {"sample": lambda key, config, problem: ()},
            r"sample: argument 2 is 'config', expected 'problem'",
        ),
        (
            {"loss": lambda params, problem, config: 0.0},
            r"loss: argument 2 is 'problem', expected 'batch'",
        ),
        ({"metrics": lambda params, problem: {}}, r"metrics takes 2 arguments"),
        ({"init": 3}, r"init is int, expected a function"),
        ({"algorithms": {}}, r"algorithms is empty"),
        ({"Config": dict}, r"Config: expected a subclass"),
        ({"checks": (Check("f: x", "s", "close", lambda key, config: None),)}, r"kind is 'close'"),
        (
            {"checks": (Check("f: x", "s", "equal", lambda key, config: None, 1e-3),)},
            r"hold to 1e-11",
        ),
    ],
)
def test_conform_names_what_is_wrong(broken, message):
    with pytest.raises(InputError, match=message):
        check_theory(THEORY._replace(**broken))
