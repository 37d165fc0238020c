"""Metrics, curves and draws against plain NumPy; the theory is not listed yet."""

import pytest

import jaxtheory
from jaxtheory.theories.in_context_regression import THEORY
from tests.reference import entries
from tests.reference.in_context_regression_entries import CASES

NAME = THEORY.name


@pytest.fixture(autouse=True)
def listed(monkeypatch):
    get = jaxtheory.theories.get
    monkeypatch.setattr(
        jaxtheory.theories, "get", lambda name: THEORY if name == NAME else get(name)
    )


@pytest.mark.parametrize("case", range(len(CASES)), ids=[case.name for case in CASES])
def test_entries(case):
    for part in entries.parts(NAME, case):
        entries.compare(NAME, case, part)


@pytest.mark.parametrize("case", range(len(CASES)), ids=[case.name for case in CASES])
def test_draws(case):
    entries.compare_draws(NAME, case)
