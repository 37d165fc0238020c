"""The contract on `in_context_regression`."""

from jaxtheory.testing import parametrize_with_checks
from jaxtheory.theories.in_context_regression import THEORY


@parametrize_with_checks(THEORY)
def test_contract(check):
    check()
