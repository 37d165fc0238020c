"""Bounds: their thresholds, and the numbers that they refuse."""

import pytest

from jaxtheory import InputError
from jaxtheory.claims import at_least, at_most, between
from jaxtheory.claims.bound import require_bound


def test_bounds_show_their_thresholds():
    assert at_least(2).threshold == 2.0 and at_most(-1.0).threshold == -1.0
    assert between(0, 0.5).threshold == "[0, 0.5]"


def test_what_is_not_a_bound_is_refused():
    assert require_bound(at_least(2)) == at_least(2)
    for wrong in (0.5, (0.0, 1.0), None):
        with pytest.raises(InputError, match=r"bound must be at_least\(x\), at_most\(x\) or betw"):
            require_bound(wrong)


@pytest.mark.parametrize(
    ("make_bound", "message"),
    [
        (lambda: at_least("x"), "at_least: the bound must be a number, got 'x'"),
        (lambda: at_most(float("nan")), "at_most: the bound must be a number"),
        (lambda: between(2, 1), "between: low = 2 must be at most high = 1"),
    ],
)
def test_a_bound_is_made_of_numbers_in_order(make_bound, message):
    with pytest.raises(InputError, match=message):
        make_bound()
