"""Wrong versions of formulas must be caught by the checks that name them.

Each rows_*.py has ROWS of (theory, module, function, wrong): wrong(original) is a wrong version of
the function, put in place of it.
"""

import importlib
import importlib.util
from pathlib import Path

import pytest

import jaxtheory
from jaxtheory.theories import get


def load_rows():
    rows = []
    for file in sorted(Path(__file__).parent.glob("rows_*.py")):
        spec = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        rows += module.ROWS
    return rows


ROWS = load_rows()


@pytest.mark.parametrize(
    ("theory", "module", "function", "wrong"),
    ROWS,
    ids=[f"{t}-{f}-{w.__name__}-{i}" for i, (t, _, f, w) in enumerate(ROWS)],
)
def test_caught(monkeypatch, theory, module, function, wrong):
    theory = get(theory)
    naming = [c.name for c in theory.checks if c.name.partition(":")[0] == function]
    assert naming, f"no check names {function}"
    place = importlib.import_module(module)
    monkeypatch.setattr(place, function, wrong(getattr(place, function)))

    def fails(example):
        rows = jaxtheory.verify(theory._replace(examples=(example,)), seeds=2, only=naming).checks
        return any(
            not row.passed for row in rows if row.example >= 0
        )  # -1: the check does not speak about this example

    assert any(fails(example) for example in theory.examples)
