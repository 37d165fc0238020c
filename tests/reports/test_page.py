"""The page that `run` writes, in a browser without a window: no error, no request, a filter that
works, pictures, print.
"""

import base64
import functools
import json
from pathlib import Path

import jax
import pytest
from helpers.browser import chromium, errors, schemes

from jaxtheory.claims.result import run_figure
from jaxtheory.cli.main import main
from jaxtheory.cli.parsing import _load_figures
from jaxtheory.reports.page import records, report
from jaxtheory.reports.records import keep_record

FIGURES = str(Path(__file__).parents[1] / "data" / "figures.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder into which two figures were run, with a third record, of another theory."""
    place = tmp_path_factory.mktemp("results")
    assert main(["run", FIGURES, "--store", str(place)]) == 1
    other = json.loads((place / "bad.json").read_text())
    (claim,) = other["claims"].values()
    claim |= {"origin": "derived", "finding": "does not hold", "outcome": "as expected"}
    (place / "other.json").write_text(json.dumps(other | {"figure": "other", "theory": "z"}))
    report(place)
    return place


@pytest.fixture(scope="module")
def browser(folder):
    """Chromium on the page of the folder."""
    with chromium() as opened:
        opened.get((folder / "report.html").as_uri())
        yield opened


def test_a_run_leaves_pictures_numbers_and_a_record(folder):
    for suffix, begin in ((".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")):
        assert (folder / "good").with_suffix(suffix).read_bytes().startswith(begin)
    lines = (folder / "good.csv").read_text().splitlines()
    assert lines[0].startswith("panel,") and len(lines) > 2
    (_, bad), (_, good), (_, other) = records(folder)
    assert [r["figure"] for r in (bad, good, other)] == ["bad", "good", "other"]
    assert good["gradient"]["agrees"] and good["gradient"]["error"] < 1e-8
    assert good["versions"]["jax"] and good["runs"]["diverged"] == 0
    claim = good["claims"]["falls"]
    assert (claim["measured"], claim["interval"], claim["n"]) == (1, [1, 1], 4)
    assert claim["outcome"] == "as expected"


def test_a_repeated_run_keeps_what_was_measured(folder):
    before = json.loads((folder / "good.json").read_text())
    assert main(["run", FIGURES, "--store", str(folder)]) == 1
    after = json.loads((folder / "good.json").read_text())
    assert after == before | {"seconds": after["seconds"]}
    assert after["seconds"] >= before["seconds"]


def test_an_edited_gradient_is_compared_anew(tmp_path):
    """Training by autodiff does not use it, so the numbers are the same."""
    figure = _load_figures(FIGURES)[0]
    result = run_figure(figure, store=tmp_path / "run")
    keep = functools.partial(keep_record, key=0, quick=False, command="", seconds=1.0)
    assert keep(tmp_path / "a.json", result)["gradient"]["agrees"]

    def doubled(params, batch, problem, config):
        slope = figure.theory.gradient(params, batch, problem, config)
        return jax.tree.map(lambda x: 2 * x, slope)

    wrong = figure._replace(theory=figure.theory._replace(gradient=doubled))
    found = keep(tmp_path / "a.json", result._replace(figure=wrong))["gradient"]
    assert not found["agrees"]


def test_an_empty_folder_is_refused(tmp_path, capsys):
    (tmp_path / "other.json").write_text("[1]")
    assert main(["report", str(tmp_path)]) == 2
    assert "has no results" in capsys.readouterr().err


def test_the_page_stands_alone(folder):
    text = report(folder).read_text()
    assert "http://" not in text and "https://" not in text
    assert "2 differ from what is expected: wrong, rarely." in text


def test_it_links_to_explorer_pages_or_says_how_to_write_them(folder, capsys):
    store = Path(json.loads((folder / "good.json").read_text())["stores"][0])
    page, command = f'href="{store.name}/explore.html"', f"jaxtheory explore {store}"
    before = report(folder).read_text()
    assert command in before and page not in before
    assert main(["explore", str(store)]) == 0
    after = report(folder).read_text()
    assert page in after and f"<code>{command}</code>" not in after
    (store / "explore.html").unlink()
    report(folder)
    capsys.readouterr()
    assert main(["explore", str(folder)]) == 0  # which writes the report again
    pages = [folder / "explore.html", folder / "report.html"]
    assert capsys.readouterr().out == "".join(f"page      {file}\n" for file in pages)
    assert page in (folder / "report.html").read_text()
    for file in folder.glob("**/explore.html"):
        file.unlink()


def test_no_error_and_no_request(browser):
    assert errors(browser) == []
    asked = schemes(browser)
    assert asked and asked <= {"file", "data"}


def test_pictures_are_there_and_say_what_they_show(browser):
    sizes = browser.execute_script(
        "return [...document.images].map(i => [i.naturalWidth, i.alt.length])"
    )
    assert len(sizes) == 2 and all(width > 300 and alt > 20 for width, alt in sizes)


def test_the_filter_shows_what_is_asked(browser):
    shown = lambda: browser.execute_script(
        "return [...document.querySelectorAll('#table tbody tr')].filter(r => r.offsetHeight)"
        ".map(r => r.cells[0].innerText)"
    )
    choose = lambda name, value: browser.execute_script(
        "const f = document.getElementById('filter');"
        "f.elements[arguments[0]].value = arguments[1]; f.dispatchEvent(new Event('input'))",
        *(name, value),
    )
    everything = shown()
    assert everything == ["wrong", "falls", "rises", "rarely", "wrong"]
    for name, value, count in (
        ("group", "z", 1),
        ("finding", "does not hold", 1),
        ("finding", "holds", 4),
        ("origin", "derived", 1),
        ("words", "RARELY", 1),
        ("words", "no statement says this", 0),
    ):
        choose(name, value)
        assert len(shown()) == count, (name, value)
        text = browser.execute_script("return document.getElementById('shown').textContent")
        assert text == f"{count} of 5"
        choose(name, "")
    assert shown() == everything


def test_light_and_dark(browser):
    color = lambda: browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    before = color()
    browser.execute_script("document.getElementById('shade').click()")
    assert color() != before


def test_it_prints(browser):
    found = browser.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert base64.b64decode(found).startswith(b"%PDF")
