"""Invalid values of a config: every violation with its field, value and range."""

import numpy as np
import pytest
from helpers.example_config import Example

from jaxtheory import InputError, Size, validate


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 1}, r"width \(d\) = 1: must be an integer in \[2, inf\)"),
        ({"rate": 0.0}, r"rate \(eta\) = 0.0: must be a number in \(0, 1\]"),
        ({"rate": float("nan")}, "= nan"),
        ({"rate": "fast"}, "must be a number"),
        ({"count": 2.5}, "must be an integer"),
        ({"cut": 1.0}, r"in \[0, 1\)"),
        ({"kind": "c"}, "choose one of 'a', 'b'"),
        ({"kind": np.zeros(2)}, "static: it must be a plain Python value"),
        ({"flag": 1}, "choose one of False, True"),
        ({"width": Size(4, 6)}, "exceeds its capacity"),
    ],
)
def test_validate_names_field_value_and_range(change, message):
    with pytest.raises(InputError, match=message):
        validate(Example(**change))


def test_validate_lists_every_violation_and_passes_good_configs():
    validate(Example())
    validate(Example(rate=1.0, width=2))
    with pytest.raises(InputError) as error:
        validate(Example(rate=2.0, cut=-1.0))
    assert len(str(error.value).splitlines()) == 2
