"""States of chunks on disk: intact, or not there; which rectangles runs go on from."""

import shutil

import jaxtheory
from jaxtheory.code.plain import as_json
from jaxtheory.engine.planning.buckets import lanes
from jaxtheory.engine.planning.planner import plan_request
from jaxtheory.engine.request.request import read
from jaxtheory.engine.results.identity import identity
from jaxtheory.engine.store import states
from jaxtheory.engine.store.rectangle import content_of
from jaxtheory.engine.store.store import Store
from tests.helpers.quadratic import THEORY, Config

ASKED = {"vary": {"eta": [0.1, 0.2]}, "seeds": 3, "steps": 4}


def described(**options):
    request = read(THEORY, Config(), **options)
    return request, as_json(identity(request))


def resumed(folder, **options):
    """The states of each chunk of a request in the first rectangle of a store."""
    request, identified = described(**options)
    store = Store(folder)
    before = states.PriorRuns(store, store.rectangles()[0], request, identified)
    chunks = plan_request(request).chunks
    return [before.resumed(chunk, lanes(request, chunk)) for chunk in chunks]


def test_states_are_those_at_the_end(tmp_path):
    data = jaxtheory.sweep(THEORY, Config(), **ASKED, store=tmp_path / "a", save_params=True)
    weights = []
    for one in resumed(tmp_path / "a", **ASKED, save_params=True):
        assert one is not None and one.step == 4
        (leaf,) = one.state
        weights += leaf.ravel().tolist()
    assert {*data.params_value.values.ravel().tolist()} == {*weights}


def test_states_of_a_part_of_the_runs_in_another_layout(tmp_path):
    data = jaxtheory.sweep(THEORY, Config(), **ASKED, store=tmp_path / "a", save_params=True)
    part = {"vary": {"eta": [0.2]}, "seeds": [2, 0], "steps": 4, "save_params": True}
    weights = [leaf for one in resumed(tmp_path / "a", **part) for leaf in one.state[0].ravel()]
    wanted = data.params_value.sel(eta=0.2, seed=[2, 0]).values.ravel().tolist()
    assert {*weights} == {*wanted}
    more = {"vary": {"eta": [0.2, 0.3]}, "seeds": [0], "steps": 4}
    assert None in resumed(tmp_path / "a", **more)


def test_states_of_another_store_do_not_count(tmp_path):
    options = {"seeds": 3, "steps": 4}
    for name, key in (("a", 1), ("b", 2)):
        jaxtheory.sweep(THEORY, Config(), **options, store=tmp_path / name, key=key)
    for source, target in zip(*((tmp_path / n / "states").iterdir() for n in "ab"), strict=True):
        shutil.copy(source, target)
    assert {*resumed(tmp_path / "b", **options, key=2)} == {None}
    assert None not in resumed(tmp_path / "a", **options, key=1)


def test_many_states_are_kept_only_with_weights(monkeypatch):
    request = read(THEORY, Config(), seeds=3, steps=4)
    buckets = plan_request(request).buckets
    assert states.keeps_states(request, buckets)
    monkeypatch.setattr(states, "_MOST", 8)
    assert not states.keeps_states(request, buckets)
    assert states.keeps_states(request._replace(save_params=True), buckets)


def test_records_must_be_among_those_that_were_kept():
    content = content_of(described(steps=6, record=2)[1], [], None)
    continues = lambda **options: states.continues(content, *described(steps=9, **options))
    assert continues(record=2) and continues(record=[0, 4, 7]) and not continues(record=3)
    assert continues(record={"distance": 2}) and not continues(record={"distance": 3})
    only = content_of(described(steps=6, record={"distance": 2})[1], [], None)
    assert not states.continues(only, *described(steps=9, record=2))
    assert not states.continues(content, *described(steps=6, record=2))  # no more steps


def test_a_stop_rule_reads_all_that_was_recorded():
    stop = lambda metrics: metrics["distance"] < 0.1
    content = content_of(described(steps=6, record=2, stop=stop)[1], [], None)
    continues = lambda **options: states.continues(
        content, *described(steps=9, stop=stop, **options)
    )
    assert continues(record=[0, 2, 4, 6, 9]) and not continues(record=[0, 4, 9])


def test_a_store_is_left_without_temporary_folders_of_killed_processes(tmp_path):
    store = tmp_path / "a"
    jaxtheory.sweep(THEORY, Config(), **ASKED, store=store)
    folders = (store, *(store / name for name in ("parts", "states", "data")))
    for orphan in (folder / ".tmp-0123456789abcdef" for folder in folders):
        orphan.mkdir()
        (orphan / "half").write_bytes(b"")
    jaxtheory.sweep(THEORY, Config(), **ASKED, store=store)
    assert not list(store.rglob(".tmp*"))
