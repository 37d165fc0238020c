"""Stores as sources of pages: finished, unfinished, damaged, or none at all."""

import shutil

import pytest
from helpers.stores import dataset_folder, lose_dataset
from helpers.worked_example import THEORY, Config

from jaxtheory import InputError, sweep
from jaxtheory.engine.store.datasets import mark_of
from jaxtheory.engine.store.store import read_signed, signed
from jaxtheory.reports.explorer.source import Source, store_at, stores_in


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    store = tmp_path_factory.mktemp("swept") / "store"
    sweep(THEORY, Config(), vary={"d": [2, 3]}, seeds=2, steps=3, store=store, buckets="exact")
    return store


@pytest.fixture
def store(swept, tmp_path):
    return shutil.copytree(swept, tmp_path / "store")


def test_a_finished_store_is_read_once(store):
    source = Source(store)
    snapshot = source.read()
    assert (snapshot.name, snapshot.finished, snapshot.runs) == ("store", 4, 4) and source.finished
    assert source.read() is None


def test_an_unfinished_store_is_read_as_parts_arrive(store):
    lose_dataset(store)
    first, *tail = sorted((store / "parts").glob("*.part"))
    for file in tail:
        file.rename(file.with_suffix(".kept"))
    source = Source(store)
    snapshot = source.read()
    assert 0 < snapshot.finished < snapshot.runs == 4 and not source.finished
    assert source.read() is None
    source.reset()
    assert source.read().finished == snapshot.finished
    for file in tail:
        file.with_suffix(".kept").rename(file)
    assert source.read().finished == 4 and first.exists()
    sweep(THEORY, Config(), vary={"d": [2, 3]}, seeds=2, steps=3, store=store, buckets="exact")
    assert source.read().data.identical(Source(store).read().data) and source.finished


def test_a_damaged_store_is_refused(store):
    for file in (store / "parts").glob("*"):
        file.unlink()
    sums = dataset_folder(store) / "data.sum"
    sums.write_text(sums.read_text().replace("a", "b"))
    with pytest.raises(InputError, match=r"store is damaged; rerun the command"):
        Source(store).read()
    (store / "manifest.json").write_text("[")
    with pytest.raises(InputError, match="rerun the command that wrote the store"):
        Source(store).read()


def test_a_manifest_that_no_sweep_wrote_is_refused(store):
    lose_dataset(store)
    for file in [store / "manifest.json", *(store / "data").glob("*.json")]:
        content = read_signed(file)
        content[next(name for name in ("runs", "request") if name in content)]["axes"] = 3
        file.unlink()
        file.with_name(f"{mark_of(content.get('request', 0))[:16]}.json").write_bytes(
            signed(content)
        )
        if file.name == "manifest.json":
            file.write_bytes(signed(content))
    with pytest.raises(InputError, match=r"store is damaged"):
        Source(store).read()


def test_stores_are_found_in_a_folder(store):
    assert store_at(store) == store_at(store / "data.zarr") == store
    assert store_at(store.parent) is None and stores_in(store.parent) == [store]
    for path, why in (
        (store.parent / "nowhere", "no such directory"),
        (store / "manifest.json", "is a file"),
        (store / "parts", "has no store of a sweep"),
    ):
        with pytest.raises(InputError, match=why):
            stores_in(path)
