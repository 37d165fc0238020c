"""Datasets of a store are published once; the newest is opened and shown."""

import shutil

import pytest
import xarray as xr
from helpers.stores import dataset_folder, lose_dataset

import jaxtheory
from jaxtheory import InputError, open_store
from jaxtheory.engine.store import datasets
from jaxtheory.engine.store.store import Store
from tests.helpers.quadratic import THEORY, Config

ASKED = {"vary": {"eta": [0.1, 0.2]}, "steps": 3}


def swept(store, seeds):
    return jaxtheory.sweep(THEORY, Config(), **ASKED, seeds=seeds, store=store)


@pytest.fixture
def store(tmp_path):
    swept(tmp_path / "a", 2)
    return tmp_path / "a"


def test_the_newest_dataset_is_opened_and_shown(store):
    for seeds in (3, 4):
        data = swept(store, seeds)
        swept(store, 2)  # what is read again is not newer
        assert open_store(store).identical(data) and open_store(str(store)).identical(data)
        assert xr.open_zarr(store / "data.zarr").load().identical(data)
        assert open_store(store / "data.zarr").identical(data)
    assert len(list((store / "data").glob("*/"))) == 3  # of 2, 3 and 4 seeds


def test_what_is_shown_takes_no_space_and_is_shown_again(store):
    shown = {file.stat().st_ino for file in (store / "data.zarr").rglob("*") if file.is_file()}
    inodes = {file.stat().st_ino for file in dataset_folder(store).rglob("*") if file.is_file()}
    assert shown and shown <= inodes
    shutil.rmtree(store / "data.zarr")
    data = swept(store, 2)
    assert xr.open_zarr(store / "data.zarr").load().identical(data)


def test_the_first_dataset_of_a_request_stays(store):
    data, identity = open_store(store), datasets.request_of(store)["request"]
    before = dataset_folder(store).stat().st_ino
    assert datasets.finish(Store(store), identity, data + 1).identical(data)
    assert dataset_folder(store).stat().st_ino == before
    assert not list(store.rglob(".tmp*"))


def test_a_damaged_dataset_is_replaced(store):
    data, identity = open_store(store), datasets.request_of(store)["request"]
    (dataset_folder(store) / "data.sum").write_text("")
    assert datasets.finished(store, identity) is None
    with pytest.raises(InputError, match="incomplete or damaged"):
        open_store(store)
    assert datasets.finish(Store(store), identity, data).identical(data)
    assert open_store(store).identical(data)


def test_a_request_that_is_part_of_another_is_known(store):
    identity = datasets.request_of(store)["request"]
    assert not datasets.includes(store, identity)
    assert datasets.includes(store, {**identity, "seeds": [1]})
    assert not datasets.includes(store, {**identity, "seeds": [1, 2]})


def test_without_the_names_of_the_newest_it_is_found(store):
    data = open_store(store)
    for name in ("newest", "begun"):
        (store / "data" / name).unlink()
    assert open_store(store).identical(data)
    assert datasets.begun(store)["request"] == datasets.request_of(store)["request"]


def test_what_is_no_finished_store_is_refused_in_one_line(store, tmp_path):
    lose_dataset(store)
    for path, why in (
        (store, "incomplete or damaged"),
        (tmp_path / "nowhere", "no such directory"),
        (tmp_path, "no manifest.json; it holds the stores a"),
    ):
        with pytest.raises(InputError, match=why) as error:
            open_store(path)
        assert "\n" not in str(error.value)
