"""The dataset of a request that is being computed: the finished one where parts are there."""

import json
import shutil

import jax
import pytest
import xarray as xr
from helpers.stores import lose_dataset, parts
from helpers.worked_example import THEORY, Config

from jaxtheory import sweep, theories
from jaxtheory.engine.store import datasets
from jaxtheory.engine.store.view import partial_view


def unassembled(store, count=None):
    """Remove the dataset of a store and all but the first parts."""
    lose_dataset(store)
    files = parts(store)
    for file in files[count:] if count is not None else []:
        file.rename(file.with_suffix(".kept"))
    return files


def view(store):
    """The view of the request that was begun last."""
    return partial_view(store, datasets.begun(store))


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
    data, finished, runs = view(store)
    assert finished == runs == 6
    wanted = walk[1].assign(diverged_at=walk[1].diverged_at.astype(float))
    xr.testing.assert_equal(data, wanted)
    assert data.attrs == wanted.attrs and json.loads(data.attrs["config"])["length"] == 9
    wanted.diverged_at.attrs = walk[1].diverged_at.attrs
    assert [data[n].attrs for n in data.variables] == [wanted[n].attrs for n in data.variables]


def test_what_is_missing_is_nan_and_arrives_later(walk, store):
    files = unassembled(store, count=1)
    assert len(files) > 1
    data, finished, runs = view(store)
    assert 0 < finished < runs
    mask = data.diverged_at.notnull()
    assert int(mask.sum()) == finished
    assert data.loss.isnull().all("step").where(~mask, True).all()
    xr.testing.assert_equal(data.loss, walk[1].loss.where(mask))
    for file in files[1:]:
        file.with_suffix(".kept").rename(file)
    xr.testing.assert_equal(view(store).data.loss, walk[1].loss)


def test_a_store_without_parts_has_no_variable(store):
    unassembled(store, count=0)
    data, finished, runs = view(store)
    assert (len(data.data_vars), finished, runs) == (0, 0, 6)
    assert {name: data.sizes[name] for name in ("case", "seed")} == {"case": 2, "seed": 3}
    assert data.num_states.values.tolist() == [4, 6]


def test_a_damaged_part_is_skipped_and_stays(store):
    files = unassembled(store)
    content = bytearray(files[0].read_bytes())
    content[-1] ^= 1
    files[0].write_bytes(content)
    assert 0 < view(store).finished < 6
    assert files[0].exists()


def test_the_theory_of_a_file_is_not_needed(tmp_path):
    store = tmp_path / "store"
    reference = sweep(
        THEORY, Config(), vary={"eta": [0.1, 0.2]}, seeds=2, steps=3, store=store
    ).load()
    unassembled(store)
    data = view(store).data
    assert data.weights.dims == reference.weights.dims
    xr.testing.assert_equal(data.drop_vars("diverged_at"), reference.drop_vars("diverged_at"))


def test_runs_of_several_rectangles_are_shown_together(tmp_path):
    options = {"vary": {"eta": [0.1, 0.2]}, "steps": 3, "store": tmp_path / "store"}
    sweep(THEORY, Config(), **options, seeds=2)
    reference = sweep(THEORY, Config(), **options, seeds=3).load()
    unassembled(tmp_path / "store")
    xr.testing.assert_equal(view(tmp_path / "store").data.loss, reference.loss)


def test_weights_observables_and_stops_are_those_of_the_finished_dataset(tmp_path):
    store, theory = tmp_path / "store", theories.get("random_walk")
    observe = {"twice": lambda params, problem, config: 2 * jax.tree.leaves(params)[0]}
    reference = sweep(
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
    assert any(name.startswith("params_") for name in reference.data_vars)
    unassembled(store)
    ends = {name: reference[name].astype(float) for name in ("diverged_at", "stopped_at")}
    assert (ends["stopped_at"] >= 0).all()
    xr.testing.assert_equal(view(store).data, reference.assign(ends))


def test_outputs_that_only_other_requests_have_are_left_out(tmp_path):
    store, options = tmp_path / "a", {"steps": 4, "record": {"loss": [0, 4], "weights": 1}}
    config = Config(dimension=3)
    sweep(THEORY, config, seeds=2, steps=4, save_params=True, store=store)
    data = sweep(THEORY, config, seeds=3, **options, store=store)
    snapshot = view(store)
    assert snapshot.finished == snapshot.runs == 3
    assert {*snapshot.data.variables} == {*data.variables}
    assert snapshot.data.loss.equals(data.loss) and snapshot.data.weights.equals(data.weights)
