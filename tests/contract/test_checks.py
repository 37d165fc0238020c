"""Every check of every theory passes, in float64, on examples with random values of their traced fields."""

import pytest

import jaxtheory
from jaxtheory.theories import get, names


@pytest.mark.parametrize("name", names())
def test_verify(name):
    table = jaxtheory.verify(get(name), seeds=2)
    assert table.passed, [row for row in table.checks if not row.passed]
    assert all(row.tolerance <= 1e-11 for row in table.checks if row.kind == "equal")
