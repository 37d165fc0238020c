"""The contract on `low_rank`."""

from jaxtheory.testing import parametrize_with_checks
from jaxtheory.theories import get

# tokens over norms, and Gram-Schmidt; Gaussian tokens are bit for bit (tests/theories/low_rank)
DERIVED = ("tokens", "basis")


@parametrize_with_checks(get("low_rank"), derived=DERIVED)
def test_contract(check):
    check()
