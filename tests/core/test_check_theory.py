"""A record with a wrong slot is refused, with a line that names the slot."""

import pytest
from helpers.worked_example import THEORY

from jaxtheory import Check, InputError, check_theory


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
        ({"init": 3}, r"init is a int, expected a function"),
        ({"algorithms": {}}, r"algorithms is empty"),
        ({"Config": dict}, r"Config: expected a subclass"),
        ({"checks": (Check("f: x", "s", "close", lambda key, config: None),)}, r"kind is 'close'"),
        (
            {"checks": (Check("f: x", "s", "equal", lambda key, config: None, 1e-3),)},
            r"at most 1e-11 for kind 'equal'",
        ),
    ],
)
def test_conform_names_what_is_wrong(broken, message):
    with pytest.raises(InputError, match=message):
        check_theory(THEORY._replace(**broken))
