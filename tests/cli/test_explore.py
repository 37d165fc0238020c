"""The command `jaxtheory explore`: what it prints, opens and refuses."""

import importlib.util
import re
import shutil
import webbrowser
from pathlib import Path

import pytest
from helpers.stores import lose_dataset
from helpers.worked_example import EXAMPLE

from jaxtheory.cli.main import main
from jaxtheory.reports.explorer import live_pages


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    store = tmp_path_factory.mktemp("swept") / "store"
    words = ["sweep", str(EXAMPLE), "--vary", "eta=.1,.2", "--seeds", "2", "--steps", "4"]
    assert main([*words, "--store", str(store)]) == 0
    return store


@pytest.fixture
def store(swept, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(swept, tmp_path / "store").relative_to(tmp_path)


def test_the_page_is_written_and_opened(store, capsys, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: not opened.append(address))
    assert main(["explore", "store", "--open"]) == 0
    assert capsys.readouterr().out == "page      store/explore.html\n"
    assert opened == [Path("store/explore.html").resolve().as_uri()]
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    assert main(["explore", "store/data.zarr", "--open", "--to", "other.html"]) == 0
    assert "no web browser was found; open other.html yourself" in capsys.readouterr().err
    assert Path("other.html").is_file()


def test_watching_a_finished_store_ends_at_once(store, capsys):
    assert main(["explore", "store", "--watch"]) == 0
    assert capsys.readouterr().out == "page      store/explore.html\nfinished\n"


def test_an_interrupted_watch_exits_with_130(store, capsys, monkeypatch):
    lose_dataset(store)

    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(live_pages.time, "sleep", interrupt)
    assert main(["explore", "store", "--watch", "--every", "0.5"]) == 130
    assert capsys.readouterr().err == "interrupted\n"
    assert Path("store/explore.html").is_file()


def test_a_folder_has_a_page_that_lists_its_stores(store, capsys):
    assert main(["explore", "."]) == 0
    assert capsys.readouterr().out == "page      explore.html\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nowhere"], "nowhere: no such directory"),
        (["empty"], "empty has no store of a sweep"),
        (["store/manifest.json"], "store/manifest.json is a file"),
        (["torn"], "torn/manifest.json cannot be read"),
        (["store", "--to", "data.txt"], "choose a name that ends in .html"),
        (["store", "--to", "no/page.html"], "No such file or directory"),
        (["store", "--watch", "--every", "0"], "--every 0: must be in [0.1, 3600] seconds"),
    ],
)
def test_bad_input_is_one_sentence(words, why, store, capsys):
    Path("empty").mkdir()
    Path("torn").mkdir()
    Path("torn/manifest.json").write_text("{")
    assert main(["explore", *words]) == 2
    said = capsys.readouterr()
    assert why in said.err and said.err.count("\n") == 1 and not said.out


def test_a_missing_package_is_one_sentence(store, capsys, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "plotly" else find(name)
    )
    assert main(["explore", "store"]) == 2
    wanted = "explore needs the package plotly: pip install 'jaxtheory[explore]'\n"
    assert capsys.readouterr().err == wanted


def test_the_help_fits_100_columns(capsys):
    assert main(["explore", "--help"]) == 0
    lines = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out).splitlines()
    assert len(lines) > 10 and max(map(len, lines)) <= 100
