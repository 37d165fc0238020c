"""The contract on `positional_semantic`."""

from jaxtheory.testing import parametrize_with_checks
from jaxtheory.theories.positional_semantic import THEORY

DERIVED = ("target", "square", "direction", "position")  # scores, and normalized sums of squares


@parametrize_with_checks(THEORY, derived=DERIVED)
def test_contract(check):
    check()
