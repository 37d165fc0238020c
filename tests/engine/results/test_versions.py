"""A store that was begun under other versions is resumed only where they are accepted."""

import json
import shutil

import pytest
from helpers.worked_example import EXAMPLE, THEORY, Config

from jaxtheory import InputError, sweep
from jaxtheory.cli import main
from jaxtheory.engine.results import versions

ASKED = {"vary": {"eta": [0.1, 0.2]}, "steps": 3}


HERE = versions.present()


@pytest.fixture
def unfinished(tmp_path):
    """A store without a dataset and without half of its parts."""
    store = tmp_path / "store"
    sweep(THEORY, Config(), store=store, **ASKED)
    shutil.rmtree(store / "data.zarr")
    next((store / "parts").glob("*.part")).unlink()
    return store


def now(monkeypatch, **others):
    """From now on as if these versions were installed."""
    monkeypatch.setattr(versions, "present", lambda: {**HERE, **others})


@pytest.mark.parametrize("name", ["jax", "jaxlib", "numpy", "optax", "python", "backend"])
def test_another_version_is_refused_in_one_line(name, unfinished, monkeypatch):
    now(monkeypatch, **{name: "other"})
    with pytest.raises(InputError) as error:
        sweep(THEORY, Config(), store=unfinished, **ASKED)
    assert f"begun under {name} {HERE[name]}, now {name} other, " in str(error.value)
    assert "--accept-versions" in str(error.value) and "\n" not in str(error.value)
    assert not (unfinished / "data.zarr").exists()


def test_the_manifest_has_all_that_is_compared(unfinished):
    manifest = json.loads((unfinished / "manifest.json").read_text(encoding="utf-8"))
    assert versions._begun_under(manifest) == HERE
    assert "accepted_versions" not in sweep(THEORY, Config(), store=unfinished, **ASKED).attrs


def test_accepted_versions_are_noted_in_the_manifest_and_in_the_dataset(unfinished, monkeypatch):
    now(monkeypatch, jax="other")
    data = sweep(THEORY, Config(), store=unfinished, accept_versions=True, **ASKED)
    noted = json.loads((unfinished / "manifest.json").read_text(encoding="utf-8"))
    assert noted["versions"]["jax"] == HERE["jax"]
    assert noted["accepted_versions"] == [{**HERE, "jax": "other"}]
    assert json.loads(data.attrs["accepted_versions"]) == noted["accepted_versions"]
    want = sweep(THEORY, Config(), **ASKED)
    assert data.drop_attrs().identical(want.drop_attrs())
    shutil.rmtree(unfinished / "data.zarr")  # accepted once: not asked again
    assert sweep(THEORY, Config(), store=unfinished, **ASKED).identical(data)
    shutil.rmtree(unfinished / "data.zarr")
    now(monkeypatch, jax="a third one")
    with pytest.raises(InputError, match="now jax a third one"):
        sweep(THEORY, Config(), store=unfinished, **ASKED)


def test_a_finished_dataset_is_read_under_any_version(tmp_path, monkeypatch):
    data = sweep(THEORY, Config(), store=tmp_path, **ASKED)
    now(monkeypatch, jax="other")
    assert sweep(THEORY, Config(), store=tmp_path, **ASKED).identical(data)


def test_the_command_line_refuses_and_accepts(tmp_path, capsys, monkeypatch):
    store = tmp_path / "store"
    words = ["sweep", str(EXAMPLE), "--vary", "eta=0.1,0.2", "--steps", "3", "--store", str(store)]
    assert main.main(words) == 0
    shutil.rmtree(store / "data.zarr")
    now(monkeypatch, jax="other")
    capsys.readouterr()
    assert main.main(words) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and "now jax other" in said[0]
    assert main.main([*words, "--accept-versions"]) == 0
