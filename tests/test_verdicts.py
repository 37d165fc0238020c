"""The page of verdicts is made from what runs have kept."""

import importlib.util
import json
from pathlib import Path

import pytest

FILE = Path(__file__).parents[1] / "docs" / "verdicts.py"
spec = importlib.util.spec_from_file_location("verdicts_page", FILE)
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)


@pytest.fixture
def store(tmp_path):
    """Verdicts of all figures under keys 0 and 1; under key 1 one differs."""
    for key in ("", "-key1"):
        by_figure = {}
        for figure, claim in page.entries():
            by_figure.setdefault(figure, {})[claim.id] = {
                "measured": None if key else 0.25,
                "threshold": "[0.1, 0.2]",
                "n": 8,
                "finding": "refuted" if key else "holds",
                "outcome": "differs" if key and claim.id == "RW-1" else "as expected",
            }
        for figure, rows in by_figure.items():
            (tmp_path / f"{figure}{key}.json").write_text(
                json.dumps({"figure": figure, "claims": rows})
            )
    return tmp_path


def test_every_claim_has_a_row_with_its_origin_and_findings(store):
    lines = page.page([0, 1], store).splitlines()
    rows = {line.split(" | ")[0].strip("| "): line for line in lines}
    for figure, claim in page.entries():
        cells = rows[claim.id].replace("\\|", "/").strip("| ").split(" | ")
        statement = claim.statement.replace("|", "/")
        assert cells[:4] == [claim.id, figure, claim.origin.kind, statement]
        differs = " (differs)" if claim.id == "RW-1" else ""
        assert cells[-4:] == ["0.25", "holds", "", f"refuted{differs}"]
    assert sum(line.startswith("| printed |") for line in lines) == 1


def test_a_figure_that_was_not_run_is_an_error(store):
    (store / "walk_rate-key1.json").unlink()
    with pytest.raises(FileNotFoundError):
        page.page([0, 1], store)


def test_the_page_shows_the_claims_of_the_code():
    rows = [line for line in page.PAGE.read_text().splitlines() if line.startswith("| ")]
    shown = {"| " + " | ".join(page.of(*entry)) + " | " for entry in page.entries()}
    for start in shown:
        assert sum(row.startswith(start) for row in rows) == 1, start
    assert sum("-" in row.split(" | ")[0] for row in rows) == len(shown)
