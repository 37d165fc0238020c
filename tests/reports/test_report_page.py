"""The page that `run` writes, in a browser without a window: no error, no request, pictures, a
choice of claims that works, narrow and wide, light and dark, by keyboard, in print.
"""

import base64
import functools
import json
import re
import shutil
from pathlib import Path

import jax
import pytest
from helpers.browser import CONTRAST, OVERFLOW, chromium, emulate, errors, schemes, until
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from jaxtheory.claims.result import run_figure
from jaxtheory.cli.main import main
from jaxtheory.cli.words.parsing import _load_figures
from jaxtheory.reports.report_page import records, report
from jaxtheory.reports.run_files import keep_record

FIGURES = str(Path(__file__).parents[1] / "data" / "figures.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder into which two figures were run, with a third record, of another theory."""
    place = tmp_path_factory.mktemp("results")
    assert main(["run", FIGURES, "--store", str(place)]) == 1
    record = json.loads((place / "bad.json").read_text())
    (claim,) = record["claims"].values()
    claim |= {"origin": "derived", "finding": "does not hold", "outcome": "as expected"}
    (place / "other.json").write_text(json.dumps(record | {"figure": "other", "theory": "z"}))
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
    (_, bad), (_, good), (_, extra) = records(folder)
    assert [r["figure"] for r in (bad, good, extra)] == ["bad", "good", "other"]
    assert good["gradient"]["agrees"] and good["gradient"]["error"] < 1e-8
    assert good["versions"]["jax"] and good["runs"]["diverged"] == 0
    claim = good["claims"]["falls"]
    assert (claim["measured"], claim["interval"], claim["n"]) == (1, [1, 1], 49)
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
    gradient = keep(tmp_path / "a.json", result._replace(figure=wrong))["gradient"]
    assert not gradient["agrees"]


def test_an_empty_folder_is_refused(tmp_path, capsys):
    (tmp_path / "other.json").write_text("[1]")
    assert main(["report", str(tmp_path)]) == 2
    assert "has no results" in capsys.readouterr().err


def test_the_page_stands_alone(folder):
    text = report(folder).read_text()
    assert "http://" not in text and "https://" not in text
    words = " ".join(re.sub("<[^>]*>", "", text).split())
    assert "5 claims in 3 figures of 2 theories: 5 hold" in words
    assert "2 differ from what is expected: wrong, rarely." in words


def test_the_title_of_a_drawing_is_its_finding(folder):
    assert [record["title"] for _, record in records(folder)] == ["The loss L_0 falls"] * 3
    page = (folder / "report.html").read_text()
    assert '<p class="finding">The loss L<sub>0</sub> falls</p>' in page


def test_the_main_figure_of_a_theory_comes_first(folder, tmp_path):
    for file in (*folder.glob("*.json"), *folder.glob("*.png")):
        shutil.copy(file, tmp_path)
    record = json.loads((folder / "good.json").read_text())
    main_one = record | {"figure": "walk_circles", "theory": "random_walk"}
    (tmp_path / "zz.json").write_text(json.dumps(main_one))
    (tmp_path / "good.json").write_text(json.dumps(record | {"theory": "random_walk"}))
    text = report(tmp_path).read_text()
    assert re.findall('<h2 id="(.*?)"', text)[0] == "theory-random_walk"
    assert re.findall('class="figure" id="(.*?)"', text) == ["zz", "good", "bad", "other"]


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
    requests = schemes(browser)
    assert requests and requests <= {"file", "data"}


def test_pictures_are_there_and_say_what_they_show(browser):
    sizes = browser.execute_script(
        "return [...document.images].map(i => [i.complete, i.naturalWidth, i.alt.length])"
    )
    assert len(sizes) == 2
    assert all(loaded and width > 300 and alt > 20 for loaded, width, alt in sizes)


SHOWN = """return [...document.querySelectorAll(".claim")]
  .filter(c => c.checkVisibility({contentVisibilityAuto: true}))
  .map(c => c.querySelector("strong").innerText)"""


def test_the_claims_that_are_chosen_are_shown(browser, folder):
    browser.get((folder / "report.html").as_uri())
    shown = lambda: browser.execute_script(SHOWN)
    choose = lambda name, value: browser.execute_script(
        "const f = document.getElementById('filter');"
        "f.elements[arguments[0]].value = arguments[1]; f.dispatchEvent(new Event('input'))",
        *(name, value),
    )
    before = shown()
    assert before == ["wrong", "wrong"]  # the claims of "good" are folded
    for name, value, names in (
        ("theory", "z", ["wrong"]),
        ("verdict", "holds", ["wrong", "falls", "rises", "rarely", "wrong"]),
        ("origin", "derived", ["wrong"]),
        ("words", "RARELY", ["rarely"]),
        ("words", "no statement says this", []),
    ):
        choose(name, value)
        assert shown() == names, (name, value)
        text = browser.execute_script("return document.getElementById('shown').textContent")
        assert text == f"({len(names)} of 5)"
        choose(name, "")
    assert shown() == before


def test_an_address_opens_what_is_folded(browser, folder):
    for fragment in ("good", "good.rises"):
        browser.get("about:blank")
        browser.get(f"{(folder / 'report.html').as_uri()}#{fragment}")
        assert "rises" in browser.execute_script(SHOWN)
        query = f"return document.getElementById('{fragment}').getBoundingClientRect().top"
        assert -1 < browser.execute_script(query) < 800


UNFOLD = "for (const one of document.querySelectorAll('details')) one.open = true"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_and_can_be_read(browser, folder, width, dark):
    emulate(browser, width, dark)
    browser.get((folder / "report.html").as_uri())
    browser.execute_script(UNFOLD)
    assert browser.execute_script(OVERFLOW) <= 0
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    worst, text = browser.execute_script(CONTRAST)
    assert worst >= 4.5, text
    color = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (color == "rgb(255, 255, 255)") != dark
    assert errors(browser) == []


FOCUS = """const e = document.activeElement, style = getComputedStyle(e);
return [[...document.querySelectorAll("*")].indexOf(e), style.outlineStyle];"""
REACHED = """return [
  ...document.querySelectorAll("a[href], summary, select, input, [tabindex='0']")
].filter(e => e.checkVisibility()).map(e => [...document.querySelectorAll("*")].indexOf(e))"""


def test_all_is_reached_by_keyboard(browser, folder):
    emulate(browser)
    browser.get((folder / "report.html").as_uri())
    browser.execute_script(UNFOLD)
    wanted, reached = {*browser.execute_script(REACHED)}, set()
    assert len(wanted) > 20
    for _ in range(2 * len(wanted)):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        place, outline = browser.execute_script(FOCUS)
        reached.add(place)
        assert place not in wanted or outline == "solid"
    assert wanted <= reached


def test_an_interactive_figure_is_shown_where_its_page_is(browser, folder):
    store = Path(json.loads((folder / "good.json").read_text())["stores"][0])
    assert main(["explore", str(store)]) == 0
    report(folder)
    browser.get((folder / "report.html").as_uri())
    errors(browser), schemes(browser)
    browser.execute_script(UNFOLD)
    frames = browser.find_elements("tag name", "iframe")
    assert frames
    browser.execute_script("arguments[0].scrollIntoView()", frames[0])
    browser.switch_to.frame(frames[0])
    until(lambda: browser.execute_script("return document.documentElement.dataset.drawn"))
    browser.switch_to.default_content()
    assert errors(browser) == [] and schemes(browser) <= {"file", "data"}
    (store / "explore.html").unlink()
    report(folder)


def test_it_prints_what_is_folded(browser, folder):
    browser.get((folder / "report.html").as_uri())
    pdf = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert pdf.startswith(b"%PDF")
    open_ones = "return [...document.querySelectorAll('details')].filter(d => d.open).length"
    assert browser.execute_script(open_ones) == 0
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert "rises" in browser.execute_script(SHOWN)
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert browser.execute_script(open_ones) == 0
