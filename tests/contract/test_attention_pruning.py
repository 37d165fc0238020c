"""The contract on `attention_pruning`."""

from jaxtheory.testing import parametrize_with_checks
from jaxtheory.theories import get

DERIVED = ("query", "key", "weights")


@parametrize_with_checks(get("attention_pruning"), float32=2e-4, derived=DERIVED)
def test_contract(check):
    check()
