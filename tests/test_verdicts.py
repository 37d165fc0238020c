"""The page of verdicts, the counts in the README and the report are made from what runs have kept,
and agree.
"""

import importlib.util
import json
import re
from pathlib import Path

import pytest

import jaxtheory
from jaxtheory.claims import Judged
from jaxtheory.claims.verdict import Verdict
from jaxtheory.reports import page as report
from jaxtheory.reports import records, tally

DOCS = Path(__file__).parents[1] / "docs"
spec = importlib.util.spec_from_file_location("verdicts_page", DOCS / "verdicts.py")
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)
HOLDS = (True, False, None, True, True)
DECISIONS = {  # words of the page -> decision
    **dict.fromkeys(("holds", "holds as read"), "holds"),
    **dict.fromkeys(("refuted", "refuted as read", "does not hold"), "fails"),
    "undecided": "undecided",
}
TEXTS = ("question", "source", "store", "command", "setup", "model", "drawn")
RECORD = dict.fromkeys(TEXTS, "") | {"runs": {}, "versions": {}, "files": {}}
RECORD |= {"key": 0, "quick": False, "seconds": 1.0, "gradient": None, "stores": []}


@pytest.fixture
def store(tmp_path):
    """Records of all figures, with verdicts of every kind."""
    by_figure = {}
    for place, (figure, claim) in enumerate(page.entries()):
        verdict = Verdict(HOLDS[place % 5], 0.25, "[0.1, 0.2]", 8, (0.2, 0.3), "", 8, 8)
        judged = Judged(claim, verdict if place % 7 else None, "" if place % 7 else "not tested")
        by_figure.setdefault(figure, {})[claim.id] = records.record_claim(judged)
    theories = jaxtheory.figures.entries()
    for figure, claims in by_figure.items():
        content = RECORD | {
            "figure": figure,
            "theory": theories[figure].theory,
            "command": f"jaxtheory run {figure} --until-decided",
            "claims": claims,
        }
        (tmp_path / f"{figure}.json").write_text(json.dumps(content))
    return tmp_path


def rows_of(text):
    """The rows of the claims on a page of verdicts: id -> (figure, origin, verdict)."""
    lines = [line for line in text.splitlines() if re.match(r"\| [A-Z]{2}-\d+ \|", line)]
    cells = [line.replace("\\|", "/").strip("| ").split(" | ") for line in lines]
    return {row[0]: (row[1], row[2], row[-1].removesuffix(" (differs)")) for row in cells}


def counted(rows):
    """The number of claims that hold of each theory and origin, in the words of the README."""
    theories = jaxtheory.figures.entries()
    found = {}
    for figure, origin, words in rows.values():
        claim = {"origin": origin, "decision": DECISIONS.get(words, "not tested")}
        found.setdefault(theories[figure].theory, []).append(claim)
    return {
        (theory, origin): str(tally.tally(claims, origin))
        for theory, claims in found.items()
        for origin in tally.ORIGINS
    }


def told(readme):
    """The same from the README."""
    rows = re.findall(r"^\| \[`(\w+)`\].*?\|.*?\| ([^|]*) \| ([^|]*) \|", readme, re.M)
    assert {name for name, *_ in rows} == {*jaxtheory.theories.names()}
    return {
        (name, origin): cell
        for name, *cells in rows
        for origin, cell in zip(tally.ORIGINS, cells, strict=False)
    }


def test_every_claim_has_a_row_with_its_origin_and_verdict(store):
    written = page.page(0, store)
    rows = rows_of(written)
    assert [*rows] == [claim.id for _, claim in page.entries()]
    for place, (figure, claim) in enumerate(page.entries()):
        found = rows[claim.id]
        assert found[:2] == (figure, claim.origin.kind)
        decision = {True: "holds", False: "fails", None: "undecided"}[HOLDS[place % 5]]
        assert DECISIONS.get(found[2], "not tested") == (decision if place % 7 else "not tested")
    assert "from what `jaxtheory run all --until-decided` found" in written.replace("\n", " ")


def test_page_readme_and_report_agree(store):
    rows = rows_of(page.page(0, store))
    verdicts, _ = page.stored(store, 0)
    before = page.README.read_text(encoding="utf-8")
    after = page.readme(before, verdicts)
    want = counted(rows)
    for place, cell in told(after).items():
        assert want[place] == cell
    assert f"All {len(rows)} verdicts" in after
    html = report.report(store).read_text(encoding="utf-8")
    for theory in jaxtheory.theories.names():
        cells = re.search(rf'href="#theory-{theory}".*?</tr>', html, re.S)[0]
        found = [re.sub("<.*?>", "", cell) for cell in re.findall("<td.*?</td>", cells)]
        assert found == [
            want[theory, origin] if not want[theory, origin].endswith("of 0") else ""
            for origin in tally.ORIGINS
        ]
    wrong = f"{0.01 * tally.tally(verdicts.values()).decided:.2g}"
    assert f"{wrong} are expected to be" in after and f"{wrong} of these" in html


def test_a_page_may_name_figures_that_are_newer(store):
    text = page.page(0, store)
    assert page.newer(text) == []
    named = text.replace("\n\n", f"\n\n{page.NEWER}`walk_rate`,\n`walk_new`.\n\n", 1)
    assert page.newer(named) == ["walk_rate", "walk_new"]


def test_a_figure_that_was_not_run_is_an_error(store):
    (store / "walk_rate.json").unlink()
    with pytest.raises(FileNotFoundError):
        page.page(0, store)


def test_the_page_shows_the_claims_of_the_code_and_the_readme_counts_them():
    text = page.PAGE.read_text(encoding="utf-8")
    newer = page.newer(text)
    entries = [entry for entry in page.entries() if entry[0] not in newer]
    for entry in entries:
        start = "| " + " | ".join(page.of(*entry)) + " | "
        assert text.count(start) == 1, start
    rows = rows_of(text)
    assert len(rows) == len(entries)
    assert {*newer} <= {figure for figure, _ in page.entries()}
    want = counted(rows)
    readme = page.README.read_text(encoding="utf-8")
    assert told(readme) == {place: want[place] for place in told(readme)}
    assert f"All {len(rows)} verdicts" in readme


def test_the_table_of_the_ladders_has_the_claims_of_the_code():
    _, table, _ = page.LADDERS.read_text(encoding="utf-8").split(page.MARK)
    for figure, claim in page.rungs():
        name, _, _, statement, _, limit = page.of(figure, claim)
        start = " | ".join([f"| {name}", figure, statement, f"{limit} | "])
        assert table.count(start) == 1, start
    assert len(table.strip().splitlines()) == 2 + len(page.rungs())
