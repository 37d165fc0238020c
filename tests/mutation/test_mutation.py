"""Wrong versions of formulas are caught by the checks that name them (`mutants.py` says which).

Here the mistakes written by hand; `make mutation` tries those and every function times a factor.
"""

import sys
from pathlib import Path

import pytest

import jaxtheory
from jaxtheory.theories import get

sys.path.insert(0, str(Path(__file__).parent))
import mutants

ROWS = [(name, *row) for name in jaxtheory.theories.names() for row in mutants.rows_of(name).ROWS]
OFTEN = 8  # of so many mistakes one is tried in every run
PARAMS = [
    pytest.param(
        *row,
        id=f"{row[0]}-{row[3]}-{row[4].__name__}-{i}",
        marks=[pytest.mark.slow] * (i % OFTEN > 0),
    )
    for i, row in enumerate(ROWS)
]


@pytest.mark.parametrize(("name", "theory", "module", "function", "wrong"), PARAMS)
def test_caught(name, theory, module, function, wrong):
    assert theory == name
    mutant = mutants.try_row(get(theory), module, function, wrong)
    explained = getattr(mutants.rows_of(name), "EXPLAINED", {})
    assert mutant.killed_by or f"{mutant.function}: {mutant.change}" in explained
