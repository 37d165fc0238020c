"""`jaxtheory.explore` of a dataset, of a store and of a folder."""

from pathlib import Path

import pytest
import xarray as xr
from helpers.explored import explorer_dataset

import jaxtheory
from jaxtheory import InputError


def test_a_dataset_is_written_to_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = explorer_dataset(seeds=2, steps=3, side=2)
    assert jaxtheory.explore(data) == Path("explore.html")
    page = jaxtheory.explore(data, tmp_path / "walk.htm")
    assert page == tmp_path / "walk.htm" and page.read_text().startswith("<!doctype html>")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["explore.html", "walk.htm"]


def test_a_store_has_its_page_inside(tmp_path):
    store = tmp_path / "store"
    theory = jaxtheory.theories.get("random_walk")
    config = theory.Config(num_states=4, length=9)
    jaxtheory.sweep(theory, config, steps=2, store=store)
    assert jaxtheory.explore(str(store)) == store / "explore.html"
    assert jaxtheory.explore(tmp_path) == tmp_path / "explore.html"
    jaxtheory.sweep(theory, config, steps=2, store=store)  # the store is as good as before


@pytest.mark.parametrize("to", ["page.txt", "page", "no/such/folder/page.html", "taken.html"])
def test_other_files_are_refused(to, tmp_path):
    (tmp_path / "taken.html").mkdir()
    with pytest.raises(InputError):
        jaxtheory.explore(explorer_dataset(seeds=2, steps=3, side=2), tmp_path / to)


def test_what_cannot_be_shown_is_refused(tmp_path):
    for data in (xr.Dataset(), tmp_path, tmp_path / "nowhere", 3):
        with pytest.raises(InputError):
            jaxtheory.explore(data, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []
