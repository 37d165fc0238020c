"""The built documentation in Chromium: `make docs`, then this file."""

from pathlib import Path

import pytest

from tests.helpers.browser import CONTRAST, OVERFLOW, chromium, emulate, errors, schemes

SITE = Path(__file__).parents[1] / "docs" / "_build" / "html"
PAGES = (
    "index",
    "quickstart",
    "random_walk",
    "attention_pruning",
    "in_context_regression",
    "derivations/random_walk",
    "verdicts",
    "gallery",
    "gallery/random_walk",
    "networks-ladders",
    "notebooks/your-theorem",
    "performance",
    "reference/names/plot",
)
# pictures that did not arrive or have no text for those who cannot see them
BLIND = """return [...document.images].filter(i => !i.closest("svg") && i.getClientRects().length)
  .filter(i => (i.loading = "eager", !i.complete || !i.naturalWidth) || !i.alt).map(i => i.src)"""
UNREAD = "return [...document.querySelectorAll('.katex-error')].map(e => e.textContent)"
# tables and code that can only be reached by a mouse
STUCK = """return [...document.querySelectorAll("article *")].filter(e =>
  e.scrollWidth > e.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(e).overflowX)
  && e.tabIndex < 0 && !e.querySelector("a, button, [tabindex]")).map(e => e.className)"""

pytestmark = pytest.mark.skipif(not SITE.is_dir(), reason="make docs has not built the pages")


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


def test_notebooks_were_executed():
    assert "jaxtheory.plot.panels" in (SITE / "reference" / "names" / "plot.html").read_text()
    for page in (SITE.parents[1] / "notebooks").glob("*-*.md"):
        built = (SITE / "notebooks" / f"{page.stem}.html").read_text()
        assert built.count("cell_output") >= 3, page.name


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_whole_and_readable(page, browser):
    for width in (1280, 390):
        for dark in (False, True):
            emulate(browser, width, dark)
            browser.get((SITE / f"{page}.html").as_uri())
            at = f"{width} pixels, {'dark' if dark else 'light'}"
            assert browser.execute_script(OVERFLOW) <= 0, at
            assert browser.execute_script(BLIND) == [], at
            assert browser.execute_script(UNREAD) == [], at
            worst, text = browser.execute_script(CONTRAST)
            assert worst >= 4.5, f"{at}: contrast {worst:.2f} of {text!r}"
            assert errors(browser) == [], at
            assert schemes(browser) <= {"file", "data"}, at


def test_verdicts_are_filtered(browser):
    from selenium.webdriver.support.ui import Select

    emulate(browser)
    browser.get((SITE / "verdicts.html").as_uri())
    shown = "return [...document.querySelectorAll('.claim')].filter(c => !c.hidden).length"
    everything = browser.execute_script(shown)
    selects = browser.find_elements("css selector", ".filters select")
    Select(selects[0]).select_by_value("random_walk")
    Select(selects[2]).select_by_value("fails")
    hits = browser.execute_script(shown)
    assert 0 < hits < everything
    assert f"{hits} of {everything}" in browser.find_element("css selector", ".filters output").text
    heading = "return [...document.querySelectorAll('#low-rank')].every(s => s.hidden)"
    assert browser.execute_script(heading)
    address = browser.execute_script("return location.href")
    browser.get("about:blank")
    browser.get(address)  # the address keeps what is shown
    assert browser.execute_script(shown) == hits
    browser.find_element("css selector", ".filters input").send_keys("no claim says zyx")
    assert browser.execute_script(shown) == 0


def test_claims_are_folded_but_for_printed_and_failed_ones(browser):
    emulate(browser)
    browser.get((SITE / "random_walk.html").as_uri() + "#rw-20")
    states = browser.execute_script(
        "return [...document.querySelectorAll('.claim')].map(c => "
        "[c.tagName, c.open, c.id, c.dataset.origin, c.dataset.verdict])"
    )
    for tag, is_open, name, origin, verdict in states:
        assert tag == "DETAILS"
        assert name == "rw-20" or is_open == (origin == "printed" or verdict == "fails"), name
    lines = "return [...document.querySelectorAll('.claim > summary')].map(s => s.innerText)"
    assert all(line.split()[0] in "✓✗?–" for line in browser.execute_script(lines))


def test_the_laws_answer_to_p_by_keyboard(browser):
    from selenium.webdriver.common.keys import Keys

    emulate(browser)
    browser.get((SITE / "random_walk.html").as_uri())
    slider = browser.find_element("css selector", ".direction input")
    said = browser.find_element("css selector", ".direction output")
    shown = ".direction .now .{}"
    places = [
        browser.find_element("css selector", shown.format(law)) for law in ("theorem", "root")
    ]
    assert slider.accessible_name == "Probability of a step clockwise, p"
    slider.send_keys(Keys.HOME)
    assert said.text.startswith("p = 0.50: Πᵀ says 1.00, √Πᵀ says 1.00; trained 1.00 (mean of ")
    assert places[0].get_attribute("cy") == places[1].get_attribute("cy")
    slider.send_keys(Keys.ARROW_RIGHT)
    assert said.text.endswith("trained 1.00 at p = 0.5 and 1.54 at p = 0.7")
    slider.send_keys(Keys.END)
    assert said.text.startswith("p = 0.95: Πᵀ says 19.00, √Πᵀ says 4.36; trained 4.56 (mean of ")
    assert float(places[0].get_attribute("cy")) < float(places[1].get_attribute("cy"))
    assert errors(browser) == []


def test_the_search_finds_a_word(browser):
    browser.get((SITE / "search.html").as_uri() + "?q=staircase")
    query = "return document.querySelectorAll('ul.search li').length"
    for _ in range(100):
        if browser.execute_script(query):
            return
        browser.execute_async_script("setTimeout(arguments[0], 100)")
    pytest.fail("the search finds nothing")
