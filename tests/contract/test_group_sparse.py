"""The contract on `group_sparse`."""

from jaxtheory.testing import parametrize_with_checks
from jaxtheory.theories import get

DERIVED = ("truth", "downstream_truth")


@parametrize_with_checks(get("group_sparse"), derived=DERIVED)
def test_contract(check):
    check()
