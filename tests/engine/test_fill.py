"""A store that is asked for more or for less than it has: equal to a sweep of that."""

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from helpers.stores import lose_dataset

import jaxtheory
from jaxtheory.engine import fill
from jaxtheory.engine.execution import chunk_task
from jaxtheory.engine.rerun import rerun
from jaxtheory.engine.store import archive, datasets
from jaxtheory.engine.store import store as store_module
from jaxtheory.engine.store.store import Store
from jaxtheory.theories import low_rank, random_walk
from tests.helpers.quadratic import THEORY, Config

SMALL = {"vary": {"eta": [0.1, 0.2]}, "seeds": 3, "steps": 20, "record": 5}
MORE = [
    {"seeds": 5},
    {"steps": 40},
    {"vary": {"eta": [0.05, 0.1, 0.2, 0.3]}},
]


def assert_equal(one: xr.Dataset, other: xr.Dataset) -> None:
    assert {*one.data_vars} == {*other.data_vars}
    for name in [*one.data_vars, *one.coords]:
        assert one[name].dims == other[name].dims
        np.testing.assert_array_equal(one[name], other[name], str(name))
    assert one.attrs == other.attrs


@pytest.fixture
def computed(monkeypatch):
    """A list of the chunks that are computed: first and last step, and number of seeds."""
    chunks, original = [], chunk_task.run_chunk

    def counted(request, chunk, tell, resumed, keep):
        begun = 0 if resumed is None else resumed.step
        chunks.append((begun, request.points.steps, len(request.seeds)))
        return original(request, chunk, tell, resumed, keep)

    monkeypatch.setattr(chunk_task, "run_chunk", counted)
    return chunks


@pytest.mark.parametrize("more", MORE, ids=lambda more: next(iter(more)))
def test_it_equals_the_sweep_of_all_and_computes_only_what_is_missing(tmp_path, computed, more):
    jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a")
    computed.clear()
    grown = jaxtheory.sweep(THEORY, Config(), **SMALL | more, store=tmp_path / "a")
    chunks = list(computed)
    assert_equal(grown, jaxtheory.sweep(THEORY, Config(), **SMALL | more))
    if "steps" in more:
        assert {entry[:2] for entry in chunks} == {(20, 40)}
    if "seeds" in more:
        assert {entry[2] for entry in chunks} == {2}
    computed.clear()
    again = jaxtheory.sweep(THEORY, Config(), **SMALL | more, store=tmp_path / "a")
    assert not computed
    assert_equal(again, grown)
    assert_equal(xr.open_zarr(tmp_path / "a" / "data.zarr").load(), grown.load())


def test_it_grows_again_and_again(tmp_path):
    options = dict(SMALL)
    jaxtheory.sweep(THEORY, Config(), **options, store=tmp_path / "a")
    for more in (*MORE, {"steps": 60}, {"seeds": [0, 1, 2, 3, 4, 9]}, {"steps": 65}):
        options |= more
        grown = jaxtheory.sweep(THEORY, Config(), **options, store=tmp_path / "a")
        assert_equal(grown, jaxtheory.sweep(THEORY, Config(), **options))
    again = rerun(tmp_path / "a", THEORY, eta=0.3, seed=9)
    assert again.differs == []
    lose_dataset(tmp_path / "a")
    rebuilt = jaxtheory.sweep(THEORY, Config(), **options, store=tmp_path / "a")
    assert_equal(rebuilt, grown)


def test_a_run_is_repeated_with_the_outputs_of_the_dataset(tmp_path):
    for saved in (True, [0, 20]):
        options = SMALL | {"save_params": saved, "record": [0, 20]}
        jaxtheory.sweep(THEORY, Config(), **options, store=tmp_path / "a")
    assert rerun(tmp_path / "a", THEORY, eta=0.1, seed=0).differs == []


def test_a_run_that_was_padded_further_is_repeated(tmp_path):
    options = {"vary": {"K": [4, 5]}, "steps": 4, "buckets": "pad", "save_params": True}
    config = random_walk.Config(length=13)
    jaxtheory.sweep(random_walk, config, **options, store=tmp_path / "a")
    for seeds in ([0, 1], [0]):  # K = 4 alone, of which the seed 0 is there
        options |= {"vary": {"K": [4]}, "seeds": seeds}
        jaxtheory.sweep(random_walk, config, **options, store=tmp_path / "a")
    assert rerun(tmp_path / "a", K=4, seed=0).differs == []


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_steps_of_an_optimizer_with_momentum_bit_for_bit(tmp_path, dtype):
    options = {"seeds": 2, "record": 4, "dtype": dtype, "algorithm": "adam", "save_params": True}
    config = low_rank.Config()
    jaxtheory.sweep(low_rank, config, steps=8, **options, store=tmp_path / "a")
    grown = jaxtheory.sweep(low_rank, config, steps=14, **options, store=tmp_path / "a")
    assert_equal(grown, jaxtheory.sweep(low_rank, config, steps=14, **options))


