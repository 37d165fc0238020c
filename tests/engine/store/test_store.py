"""Stores: resumed, damaged, interrupted and killed sweeps give the same dataset or one line."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from helpers.stores import dataset_folder, lose_dataset, parts
from helpers.worked_example import EXAMPLE, THEORY, Config

from jaxtheory import InputError, sweep
from jaxtheory.engine.execution import chunk_task
from jaxtheory.engine.planning import planner
from jaxtheory.engine.store.store import Store
from jaxtheory.system.temporary import temporary_sibling

OPTIONS = {
    "vary": {"d": [2, 5], "eta": [0.1, 0.2]},
    "seeds": 3,
    "steps": 8,
    "dtype": "float64",
    "buckets": "exact",
}


def test_a_stored_sweep_is_labeled_and_read_back(tmp_path):
    plain = sweep(THEORY, Config(), **OPTIONS)
    stored = sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS)
    assert stored.identical(plain)
    assert xr.open_zarr(tmp_path / "run" / "data.zarr").load().identical(plain)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["runs"]["config"]["noise"] == 0.1 and manifest["keys"]
    assert {axis["name"] for axis in manifest["runs"]["axes"]} == {"dimension", "learning_rate"}
    (rectangle,) = Store(tmp_path / "run").rectangles()
    assert [bucket["sizes"]["dimension"] for bucket in rectangle.content["plan"]] == [2, 5]
    assert rectangle.content["environment"]["jax"]
    assert all(file.suffix == ".part" for file in parts(tmp_path / "run"))


def computed(monkeypatch):
    """A list that grows with every chunk that is trained."""
    calls, original = [], chunk_task.run_chunk
    monkeypatch.setattr(
        chunk_task, "run_chunk", lambda *a, **k: (calls.append(1), original(*a, **k))[1]
    )
    return calls


def test_the_same_request_computes_nothing_again_and_damage_only_what_it_hit(tmp_path, monkeypatch):
    run = tmp_path / "run"
    first = sweep(THEORY, Config(), store=run, **OPTIONS)
    calls = computed(monkeypatch)
    assert sweep(THEORY, Config(), store=run, **OPTIONS).identical(first) and not calls
    flip(parts(run)[0])
    lose_dataset(run)
    assert sweep(THEORY, Config(), store=run, **OPTIONS).identical(first) and len(calls) == 1
    parts(run)[1].unlink()
    (dataset_folder(run) / "data.sum").unlink()
    assert sweep(THEORY, Config(), store=run, **OPTIONS).identical(first) and len(calls) == 2
    assert xr.open_zarr(run / "data.zarr").load().identical(first)


def flip(file, at=None):
    """Change one bit of a file."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2 if at is None else at % len(data)] ^= 1
    file.write_bytes(data)


