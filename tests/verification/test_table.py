"""Rows and tables of `verify`."""

import pytest

from jaxtheory.verification.table import AssumptionRow, CheckRow, Table

ROW = CheckRow(0, "loss: below", "(3)", "bound", -0.2, 0.0, True)


@pytest.mark.parametrize(
    ("changes", "remark"),
    [
        ({}, "reaches 0.8 of it"),
        ({"error": -0.7}, "loose: 0.3 of it"),
        ({"error": -3.0}, "loose: 0 of it"),
        ({"error": float("nan")}, ""),
        ({"kind": "equal"}, ""),
        ({"passed": False, "where": "got 3, want 2"}, "got 3, want 2"),
    ],
)
def test_a_remark_tells_how_tight_a_bound_is_or_where_a_check_fails(changes, remark):
    assert ROW._replace(**changes).remark == remark


def test_a_table_passes_if_it_has_checks_and_all_passed():
    failed = ROW._replace(passed=False)
    violated = [AssumptionRow(0, "small rate", False, -1.0)]
    passes = [Table(rows, violated).passed for rows in ([], [ROW], [ROW, failed])]
    assert passes == [False, True, False]