def double(params, problem, config):
    """Twice the parameter."""
    return 2 * params


@pytest.mark.parametrize("saved", [True, [10, 20]])
def test_another_observable_is_evaluated_on_the_weights(tmp_path, monkeypatch, saved):
    options = {"vary": {"eta": [0.1, 1e200]}, "seeds": 3, "steps": 20, "save_params": saved}
    record = {"distance": 5, "inside": [20]}
    jaxtheory.sweep(THEORY, Config(), **options, record=record, store=tmp_path / "a")
    more = {"observe": {"double": double}, "record": {**record, "double": [20]}}
    reference = jaxtheory.sweep(THEORY, Config(), **options, **more)
    monkeypatch.setattr(
        "jaxtheory.engine.execution.chunk_task.run_chunk", None
    )  # nothing is trained
    grown = jaxtheory.sweep(THEORY, Config(), **options, **more, store=tmp_path / "a")
    assert_equal(grown, reference)


@pytest.mark.parametrize("saved", [True, 2])
def test_an_observable_of_runs_that_end_before_others(tmp_path, monkeypatch, saved):
    """It is NaN at the records of others beyond their end."""
    options = {"vary": {"eta": [0.1, 1e200], "steps": [2, 7]}, "seeds": 2, "save_params": saved}
    record = {"distance": 2}
    jaxtheory.sweep(THEORY, Config(), steps=7, **options, record=record, store=tmp_path / "a")
    more = {
        "observe": {"double": double},
        "record": {**record, "double": [7] if saved is True else 2},
    }
    reference = jaxtheory.sweep(THEORY, Config(), steps=7, **options, **more)
    monkeypatch.setattr(
        "jaxtheory.engine.execution.chunk_task.run_chunk", None
    )  # nothing is trained
    grown = jaxtheory.sweep(THEORY, Config(), steps=7, **options, **more, store=tmp_path / "a")
    assert_equal(grown, reference)


def test_an_observable_of_padded_runs(tmp_path):
    config = random_walk.Config(length=13)
    options = {
        "vary": {"K": [4, 5], "p": [0.5, 0.7]},
        "seeds": 2,
        "steps": 4,
        "save_params": [2, 4],
    }
    options |= {"buckets": "pad", "dtype": "float64"}
    record = {"loss": 2}
    more = {"observe": {"norms": jaxtheory.observables.norms}, "record": record | {"norms": [2, 4]}}
    jaxtheory.sweep(random_walk, config, **options, record=record, store=tmp_path / "a")
    grown = jaxtheory.sweep(random_walk, config, **options, **more, store=tmp_path / "a")
    reference = jaxtheory.sweep(random_walk, config, **options, **more)
    for name in reference.data_vars:
        np.testing.assert_allclose(grown[name], reference[name], rtol=1e-12, atol=1e-12)


def test_runs_that_stopped_or_diverged(tmp_path):
    options = {"vary": {"eta": [0.1, 1e200]}, "seeds": 2, "stop": lambda m: m["distance"] < 0.9}
    jaxtheory.sweep(THEORY, Config(), steps=5, **options, store=tmp_path / "a")
    grown = jaxtheory.sweep(THEORY, Config(), steps=9, **options, store=tmp_path / "a")
    assert (grown.stopped_at[0] > 0).all() and (grown.diverged_at[1] > 0).all()
    assert_equal(grown, jaxtheory.sweep(THEORY, Config(), steps=9, **options))


def test_records_that_were_not_kept_are_trained_again(tmp_path, computed):
    jaxtheory.sweep(THEORY, Config(), seeds=2, steps=6, record=6, store=tmp_path / "a")
    computed.clear()
    options = {"seeds": 2, "steps": 9, "record": 3}
    grown = jaxtheory.sweep(THEORY, Config(), **options, store=tmp_path / "a")
    assert {entry[0] for entry in computed} == {0}
    assert_equal(grown, jaxtheory.sweep(THEORY, Config(), **options))


