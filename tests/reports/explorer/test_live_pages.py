"""Pages of a folder with stores, and pages that are written again while sweeps are computed."""

import re
import shutil
import threading

import pytest
from helpers.browser import OVERFLOW, chromium, emulate, errors, schemes, until
from helpers.stores import lose_dataset
from helpers.worked_example import THEORY, Config

from jaxtheory import InputError, sweep
from jaxtheory.reports.explorer import live_pages as module
from jaxtheory.reports.explorer.live_pages import Pages, watch

OPTIONS = {"vary": {"d": [2, 3]}, "seeds": 2, "steps": 3, "buckets": "exact"}


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    store = tmp_path_factory.mktemp("swept") / "store"
    sweep(THEORY, Config(), store=store, **OPTIONS)
    return store


@pytest.fixture
def folder(swept, tmp_path):
    """Two finished stores with names that need care in an address, and one that is damaged."""
    for name in ("one", "two #2 <b>"):
        shutil.copytree(swept, tmp_path / name)
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "manifest.json").write_text("{}")
    return tmp_path


def unfinished(store):
    """Take the dataset and the last part away; return what puts the part back."""
    lose_dataset(store)
    last = sorted((store / "parts").glob("*.part"))[-1]
    away = last.rename(last.with_suffix(".kept"))
    return lambda: away.rename(last)


def test_a_folder_has_a_page_for_each_store_and_one_that_lists_them(folder):
    messages = []
    pages = Pages(folder)
    assert pages.update(tell=messages.append) and not pages.single
    text = pages.file.read_text()
    assert pages.file == folder / "explore.html" and "http-equiv" in text
    assert 'href="one/explore.html"' in text and 'href="two%20%232%20%3Cb%3E/explore.html"' in text
    assert "two #2 &lt;b&gt;" in text and "<b>" not in text
    assert len(messages) == 1 and "manifest.json cannot be read" in messages[0]
    assert "manifest.json cannot be read" in text and "torn/explore.html" not in text
    assert (folder / "two #2 <b>" / "explore.html").is_file()
    assert not pages.update(tell=messages.append) and len(messages) == 1  # nothing has changed


def test_a_new_store_is_found(folder, swept):
    pages = Pages(folder)
    pages.update()
    shutil.copytree(swept, folder / "third")
    assert pages.update() and "third/explore.html" in pages.file.read_text()


def test_pages_are_written_beside_a_file(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "all.html"
    Pages(folder, out).update()
    assert {file.name for file in out.with_suffix("").iterdir()} == {"one.html", "two #2 <b>.html"}
    assert 'href="all/one.html"' in out.read_text()
    assert not list(folder.glob("**/explore.html"))


def test_a_folder_without_a_whole_store_is_refused(folder):
    for name in ("one", "two #2 <b>"):
        shutil.rmtree(folder / name)
    with pytest.raises(InputError, match="none of its stores can be shown"):
        Pages(folder).update()


def test_a_store_without_a_finished_run_is_refused_without_watch(folder):
    unfinished(folder / "one")
    for file in (folder / "one" / "parts").glob("*.part"):
        file.unlink()
    pages = Pages(folder / "one")
    with pytest.raises(InputError, match="no run is finished yet; --watch waits for the first"):
        pages.update()
    pages = Pages(folder / "one")
    assert pages.update(refresh=2.0) and '"finished": 0' in pages.file.read_text()


def test_a_page_is_written_again_until_the_sweep_is_finished(folder):
    store = folder / "one"
    put_back = unfinished(store)
    pages, begun, messages = Pages(store), threading.Event(), []
    follower = threading.Thread(target=watch, args=(pages, 0.1, messages.append, begun.set))
    follower.start()
    try:
        assert begun.wait(60)
        facts = lambda: re.findall(r'"(finished|refresh)": ([\d.]+)', pages.file.read_text())
        first = dict(facts())
        assert 0 < int(first["finished"]) < 4 and first["refresh"] == "0.1"
        put_back()
        until(lambda: dict(facts())["finished"] == "4")
        assert dict(facts())["refresh"] == "0.1"  # not assembled yet
        sweep(THEORY, Config(), store=store, **OPTIONS)
    finally:
        follower.join(60)
    assert not follower.is_alive() and pages.finished and not messages
    assert dict(facts()) == {"finished": "4", "refresh": "0.0"}


def test_an_interrupted_watch_leaves_pages_that_do_not_reload(folder, monkeypatch):
    unfinished(folder / "one")

    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(module.time, "sleep", interrupt)
    for place in (folder / "one", folder):
        pages = Pages(place)
        with pytest.raises(KeyboardInterrupt):
            watch(pages, 0.5, lambda sentence: None, lambda: None)
        assert '"refresh": 0.0' in (folder / "one" / "explore.html").read_text()
    assert "location.reload()" not in (folder / "explore.html").read_text()


def test_the_list_in_a_browser(folder):
    pages = Pages(folder)
    pages.update(refresh=30.0)
    with chromium() as browser:
        for width in (1280, 390):
            emulate(browser, width)
            browser.get(pages.file.as_uri())
            assert browser.execute_script(OVERFLOW) <= 0
        assert errors(browser) == [] and schemes(browser) <= {"file", "data"}
        browser.find_element("link text", "two #2 <b>").click()
        name = until(lambda: browser.find_element("id", "name").text)
        assert name.endswith(": two #2 <b>")
