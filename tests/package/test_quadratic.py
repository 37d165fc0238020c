"""The package's own tests: nothing but the contract."""

from strangers_quadratic import THEORY

from jaxtheory.testing import parametrize_with_checks


@parametrize_with_checks(THEORY)
def test_theory(check):
    check()
