"""States of chunks on disk: whole, or not there."""

import numpy as np

import jaxtheory
from jaxtheory.engine.planning.lay_out import plan_request
from jaxtheory.engine.request.request import read
from jaxtheory.engine.results import states
from tests.helpers.quadratic import THEORY, Config


def test_states_are_those_at_the_end(tmp_path):
    asked = {"vary": {"eta": [0.1, 0.2]}, "seeds": 3, "steps": 4}
    data = jaxtheory.sweep(THEORY, Config(), **asked, store=tmp_path / "a", save_params=True)
    before = states.Before(tmp_path / "a")
    request = read(THEORY, Config(), **asked, save_params=True)
    found = []
    for chunk in plan_request(request).chunks:
        resumed = before.resumed(chunk)
        assert resumed is not None and resumed.step == 4
        (leaf,) = resumed.state
        found += leaf[: chunk.last - chunk.first].ravel().tolist()
    assert {*data.params_value.values.ravel().tolist()} <= {*found}


def test_states_of_another_store_do_not_count(tmp_path):
    asked = {"seeds": 3, "steps": 4}
    jaxtheory.sweep(THEORY, Config(), **asked, store=tmp_path / "a", key=1)
    jaxtheory.sweep(THEORY, Config(), **asked, store=tmp_path / "b", key=2)
    for file in (tmp_path / "a" / states.STATES).iterdir():
        (tmp_path / "b" / states.STATES / file.name).write_bytes(file.read_bytes())
    chunk = plan_request(read(THEORY, Config(), **asked, key=2)).chunks[0]
    assert states.Before(tmp_path / "b").resumed(chunk) is None
    assert states.Before(tmp_path / "a").resumed(chunk) is not None


def test_many_states_are_kept_only_with_weights(monkeypatch):
    request = read(THEORY, Config(), seeds=3, steps=4)
    buckets = plan_request(request).buckets
    assert states.kept(request, buckets)
    monkeypatch.setattr(states, "_MOST", 8)
    assert not states.kept(request, buckets)
    assert states.kept(request._replace(save_params=True), buckets)


def test_records_must_be_among_those_that_were_kept(tmp_path):
    jaxtheory.sweep(THEORY, Config(), steps=6, record=2, store=tmp_path / "a")
    before = states.Before(tmp_path / "a")
    of = lambda **asked: states.continues(before, read(THEORY, Config(), steps=9, **asked))
    assert of(record=2) and of(record=[0, 4, 7]) and not of(record=3)
    assert not of(record={"distance": 2})
    assert np.array_equal(before.records, [0, 2, 4, 6])


def test_a_store_is_left_without_temporary_folders_of_killed_processes(tmp_path):
    asked = {"seeds": 3, "steps": 4}
    store = tmp_path / "a"
    jaxtheory.sweep(THEORY, Config(), **asked, store=store)
    folders = (store, store / "parts", store / states.STATES)
    for left in (folder / ".tmp-0123456789abcdef" for folder in folders):
        left.mkdir()
        (left / "half").write_bytes(b"")
    jaxtheory.sweep(THEORY, Config(), **asked, store=store)
    assert not list(store.rglob(".tmp*"))
