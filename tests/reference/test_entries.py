"""Every entry that a theory computes has an independent derivation, and agrees with it."""

import pytest

import jaxtheory
from tests.reference import entries

OFTEN = 2  # cases of each theory in every run
ALL = [
    pytest.param(name, i, id=f"{name}-{case.name}", marks=[pytest.mark.slow] * (i >= OFTEN))
    for name in entries.THEORIES
    for i, case in enumerate(entries.cases(name))
]
COMPARED = [p for p in ALL if entries.cases(p.values[0])[p.values[1]].params]


@pytest.mark.parametrize(("name", "case"), COMPARED)
def test_entries(name, case):
    """metrics, analyses, baselines and predict."""
    for part in entries.parts(name, case):
        entries.compare(name, case, part)


@pytest.mark.parametrize(("name", "case"), ALL)
def test_draws(name, case):
    """problem and sample."""
    entries.compare_draws(name, case)


@pytest.mark.parametrize("name", jaxtheory.theories.names())
def test_no_entry_is_without_a_derivation(name):
    """All entries that the theory has on its own examples are compared on some case, but those of
    EXCEPTIONS, each with a reason. `compare` wants the same entries on both sides.
    """
    excepted = getattr(entries.reference(name), "EXCEPTIONS", {})
    compared = entries.names(name, [case.config for case in entries.cases(name) if case.params])
    theory = jaxtheory.theories.get(name)
    for which, names in entries.names(name, theory.examples).items():
        assert names <= compared[which] | {*excepted}, which
    assert all(excepted.values())