@pytest.mark.parametrize("damage", ["states", "parts"])
def test_lost_states_or_parts_cost_time_only(tmp_path, damage):
    jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a")
    for file in (tmp_path / "a" / damage).iterdir():
        file.write_bytes(file.read_bytes()[:-9] + b"damaged!!")
    grown = jaxtheory.sweep(THEORY, Config(), **SMALL | {"steps": 40}, store=tmp_path / "a")
    assert_equal(grown, jaxtheory.sweep(THEORY, Config(), **SMALL | {"steps": 40}))


def test_values_seeds_and_steps_grow_at_once(tmp_path, computed):
    jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a")
    computed.clear()
    more = {"vary": {"eta": [0.3, 0.1, 0.2]}, "seeds": [7, 0, 1, 2], "steps": 40}
    grown = jaxtheory.sweep(THEORY, Config(), **SMALL | more, store=tmp_path / "a")
    assert {entry[0] for entry in computed} == {0, 20}
    assert_equal(grown, jaxtheory.sweep(THEORY, Config(), **SMALL | more))


@pytest.mark.parametrize(
    "less",
    [
        {"seeds": 1},
        {"seeds": [2, 0]},
        {"vary": {"eta": [0.2]}},
        {"vary": {"eta": [0.2, 0.1]}, "seeds": [1]},
    ],
)
def test_a_part_of_what_is_stored_is_returned_without_computing_or_writing(
    tmp_path, computed, less
):
    jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a")
    computed.clear()
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "a").rglob("*")}
    part = jaxtheory.sweep(THEORY, Config(), **SMALL | less, store=tmp_path / "a")
    assert not computed
    assert_equal(part, jaxtheory.sweep(THEORY, Config(), **SMALL | less))
    computed.clear()
    assert before == {file: file.stat().st_mtime_ns for file in (tmp_path / "a").rglob("*")}


def test_reading_a_part_removes_what_a_killed_process_left(tmp_path):
    jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a")
    orphan = tmp_path / "a" / "data" / ".tmp-0123456789abcdef"
    orphan.mkdir()
    jaxtheory.sweep(THEORY, Config(), **SMALL | {"seeds": 1}, store=tmp_path / "a")
    assert not orphan.exists()


def test_a_dataset_is_read_where_folders_cannot_be_looked_at(tmp_path, monkeypatch):
    data = jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a")
    monkeypatch.setattr(store_module, "tidy", lambda folder: os.stat(tmp_path / "none"))
    assert jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a").identical(data)


def test_a_part_has_the_shapes_of_its_own_sizes(tmp_path, computed):
    """Although it was padded to those of the others, and has further outputs."""
    options = {"vary": {"K": [4, 6]}, "seeds": 2, "steps": 4, "buckets": "pad", "record": 2}
    config = random_walk.Config(length=13)
    norm = {"observe": {"n": jaxtheory.observables.norm}, "save_params": True}
    jaxtheory.sweep(random_walk, config, **options, **norm, store=tmp_path / "a")
    computed.clear()
    less = {"vary": {"K": [4]}, "record": {"loss": 2, "value_spread": [4, 0, 2]}}
    part = jaxtheory.sweep(random_walk, config, **options | less, store=tmp_path / "a")
    assert not computed
    fresh = jaxtheory.sweep(random_walk, config, **options | less)
    assert dict(part.sizes) == dict(fresh.sizes) and {*part.data_vars} == {*fresh.data_vars}
    for name in fresh.data_vars:
        assert part[name].dtype == fresh[name].dtype
        np.testing.assert_allclose(part[name], fresh[name], rtol=1e-9, atol=1e-12, err_msg=name)


def test_other_records_are_trained_beside(tmp_path):
    jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a")
    for more in ({"record": 4}, {"record": {"distance": [3]}}, {"save_params": [4]}):
        data = jaxtheory.sweep(THEORY, Config(), **SMALL | more, store=tmp_path / "a")
        assert_equal(data, jaxtheory.sweep(THEORY, Config(), **SMALL | more))


CASES = {
    "an observable at step 0": {
        "record": {"distance": 10, "double": [0]},
        "observe": {"double": double},
    },
    "every record before the end": {"record": [0, 10], "save_params": True},
    "one metric early": {"record": {"distance": [0, 5], "curvature": 10}},
}


