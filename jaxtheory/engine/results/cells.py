"""Tables as CSV that a spreadsheet takes for data: no text of a theory becomes a formula there."""

import csv
import io
from collections.abc import Sequence
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def cell(value: Any) -> Any:
    """A value of a table. A text that a spreadsheet would run as a formula gets an apostrophe in
    front; numbers stay numbers, those that are written as a text too.
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def as_csv(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    """Rows as CSV under a line of their columns."""
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(map(cell, columns))
    table.writerows([cell(row.get(name, "")) for name in columns] for row in rows)
    return text.getvalue()
