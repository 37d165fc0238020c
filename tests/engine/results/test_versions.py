"""A store that was begun under other versions is resumed only where they are accepted."""

import json

import pytest
from helpers.stores import lose_dataset, parts
from helpers.worked_example import EXAMPLE, THEORY, Config

from jaxtheory import InputError, sweep
from jaxtheory.cli import main
from jaxtheory.engine import cover
from jaxtheory.engine.execution import chunk_task
from jaxtheory.engine.results import versions
from jaxtheory.engine.store.store import Store

ASKED = {"vary": {"eta": [0.1, 0.2]}, "steps": 3}


HERE = versions.present()


@pytest.fixture
def unfinished(tmp_path):
    """A store without a dataset and without half of its parts."""
    store = tmp_path / "store"
    sweep(THEORY, Config(), store=store, **ASKED)
    lose_dataset(store)
    parts(store)[0].unlink()
    return store


def now(monkeypatch, **packages):
    """From now on as if these versions were installed."""
    for module in (versions, chunk_task, cover):
        monkeypatch.setattr(module, "present", lambda: {**HERE, **packages})


@pytest.mark.parametrize("name", HERE)
def test_another_version_is_refused_in_one_line(name, unfinished, monkeypatch):
    now(monkeypatch, **{name: "other"})
    with pytest.raises(InputError) as error:
        sweep(THEORY, Config(), store=unfinished, **ASKED)
    assert f"begun under {name} {HERE[name]}, now {name} other, " in str(error.value)
    assert "--accept-versions" in str(error.value) and "\n" not in str(error.value)
    assert not list((unfinished / "data").glob("*/"))


def test_each_part_and_each_rectangle_tells_its_versions(unfinished):
    (rectangle,) = Store(unfinished).rectangles()
    assert rectangle.content["environment"] == HERE
    notes = [Store(unfinished).note(rectangle, chunk) for chunk in rectangle.chunks]
    assert HERE in notes and None in notes
    assert "accepted_versions" not in sweep(THEORY, Config(), store=unfinished, **ASKED).attrs


def test_accepted_versions_are_noted_in_the_parts_and_in_the_dataset(unfinished, monkeypatch):
    now(monkeypatch, jax="other")
    data = sweep(THEORY, Config(), store=unfinished, accept_versions=True, **ASKED)
    assert json.loads(data.attrs["accepted_versions"]) == [{**HERE, "jax": "other"}]
    want = sweep(THEORY, Config(), **ASKED)
    assert data.drop_attrs().identical(want.drop_attrs())
    lose_dataset(unfinished)  # accepted once: not asked again
    assert sweep(THEORY, Config(), store=unfinished, **ASKED).identical(data)
    parts(unfinished)[0].unlink()
    lose_dataset(unfinished)
    now(monkeypatch, jax="a third one")
    with pytest.raises(InputError, match="now jax a third one"):
        sweep(THEORY, Config(), store=unfinished, **ASKED)


def test_more_runs_are_more_computing_and_fewer_are_reading(unfinished, monkeypatch):
    sweep(THEORY, Config(), store=unfinished, **ASKED)
    now(monkeypatch, jax="other")
    less = {"vary": {"eta": [0.2]}}
    data = sweep(THEORY, Config(), store=unfinished, **ASKED | less)
    assert data.drop_attrs().identical(sweep(THEORY, Config(), **ASKED | less).drop_attrs())
    with pytest.raises(InputError, match="now jax other"):
        sweep(THEORY, Config(), store=unfinished, seeds=2, **ASKED)
    data = sweep(THEORY, Config(), store=unfinished, seeds=2, accept_versions=True, **ASKED)
    assert json.loads(data.attrs["accepted_versions"]) == [{**HERE, "jax": "other"}]


def test_a_finished_dataset_is_read_under_any_version(tmp_path, monkeypatch):
    data = sweep(THEORY, Config(), store=tmp_path, **ASKED)
    now(monkeypatch, jax="other")
    assert sweep(THEORY, Config(), store=tmp_path, **ASKED).identical(data)


def test_the_command_line_refuses_and_accepts(tmp_path, capsys, monkeypatch):
    store = tmp_path / "store"
    words = ["sweep", str(EXAMPLE), "--vary", "eta=0.1,0.2", "--steps", "3", "--store", str(store)]
    assert main.main(words) == 0
    lose_dataset(store)
    parts(store)[0].unlink()
    now(monkeypatch, jax="other")
    capsys.readouterr()
    assert main.main(words) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and "now jax other" in said[0]
    assert main.main([*words, "--accept-versions"]) == 0
