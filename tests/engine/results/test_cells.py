"""No text of a theory becomes a formula in a spreadsheet, and numbers stay numbers."""

import csv
import io

import pytest

from jaxtheory.engine.results.cells import as_csv, cell

HOSTILE = [
    "=1+1",
    "+x",
    "-x",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "-2+3",
    "=HYPERLINK(1)",
    "-",
    " =1",
    "\xa0=1",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_formula_is_neutralised(text):
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize(
    "value", [-0.5, "-0.5", "+1e-3", "-inf", -3, None, "x=1", "a-b", "", "1-2"]
)
def test_other_values_stay(value):
    assert cell(value) is value


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\x1b[2Jb", r"a\x1b[2Jb"), ("\x1b=1", r"\x1b=1"), ("\x00", r"\x00"), ("\x9b1m", r"\x9b1m")],
)
def test_no_cell_steers_a_terminal(text, shown):
    assert cell(text) == shown
    assert "\x1b" not in as_csv([text], [{text: text}])


def test_a_table_reads_back():
    text = as_csv(["=name", "x"], [{"=name": "-a", "x": -0.5}, {"x": 'say "no", or\nyes'}])
    header, first, second = csv.reader(io.StringIO(text, newline=""))
    assert header == ["'=name", "x"] and first == ["'-a", "-0.5"]
    assert second == ["", 'say "no", or\nyes']
