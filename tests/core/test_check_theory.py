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


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "a/b", "", "x" * 300, "a.", "a\x1b[31m", 5])
def test_a_name_that_no_folder_can_have_is_refused_in_a_line(name):
    with pytest.raises(InputError, match=r"\ATheory: name = [^\n\x1b]+\Z"):
        check_theory(THEORY._replace(name=name))


@pytest.mark.parametrize(
    "broken", [{"dims": {"loss": ("a/b",)}}, {"algorithms": {"\x1b": THEORY.algorithms["sgd"]}}]
)
def test_names_of_dimensions_and_algorithms_can_be_stored_and_printed(broken):
    with pytest.raises(InputError, match=r"\A[^\n\x1b]+: must not contain [^\n\x1b]+\Z"):
        check_theory(THEORY._replace(**broken))
