"""CSV tables in which no string becomes a formula when a spreadsheet opens them."""

import csv
import io
from collections.abc import Sequence
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def cell(value: Any) -> Any:
    """Return a table entry, with an apostrophe before a string that would run as a formula.

    Numbers are kept, also those that are written as strings.
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def as_csv(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    """Return rows as CSV, below a header with the names of the columns."""
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(map(cell, columns))
    table.writerows([cell(row.get(name, "")) for name in columns] for row in rows)
    return text.getvalue()
