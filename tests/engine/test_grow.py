"""A store that is given more seeds, values or steps: equal to the sweep of all of them."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import jaxtheory
from jaxtheory.engine import grow
from jaxtheory.engine.execution.task import Task
from jaxtheory.engine.rerun import rerun
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
    """Count the steps that are made: those of each chunk, as (first step, last step)."""
    made = []
    original = Task._part

    def counted(self, chunk, tell, keep):
        begun = 0
        if self.before is not None and grow.Before(self.before).resumed(chunk) is not None:
            begun = grow.Before(self.before).steps
        made.append((begun, self.request.points.steps, len(self.request.seeds)))
        return original(self, chunk, tell, keep)

    monkeypatch.setattr(Task, "_part", counted)
    return made


@pytest.mark.parametrize("more", MORE, ids=lambda more: next(iter(more)))
def test_it_equals_the_sweep_of_all_and_computes_only_what_is_missing(tmp_path, computed, more):
    jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a")
    computed.clear()
    grown = jaxtheory.sweep(THEORY, Config(), **SMALL | more, store=tmp_path / "a")
    made = list(computed)
    assert_equal(grown, jaxtheory.sweep(THEORY, Config(), **SMALL | more))
    if "steps" in more:
        assert {entry[:2] for entry in made} == {(20, 40)}
    if "seeds" in more:
        assert {entry[2] for entry in made} == {2}
    computed.clear()
    again = jaxtheory.sweep(THEORY, Config(), **SMALL | more, store=tmp_path / "a")
    assert not computed
    assert_equal(again, grown)
    assert_equal(xr.open_zarr(tmp_path / "a" / "data.zarr").load(), grown.load())


def test_it_grows_again_and_again(tmp_path):
    asked = dict(SMALL)
    jaxtheory.sweep(THEORY, Config(), **asked, store=tmp_path / "a")
    for more in (*MORE, {"steps": 60}, {"seeds": [0, 1, 2, 3, 4, 9]}, {"steps": 65}):
        asked |= more
        grown = jaxtheory.sweep(THEORY, Config(), **asked, store=tmp_path / "a")
        assert_equal(grown, jaxtheory.sweep(THEORY, Config(), **asked))
    again = rerun(tmp_path / "a", THEORY, eta=0.3, seed=9)
    assert again.differs == []
    shutil.rmtree(tmp_path / "a" / "data.zarr")
    rebuilt = jaxtheory.sweep(THEORY, Config(), **asked, store=tmp_path / "a")
    assert_equal(rebuilt, grown)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_steps_of_an_optimizer_with_momentum_bit_for_bit(tmp_path, dtype):
    asked = {"seeds": 2, "record": 4, "dtype": dtype, "algorithm": "adam", "save_params": True}
    config = low_rank.Config()
    jaxtheory.sweep(low_rank, config, steps=8, **asked, store=tmp_path / "a")
    grown = jaxtheory.sweep(low_rank, config, steps=14, **asked, store=tmp_path / "a")
    assert_equal(grown, jaxtheory.sweep(low_rank, config, steps=14, **asked))


def double(params, problem, config):
    """Twice the parameter."""
    return 2 * params


@pytest.mark.parametrize("saved", [True, [10, 20]])
def test_another_observable_is_evaluated_on_the_weights(tmp_path, monkeypatch, saved):
    asked = {"vary": {"eta": [0.1, 1e200]}, "seeds": 3, "steps": 20, "save_params": saved}
    record = {"distance": 5, "inside": [20]}
    jaxtheory.sweep(THEORY, Config(), **asked, record=record, store=tmp_path / "a")
    more = {"observe": {"double": double}, "record": {**record, "double": [20]}}
    whole = jaxtheory.sweep(THEORY, Config(), **asked, **more)
    monkeypatch.setattr("jaxtheory.engine.execution.task.run_chunk", None)  # nothing is trained
    grown = jaxtheory.sweep(THEORY, Config(), **asked, **more, store=tmp_path / "a")
    assert_equal(grown, whole)


def test_an_observable_of_padded_runs(tmp_path):
    config = random_walk.Config(length=13)
    asked = {"vary": {"K": [4, 5], "p": [0.5, 0.7]}, "seeds": 2, "steps": 4, "save_params": [2, 4]}
    asked |= {"buckets": "pad", "dtype": "float64"}
    record = {"loss": 2}
    more = {"observe": {"norms": jaxtheory.observables.norms}, "record": record | {"norms": [2, 4]}}
    jaxtheory.sweep(random_walk, config, **asked, record=record, store=tmp_path / "a")
    grown = jaxtheory.sweep(random_walk, config, **asked, **more, store=tmp_path / "a")
    whole = jaxtheory.sweep(random_walk, config, **asked, **more)
    for name in whole.data_vars:
        np.testing.assert_allclose(grown[name], whole[name], rtol=1e-12, atol=1e-12)


def test_runs_that_stopped_or_diverged(tmp_path):
    asked = {"vary": {"eta": [0.1, 1e200]}, "seeds": 2, "stop": lambda m: m["distance"] < 0.9}
    jaxtheory.sweep(THEORY, Config(), steps=5, **asked, store=tmp_path / "a")
    grown = jaxtheory.sweep(THEORY, Config(), steps=9, **asked, store=tmp_path / "a")
    assert (grown.stopped_at[0] > 0).all() and (grown.diverged_at[1] > 0).all()
    assert_equal(grown, jaxtheory.sweep(THEORY, Config(), steps=9, **asked))


def test_records_that_were_not_kept_are_trained_again(tmp_path, computed):
    jaxtheory.sweep(THEORY, Config(), seeds=2, steps=6, record=6, store=tmp_path / "a")
    computed.clear()
    asked = {"seeds": 2, "steps": 9, "record": 3}
    grown = jaxtheory.sweep(THEORY, Config(), **asked, store=tmp_path / "a")
    assert {entry[0] for entry in computed} == {0}
    assert_equal(grown, jaxtheory.sweep(THEORY, Config(), **asked))


@pytest.mark.parametrize("damage", ["states", "parts"])
def test_lost_states_or_parts_cost_time_only(tmp_path, damage):
    jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a")
    for file in (tmp_path / "a" / damage).iterdir():
        file.write_bytes(file.read_bytes()[:-9] + b"damaged!!")
    grown = jaxtheory.sweep(THEORY, Config(), **SMALL | {"steps": 40}, store=tmp_path / "a")
    assert_equal(grown, jaxtheory.sweep(THEORY, Config(), **SMALL | {"steps": 40}))


@pytest.mark.parametrize("more", MORE, ids=lambda more: next(iter(more)))
@pytest.mark.parametrize("stage", ["_as_block", "_whole", "_declare", "_remove_others", "finish"])
def test_an_interruption_loses_nothing(tmp_path, monkeypatch, more, stage):
    small = jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a").load()

    def interrupted(*args, **options):
        raise KeyboardInterrupt

    home = grow.Store if stage == "finish" else grow
    with monkeypatch.context() as patch:
        patch.setattr(home, stage, interrupted)
        with pytest.raises(KeyboardInterrupt):
            jaxtheory.sweep(THEORY, Config(), **SMALL | more, store=tmp_path / "a")
    if stage in ("_as_block", "_whole"):  # still the store of the smaller sweep
        assert_equal(jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a"), small)
    grown = jaxtheory.sweep(THEORY, Config(), **SMALL | more, store=tmp_path / "a")
    assert_equal(grown, jaxtheory.sweep(THEORY, Config(), **SMALL | more))


@pytest.mark.parametrize(
    "other",
    [
        {"seeds": 2},
        {"key": 1},
        {"steps": 10},
        {"seeds": 5, "steps": 40},
        {"seeds": 5, "vary": {"eta": [0.1, 0.2, 0.3]}},
        {"vary": {"s": [0.1, 0.2, 0.3]}},
        {"observe": {"double": double}},
    ],
)
def test_another_request_is_refused(tmp_path, other):
    jaxtheory.sweep(THEORY, Config(), **SMALL, store=tmp_path / "a")
    with pytest.raises(jaxtheory.InputError, match="one of these at a time"):
        jaxtheory.sweep(THEORY, Config(), **SMALL | other, store=tmp_path / "a")
    assert not (Path(tmp_path) / "a" / "blocks").exists()
