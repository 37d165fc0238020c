"""What the first command runs, and what the README says was measured."""

import re
from collections import Counter
from pathlib import Path

from jaxtheory import figures, theories

from .made_up import get

README = (Path(__file__).parents[2] / "README.md").read_text()
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


def test_the_readme_counts_the_claims_right():
    rows = re.findall(r"^\| \[`(\w+)`\].*?\| (\d+) of (\d+) \| (\d+) of (\d+) \|", README, re.M)
    assert {name for name, *_ in rows} == {*theories.names()}
    for name, *numbers in rows:
        claims = [c for e in ENTRIES.values() if e.theory == name for c in get(e.name).claims]
        found = Counter((claim.origin.kind, claim.expect) for claim in claims)
        for origin, (holds, of) in zip(
            ("printed", "interpretation"), (numbers[:2], numbers[2:]), strict=True
        ):
            assert int(holds) == found[origin, "holds"], (name, origin)
            assert int(of) == sum(n for (o, _), n in found.items() if o == origin), (name, origin)
    total = sum(len(get(name).claims) for name in ENTRIES)
    assert f"All {total} verdicts" in README