def test_one_flipped_byte_anywhere_in_the_dataset_is_seen(tmp_path):
    """xarray itself refuses a damaged chunk; the same sweep rebuilds the dataset from the parts."""
    run = tmp_path / "run"
    first = sweep(THEORY, Config(), store=run, **OPTIONS)
    backup = tmp_path / "whole"
    shutil.copytree(run, backup)
    target = dataset_folder(run) / "data.zarr"
    everything = sorted(file for file in target.rglob("*") if file.is_file())
    chunks = [file for file in everything if "c" in file.relative_to(target).parts]
    assert len(chunks) >= len(first.variables) - 2
    for k, file in enumerate(chunks):
        flip(file, 7 * k)
        with pytest.raises((ValueError, RuntimeError)):
            xr.open_zarr(target, chunks=None).load()
        shutil.copy(backup / file.relative_to(run), file)
    for k, file in enumerate(everything[:: max(len(everything) // 6, 1)]):
        flip(file, 11 * k)
        assert sweep(THEORY, Config(), store=run, **OPTIONS).identical(first)
    chunks[0].unlink()
    assert sweep(THEORY, Config(), store=run, **OPTIONS).identical(first) and chunks[0].is_file()


@pytest.mark.parametrize(
    "text",
    ["[]", "null", "", "{", '{"request": {}}', '{"request": [], "plan": [], "versions": {}}'],
)
def test_a_damaged_manifest_gives_one_line(tmp_path, text):
    run = tmp_path / "run"
    sweep(THEORY, Config(), store=run, **OPTIONS)
    (run / "manifest.json").write_text(text)
    with pytest.raises(InputError, match="choose another directory for store=") as error:
        sweep(THEORY, Config(), store=run, **OPTIONS)
    assert "\n" not in str(error.value)


def test_a_full_disk_a_read_only_folder_and_a_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    sweep(THEORY, Config(), store="~/run", **OPTIONS)
    assert (tmp_path / "run" / "data.zarr").is_dir()

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(
            InputError,
            match=r"^store .*No space left on device; choose a writable directory on a disk "
            r"with free space$",
        ):
            sweep(THEORY, Config(), store=tmp_path / "full", **OPTIONS)
    assert not [file for file in (tmp_path / "full").rglob("*") if file.name.startswith(".tmp")]

    def denied(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "link", denied)
    with pytest.raises(InputError, match=r"^store .*Permission denied"):
        sweep(THEORY, Config(), store=tmp_path / "denied", **OPTIONS)


@pytest.mark.parametrize(
    ("module", "name"), [(os, "posix_fallocate"), (np, "memmap")], ids=["file", "map"]
)
def test_a_disk_that_fills_while_the_dataset_is_assembled(tmp_path, monkeypatch, module, name):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(module, name, full)
        with pytest.raises(InputError, match="No space left on device"):
            sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS)
    assert not list((tmp_path / "run").glob(".tmp*"))
    reference = sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS)
    assert reference.identical(sweep(THEORY, Config(), **OPTIONS))


def test_the_manifest_is_written_once(tmp_path):
    run = tmp_path / "run"
    sweep(THEORY, Config(), store=run, **OPTIONS)
    before = (run / "manifest.json").stat().st_mtime_ns, (run / "manifest.json").read_bytes()
    parts(run)[0].unlink()
    lose_dataset(run)
    sweep(THEORY, Config(), store=run, **OPTIONS)
    assert before == (
        (run / "manifest.json").stat().st_mtime_ns,
        (run / "manifest.json").read_bytes(),
    )


def test_a_store_that_another_process_creates_while_it_is_opened(tmp_path, monkeypatch):
    run, listed = tmp_path / "run", Path.iterdir
    run.mkdir()

    def created_meanwhile(folder):
        monkeypatch.undo()
        sweep(THEORY, Config(), store=run, **OPTIONS)
        return listed(folder)

    monkeypatch.setattr(Path, "iterdir", created_meanwhile)
    assert sweep(THEORY, Config(), store=run, **OPTIONS).identical(
        sweep(THEORY, Config(), **OPTIONS)
    )


def test_parts_that_others_are_writing_are_not_read(tmp_path):
    reference = sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS)
    last = parts(tmp_path / "run")[-1]
    lose_dataset(tmp_path / "run")
    with temporary_sibling(last) as temporary:
        os.rename(last, temporary)
        assert reference.identical(sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS))
        assert temporary.exists()


def test_another_request_is_refused_with_the_difference(tmp_path):
    sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS)
    with pytest.raises(InputError, match=r"noise: stored 0.1; requested 0.2"):
        sweep(THEORY, Config(noise=0.2), store=tmp_path / "run", **OPTIONS)
    with pytest.raises(InputError, match=r"key: stored 0; requested 1"):
        sweep(THEORY, Config(), store=tmp_path / "run", key=1, **OPTIONS)
    values = {"eta": [0.1 * i for i in range(1, 21)]}
    with pytest.raises(InputError, match=r"dimension: stored 2, 5; requested \d+; choose") as error:
        sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS | {"vary": values})
    assert "\n" not in str(error.value)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    with pytest.raises(InputError, match="is not a jaxtheory store"):
        sweep(THEORY, Config(), store=tmp_path / "mine", **OPTIONS)