@pytest.mark.parametrize("name", CASES)
def test_what_was_recorded_early_only_stays(tmp_path, name):
    for steps in (10, 20, 40):
        options = {"seeds": 2, "steps": steps, **CASES[name]}
        grown = jaxtheory.sweep(THEORY, Config(), **options, store=tmp_path / "a")
    assert_equal(grown, jaxtheory.sweep(THEORY, Config(), **options))


STAGES = ["Store.add", "Store.begin", "Store.write", "datasets.begin", "datasets.finish"]


@pytest.mark.parametrize("more", MORE, ids=lambda more: next(iter(more)))
@pytest.mark.parametrize("stage", STAGES)
def test_an_interruption_loses_nothing(tmp_path, monkeypatch, more, stage):
    small = jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a").load()

    def interrupted(*args, **options):
        raise KeyboardInterrupt

    home, _, name = stage.partition(".")
    with monkeypatch.context() as patch:
        patch.setattr(Store if home == "Store" else datasets, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            jaxtheory.sweep(THEORY, Config(), **SMALL | more, store=tmp_path / "a")
    assert_equal(jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a"), small)
    assert_equal(jaxtheory.open_store(tmp_path / "a"), small)
    grown = jaxtheory.sweep(THEORY, Config(), **SMALL | more, store=tmp_path / "a")
    assert_equal(grown, jaxtheory.sweep(THEORY, Config(), **SMALL | more))


RACES = {
    "steps": ({"steps": 60}, {"steps": 40}),
    "seeds": ({"seeds": 5}, {"seeds": 4}),
    "values": ({"vary": {"eta": [0.1, 0.2, 0.3]}}, {"vary": {"eta": [0.1, 0.15, 0.2]}}),
    "mixed": ({"seeds": 4}, {"steps": 40}),
    "the same": ({"seeds": 5}, {"seeds": 5}),
}


@pytest.mark.parametrize("name", RACES)
def test_two_calls_at_a_time_are_both_right(tmp_path, name):
    """The second begins while the first computes."""
    first, second = RACES[name]
    jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a")
    state = {}

    def extend():
        state["data"] = jaxtheory.sweep(THEORY, Config(), **SMALL | second, store=tmp_path / "a")

    def start(_progress):
        if "thread" not in state:
            state["thread"] = threading.Thread(target=extend)
            state["thread"].start()
            time.sleep(0.5)

    data = jaxtheory.sweep(THEORY, Config(), **SMALL | first, store=tmp_path / "a", progress=start)
    state["thread"].join()
    for got, options in ((data, first), (state["data"], second)):
        assert_equal(got, jaxtheory.sweep(THEORY, Config(), **SMALL | options))
        assert_equal(
            got, jaxtheory.sweep(THEORY, Config(), **SMALL | options, store=tmp_path / "a")
        )


def test_a_finished_dataset_is_read_while_another_is_computed(tmp_path):
    small = jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a").load()
    datasets = []

    def read(_progress):
        datasets.append(jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a"))

    jaxtheory.sweep(THEORY, Config(), **SMALL | {"seeds": 9}, store=tmp_path / "a", progress=read)
    assert datasets and all(data.identical(small) for data in datasets)


def test_a_chunk_that_somebody_else_holds(tmp_path, monkeypatch):
    """It is waited for in one line, left out with wait=False, and computed if nobody does."""
    reference = jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a").load()
    lose_dataset(tmp_path / "a")
    store = Store(tmp_path / "a")
    (rectangle,) = store.rectangles()
    store.file(rectangle, rectangle.chunks[0]).unlink()
    with store.claim(rectangle, rectangle.chunks[0]) as mine:
        assert mine
        part = jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a", wait=False)
        mask = part.diverged_at.notnull()
        assert bool(mask.any()) and not bool(mask.all())
        np.testing.assert_array_equal(part.distance, reference.distance.where(mask))
        assert not list((tmp_path / "a" / "data").glob("*/"))
        monkeypatch.setattr(fill, "_PATIENCE", (0.5, 0.5))
        monkeypatch.setattr(fill, "_NOTICE", 0.2)
        with pytest.warns(UserWarning, match="waiting for 1 chunk that other processes compute"):
            data = jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a")
        assert_equal(data, reference)


def test_without_waiting_when_nothing_is_finished(tmp_path):
    jaxtheory.sweep(THEORY, Config(), steps=3, store=tmp_path / "a")
    lose_dataset(tmp_path / "a")
    store = Store(tmp_path / "a")
    (rectangle,) = store.rectangles()
    (chunk,) = rectangle.chunks
    store.file(rectangle, chunk).unlink()
    with store.claim(rectangle, chunk):
        part = jaxtheory.sweep(THEORY, Config(), steps=3, store=tmp_path / "a", wait=False)
    assert part.diverged_at.dims == ("seed",) and bool(part.diverged_at.isnull().all())


def test_a_decision_that_never_ends_is_not_waited_for(tmp_path, monkeypatch):
    """Its holder may be frozen."""
    monkeypatch.setattr(store_module, "_PATIENCE", 1.5)
    jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a")
    more = SMALL | {"seeds": 5}
    with (
        Store(tmp_path / "a").decision(),
        pytest.warns(UserWarning, match="waiting for another process that decides"),
    ):
        data = jaxtheory.sweep(THEORY, Config(), **more, store=tmp_path / "a")
    assert_equal(data, jaxtheory.sweep(THEORY, Config(), **more))


def test_runs_of_two_rectangles_are_those_of_the_first(tmp_path, computed):
    """Whoever reads them, and also in a copy."""
    for name, seeds in (("a", [0, 1, 2]), ("b", [1, 2, 3])):
        jaxtheory.sweep(THEORY, Config(), **SMALL | {"seeds": seeds}, store=tmp_path / name)
    shutil.copytree(tmp_path / "b" / "parts", tmp_path / "a" / "parts", dirs_exist_ok=True)
    shutil.copytree(tmp_path / "a", tmp_path / "c")
    computed.clear()
    for name in ("a", "c"):
        data = jaxtheory.sweep(THEORY, Config(), **SMALL | {"seeds": 4}, store=tmp_path / name)
        again = jaxtheory.sweep(THEORY, Config(), **SMALL | {"seeds": [2]}, store=tmp_path / name)
        assert again.distance.identical(data.distance.sel(seed=[2]))
    assert not computed
    assert_equal(data, jaxtheory.sweep(THEORY, Config(), **SMALL | {"seeds": 4}))


def test_what_a_call_returned_keeps_its_numbers(tmp_path, monkeypatch):
    """Also if it is read lazily, and whatever happens to the store."""
    monkeypatch.setattr(archive, "_IN_MEMORY", 0)
    lazy = jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archive, "_IN_MEMORY", 1 << 30)
        want = jaxtheory.sweep(THEORY, Config(), **SMALL)
    for more in MORE:
        jaxtheory.sweep(THEORY, Config(), **SMALL | more, store=tmp_path / "a")
    assert_equal(lazy.load(), want)


def test_a_returned_dataset_carries_no_encoding(tmp_path):
    data = jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a")
    for name in data.variables:
        assert data[name].encoding == {}
    data.chunk({"step": 2}).to_zarr(tmp_path / "chunked.zarr")


READER = """
import email.policy, os, sys
import jaxtheory
from tests.helpers.quadratic import THEORY, Config
asked = {"vary": {"eta": [0.1, 0.2]}, "steps": 20, "record": 5, "dtype": "float64"}
jaxtheory.sweep(THEORY, Config(), **asked, store=sys.argv[2])  # all modules are imported
os.setgid(65534)
os.setuid(65534)
for seeds in (3, 5, [4, 0]):
    data = jaxtheory.sweep(THEORY, Config(), **asked, seeds=seeds, store=sys.argv[1])
    print(data.sizes["seed"], float(data.distance.sum()))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads as somebody else")
def test_a_store_without_write_access_is_read(tmp_path):
    for folder in (tmp_path, *tmp_path.parents):
        with contextlib.suppress(OSError):
            folder.chmod(0o755)
    options = SMALL | {"dtype": "float64"}
    for seeds in (3, 5):
        jaxtheory.sweep(THEORY, Config(), **options | {"seeds": seeds}, store=tmp_path / "a")
    lose_dataset(tmp_path / "a")
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "a").rglob("*")}
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", READER, str(tmp_path / "a"), str(tmp_path / "b")],
        capture_output=True,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    sums = [
        float(jaxtheory.sweep(THEORY, Config(), **options | {"seeds": seeds}).distance.sum())
        for seeds in (3, 5, [4, 0])
    ]
    printed = [float(line.split()[1]) for line in done.stdout.splitlines()]
    np.testing.assert_allclose(printed, sums, rtol=1e-12, err_msg=done.stderr)
    assert before == {file: file.stat().st_mtime_ns for file in (tmp_path / "a").rglob("*")}
