"""Claims: a wrong argument is refused with the name of the claim."""

import pytest

from jaxtheory import Claim, InputError
from jaxtheory.claims import at_least, printed


def make(id="x", **options):
    """A claim, with what a test does not care about filled in."""
    return Claim(
        id,
        **{
            "origin": printed("source", "place"),
            "statement": "“words”",
            "measure": lambda data: data.loss,
            "bound": at_least(1.0),
            **options,
        },
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"origin": "printed"}, r"claim x: origin must be printed\(source, place\)"),
        ({"origin": printed("s")._replace(kind="printd")}, "origin = 'printd'; did you mean"),
        ({"measure": 3}, "claim x: measure must be a function, got 3"),
        ({"bound": 0.3}, r"claim x: bound must be at_least\(x\), at_most\(x\) or between"),
        ({"q": 2}, r"claim x: q = 2: must be a number in \(0, 1\]"),
        ({"diverged": "violate"}, "claim x: diverged = 'violate'; did you mean 'violates'?"),
        ({"panel": "1"}, "claim x: panel must be an integer or None, got '1'"),
        ({"panel": True}, "claim x: panel must be an integer or None, got True"),
        ({"expect": "hold"}, "claim x: expect = 'hold'; did you mean 'holds'?"),
    ],
)
def test_a_claim_with_a_wrong_argument_is_refused_by_its_name(options, message):
    with pytest.raises(InputError, match=message):
        make(**options)
