"""CSV tables in which no string becomes a formula in a spreadsheet, or steers a terminal."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from jaxtheory.texts.labels import visible

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def cell(value: Any) -> Any:
    """Return a table entry, with an apostrophe before a string that would run as a formula.

    Control characters are written as escapes, but for tabs and breaks of lines. Numbers are kept,
    also those that are written as strings.
    """
    if not isinstance(value, str):
        return value
    text = visible(value, allowed="\t\r\n")
    if not text.startswith(_FORMULA) and not text.lstrip().startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def as_csv(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    """Return rows as CSV, below a header with the names of the columns."""
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(map(cell, columns))
    table.writerows([cell(row.get(name, "")) for name in columns] for row in rows)
    return text.getvalue()
