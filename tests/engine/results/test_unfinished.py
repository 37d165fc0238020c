"""The dataset of a store that is being computed: the finished one where parts are there."""

import json
import shutil

import jax
import numpy as np
import pytest
import xarray as xr
from helpers.worked_example import EXAMPLE, THEORY, Config

from jaxtheory import InputError, sweep, theories
from jaxtheory.engine.results import unfinished
from jaxtheory.engine.results.unfinished import Unfinished


def unassembled(store, parts=None):
    """Remove the dataset of a store and all but the first parts."""
    shutil.rmtree(store / "data.zarr")
    (store / "data.sum").unlink()
    files = sorted((store / "parts").glob("*.part"))
    for file in files[parts:] if parts is not None else []:
        file.rename(file.with_suffix(".kept"))
    return files


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    """The store of a sweep over sizes that are padded, and its dataset."""
    store = tmp_path_factory.mktemp("walk") / "store"
    theory = theories.get("random_walk")
    options = {"zip": {"case": ["a", "b"], "K": [4, 6], "p": [0.5, 0.7]}, "seeds": 3}
    data = sweep(theory, theory.Config(length=9), steps=4, store=store, buckets="exact", **options)
    return store, data.load()


@pytest.fixture
def store(walk, tmp_path):
    return shutil.copytree(walk[0], tmp_path / "store")


def test_with_all_parts_it_is_the_finished_dataset(walk, store):
    unassembled(store)
    read = Unfinished(store)
    assert read.update() and not read.update()
    data, finished, runs = read.progress()
    assert finished == runs == 6
    wanted = walk[1].assign(diverged_at=walk[1].diverged_at.astype(float))
    xr.testing.assert_equal(data, wanted)
    assert [data[n].attrs for n in data.variables] == [wanted[n].attrs for n in data.variables]
    stated = {name: wanted.attrs[name] for name in data.attrs}
    assert data.attrs == stated and json.loads(data.attrs["config"])["length"] == 9


def test_what_is_missing_is_nan_and_arrives_later(walk, store):
    files = unassembled(store, parts=1)
    assert len(files) > 1
    read = Unfinished(store)
    assert read.update()
    data, finished, runs = read.progress()
    assert 0 < finished < runs
    there = data.diverged_at.notnull()
    assert int(there.sum()) == finished
    assert data.loss.isnull().all("step").where(~there, True).all()
    xr.testing.assert_equal(data.loss, walk[1].loss.where(there))
    for file in files[1:]:
        file.with_suffix(".kept").rename(file)
    assert read.update()
    xr.testing.assert_equal(read.progress().data.loss, walk[1].loss)


def test_a_store_without_parts_has_no_variable(store):
    unassembled(store, parts=0)
    read = Unfinished(store)
    assert not read.update()
    data, finished, runs = read.progress()
    assert (len(data.data_vars), finished, runs) == (0, 0, 6)
    assert dict(data.sizes) == {"case": 2, "seed": 3}
    assert data.num_states.values.tolist() == [4, 6]


def test_a_damaged_part_is_passed_over_and_kept(store):
    files = unassembled(store)
    content = bytearray(files[0].read_bytes())
    content[-1] ^= 1
    files[0].write_bytes(content)
    read = Unfinished(store)
    assert read.update()
    assert 0 < read.progress().finished < 6
    assert files[0].exists()


def test_the_theory_of_a_file_is_not_needed(tmp_path):
    """Dimensions of its own have no names then."""
    store = tmp_path / "store"
    whole = sweep(THEORY, Config(), vary={"eta": [0.1, 0.2]}, seeds=2, steps=3, store=store).load()
    assert EXAMPLE.is_file() and "weights" in whole
    unassembled(store)
    read = Unfinished(store)
    read.update()
    data = read.progress().data
    np.testing.assert_array_equal(data.weights.values, whole.weights.values)
    assert data.weights.dims == (*whole.weights.dims[:-1], "weights_0")
    np.testing.assert_array_equal(data.predicted_loss, whole.predicted_loss)


def test_weights_observables_and_stops_are_those_of_the_finished_dataset(tmp_path):
    store, theory = tmp_path / "store", theories.get("random_walk")
    observe = {"twice": lambda params, problem, config: 2 * jax.tree.leaves(params)[0]}
    whole = sweep(
        theory,
        theory.Config(num_states=4, length=9),
        vary={"p": [0.5, 0.7], "algorithm": list(theory.algorithms)[:1]},
        seeds=2,
        steps=4,
        store=store,
        save_params=True,
        observe=observe,
        stop=lambda metrics: metrics["loss"] < 100,
    ).load()
    assert any(name.startswith("params_") for name in whole.data_vars)
    unassembled(store)
    read = Unfinished(store)
    read.update()
    ends = {name: whole[name].astype(float) for name in ("diverged_at", "stopped_at")}
    assert (ends["stopped_at"] >= 0).all()
    xr.testing.assert_equal(read.progress().data, whole.assign(ends))


def test_a_theory_that_cannot_be_loaded_is_not_needed(walk, store, monkeypatch):
    def broken(name):
        raise ImportError(name)

    monkeypatch.setattr(unfinished, "named_theory", broken)
    unassembled(store)
    read = Unfinished(store)
    read.update()
    np.testing.assert_array_equal(read.progress().data.loss, walk[1].loss)


def test_a_damaged_manifest_is_refused(store):
    (store / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match=r"manifest\.json cannot be read"):
        Unfinished(store)
