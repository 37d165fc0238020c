"""The contract on `nearest_neighbor`."""

from jaxtheory.testing import parametrize_with_checks
from jaxtheory.theories import get

DERIVED = ("x", "q", "t")


@parametrize_with_checks(get("nearest_neighbor"), derived=DERIVED)
def test_contract(check):
    check()
