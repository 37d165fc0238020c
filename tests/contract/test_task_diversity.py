"""The contract on `task_diversity`."""

from jaxtheory.testing import parametrize_with_checks
from jaxtheory.theories.task_diversity import THEORY

# tasks are normed, and labels are sums over features
DERIVED = ("tasks", "beta", "q", "y")


@parametrize_with_checks(THEORY, derived=DERIVED)
def test_contract(check):
    check()
