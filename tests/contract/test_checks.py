"""Every check of every theory passes, in float64, on examples with random values of their traced
fields.
"""

import pytest

import jaxtheory
from jaxtheory.theories import get, names

CHECKS = [(name, check.name) for name in names() for check in get(name).checks]


@pytest.mark.parametrize(("name", "check"), CHECKS)
def test_verify(name, check):
    table = jaxtheory.verify(get(name), seeds=2, only=[check])
    assert table.passed, [row for row in table.checks if not row.passed]
    assert all(row.tolerance <= 1e-11 for row in table.checks if row.kind == "equal")


@pytest.mark.parametrize("name", names())
def test_assumptions_have_margins(name):
    rows = jaxtheory.verify(get(name)._replace(checks=())).assumptions
    assert rows and all(
        isinstance(row.holds, bool) and isinstance(row.margin, float) for row in rows
    )
