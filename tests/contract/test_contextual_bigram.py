"""The contract on `contextual_bigram`."""

from jaxtheory.testing import parametrize_with_checks
from jaxtheory.theories import get

DERIVED = ("transition", "stationary", "context", "pretrained")


@parametrize_with_checks(get("contextual_bigram"), derived=DERIVED)
def test_contract(check):
    check()
