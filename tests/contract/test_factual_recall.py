"""The contract on `factual_recall`."""

from jaxtheory.testing import parametrize_with_checks
from jaxtheory.theories.factual_recall import THEORY

DERIVED = ("weight",)  # normalized sums of powers


@parametrize_with_checks(THEORY, derived=DERIVED)
def test_contract(check):
    check()