def test_nothing_is_written_for_bad_input(tmp_path):
    with pytest.raises(InputError):
        sweep(THEORY, Config(), vary={"eta": [-1.0]}, steps=3, store=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(InputError, match="store"):
        sweep(THEORY, Config(), steps=3, store=blocked / "run")


def test_an_interrupt_leaves_a_store_that_resumes(tmp_path, monkeypatch):
    reference = sweep(THEORY, Config(), **OPTIONS)
    original, calls = chunk_task.run_chunk, []

    def second_is_interrupted(*args, **options):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*args, **options)

    monkeypatch.setenv("JAXTHEORY_DEVICES", "1")
    monkeypatch.setattr(chunk_task, "run_chunk", second_is_interrupted)
    with pytest.raises(KeyboardInterrupt):
        sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS)
    assert len(parts(tmp_path / "run")) == 1 and not (tmp_path / "run" / "data.zarr").exists()
    before = len(calls)
    assert (
        sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS).identical(reference)
        and len(calls) > before
    )


CHILD = """
import sys, time, jaxtheory
from jaxtheory.engine.store import store; from jaxtheory.engine import sweep
theory = jaxtheory.theories.load({example!r}).THEORY
write = store.Store.write
def slow(self, *a, **k):
    write(self, *a, **k)
    if a[-1] != "state": print("part", flush=True); time.sleep({seconds})
store.Store.write = slow
vary = {{"d": [2, 5], "eta": [0.1, 0.2]}}
options = dict(store={store!r}, seeds=3, steps=8, dtype="float64", buckets="exact")
jaxtheory.sweep(theory, theory.Config(), vary=vary, **options)
"""


def test_killed_after_its_first_part_it_ends_with_the_uninterrupted_dataset(tmp_path):
    code = lambda seconds: CHILD.format(
        example=str(EXAMPLE), store=str(tmp_path / "run"), seconds=seconds
    )
    with subprocess.Popen(
        [sys.executable, "-c", code(5)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout.readline().startswith("part")  # two threads may share a line
        child.send_signal(signal.SIGKILL)
    count = len(parts(tmp_path / "run"))  # each thread writes its own part
    # in a process like the first: here annotations are executed, which is other code
    resumed = [sys.executable, "-c", code(0)]
    printed = subprocess.run(resumed, capture_output=True, text=True, check=True).stdout
    assert count >= 1 and printed and count + printed.count("part") == len(parts(tmp_path / "run"))
    data = xr.open_zarr(tmp_path / "run" / "data.zarr").load()
    want = sweep(THEORY, Config(), **OPTIONS)
    want.attrs["theory_digest"] = data.attrs["theory_digest"]
    assert data.identical(want)


def test_a_resumed_sweep_follows_the_stored_plan(tmp_path, monkeypatch):
    """The layout that the store keeps decides, also where today's would be another."""
    run = tmp_path / "run"
    reference = sweep(THEORY, Config(), store=run, **OPTIONS)
    before = [rectangle.content for rectangle in Store(run).rectangles()]
    parts(run)[0].unlink()
    lose_dataset(run)
    monkeypatch.setattr(planner, "_SHARES", {})
    assert (
        sweep(THEORY, Config(), store=run, **OPTIONS).identical(reference)
        and [rectangle.content for rectangle in Store(run).rectangles()] == before
    )


CLOSURE = """
import sys
import jaxtheory.engine.store.datasets
files = [m.__file__ for n, m in sys.modules.items() if n.startswith("jaxtheory") and m.__file__]
print(len(files), sum(len(open(file).readlines()) for file in files), "jax" in sys.modules)
"""


def test_reading_a_store_imports_neither_jax_nor_the_training_loop():
    run = subprocess.run(
        [sys.executable, "-c", CLOSURE], capture_output=True, text=True, check=True
    )
    files, lines, jax = run.stdout.split()
    assert int(files) < 25 and int(lines) < 3000 and jax == "False"
