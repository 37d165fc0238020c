"""Fields by name or symbol, and what is said of a misspelt one."""

import pytest
from helpers.example_config import Example

from jaxtheory import InputError
from jaxtheory.core.fields import fields, resolve
from jaxtheory.theories import get, names

WALK = get("random_walk")
SMALL = WALK.Config(num_states=5, length=17)


def test_fields_by_word_or_symbol():
    assert resolve(Example, "eta") == "rate" == resolve(Example, "rate")
    assert [f.kind for f in fields(Example).values()] == [
        "size",
        "traced",
        "traced",
        "evaluation",
        "static",
        "static",
    ]
    with pytest.raises(InputError, match="did you mean 'width'"):
        resolve(Example, "widht")


@pytest.mark.parametrize("name", names())
def test_a_field_goes_by_word_or_symbol_everywhere(name):
    theory = get(name)
    for word, field in fields(theory.Config).items():
        default = getattr(theory.Config(), word)
        by_symbol = theory.Config(**{field.symbol: default})
        assert by_symbol == theory.Config().replace(**{field.symbol: default}) == theory.Config()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: WALK.Config(num_stats=6), "'num_stats'; did you mean 'num_states'?"),
        (lambda: SMALL.replace(num_stats=6), "'num_stats'; did you mean 'num_states'?"),
        (lambda: SMALL.replace(K=5, num_states=5), r"num_states \(K\): given twice"),
        (lambda: WALK.Config(6, K=5), r"num_states \(K\): given twice"),
    ],
)
def test_a_misspelt_field_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
