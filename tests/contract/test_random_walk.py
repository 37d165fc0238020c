"""The contract on `random_walk`."""

from jaxtheory.testing import parametrize_with_checks
from jaxtheory.theories import get


@parametrize_with_checks(get("random_walk"), derived=())
def test_contract(check):
    check()
