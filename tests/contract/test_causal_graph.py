"""The contract on `causal_graph`."""

from jaxtheory.testing import parametrize_with_checks
from jaxtheory.theories.causal_graph import THEORY


@parametrize_with_checks(THEORY)
def test_contract(check):
    check()
