"""What the first command runs."""

from jaxtheory import figures, theories

from .made_up import get

ENTRIES = figures.entries()


def test_each_theory_has_one_headline_with_claims_and_seeds():
    named = [ENTRIES[name] for name in figures.headlines()]
    assert sorted(entry.theory for entry in named) == sorted(theories.names())
    for entry in named:
        figure = get(entry.name)
        assert figure.claims and figure.sweep["seeds"] >= 8, entry.name
        assert figures.seconds(entry.name), entry.name


def test_known_times_are_of_figures_that_exist():
    assert {*figures._measured()} <= {*ENTRIES}
    assert figures.seconds("no_such_figure") is None
