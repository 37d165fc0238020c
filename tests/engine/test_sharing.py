"""Several processes share the work of one store, without a scheduler and without a clock."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from helpers.stores import lose_dataset, parts

import jaxtheory
from jaxtheory.engine.store.store import Store
from tests.helpers.quadratic import THEORY, Config

ROOT = Path(__file__).parents[2]
ASKED = {"vary": {"eta": [0.1, 0.2], "kind": ["plain", "other"]}, "seeds": 16, "steps": 4}
CODE = """
import sys, time, jaxtheory
from jaxtheory.engine import fill
from jaxtheory.engine.execution import chunk_task
from tests.helpers.quadratic import THEORY, Config
original, (store, pause, wait, patience) = chunk_task.run_chunk, sys.argv[1:]
def counted(request, chunk, *rest):
    time.sleep(float(pause))
    part = original(request, chunk, *rest)
    print("chunk", chunk.name, flush=True)
    return part
chunk_task.run_chunk = counted
fill._PATIENCE = float(patience), float(patience)
print("begun", flush=True)
sys.stdin.readline()
data = jaxtheory.sweep(
    THEORY, Config(), vary={"eta": [0.1, 0.2], "kind": ["plain", "other"]}, seeds=16, steps=4,
    dtype="float64", store=store, wait=wait == "wait",
)
print("runs", int(data.diverged_at.notnull().sum()), float(data.distance.sum()), flush=True)
"""


def begin(store, pause=0.2, wait="wait", patience=60.0):
    """A process that waits for a line before it sweeps."""
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, str(store), str(pause), wait, str(patience)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "JAXTHEORY_DEVICES": "1"},
    )
    assert process.stdout.readline() == "begun\n"
    return process


def go(process):
    process.stdin.write("\n")
    process.stdin.flush()


def results(process):
    """The chunks that a process computed, its number of runs, and the sum of its distances."""
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    lines = [line.split() for line in out.splitlines()]
    chunks = [words[1] for words in lines if words[0] == "chunk"]
    ((_, runs, total),) = [words for words in lines if words[0] == "runs"]
    return chunks, int(runs), float(total)


@pytest.fixture(scope="module")
def reference():
    return jaxtheory.sweep(THEORY, Config(), **ASKED, dtype="float64")


@pytest.mark.slow
def test_processes_divide_the_chunks_and_each_has_the_whole_dataset(tmp_path, reference):
    processes = [begin(tmp_path / "a") for _ in range(3)]
    for process in processes:
        go(process)
    reports = [results(process) for process in processes]
    all_chunks = [chunk for chunks, _, _ in reports for chunk in chunks]
    assert len(all_chunks) == len({*all_chunks}) == len(parts(tmp_path / "a")) >= 6  # nothing twice
    assert sum(bool(chunks) for chunks, _, _ in reports) >= 2
    for _, runs, total in reports:
        assert runs == reference.diverged_at.size
        np.testing.assert_allclose(total, float(reference.distance.sum()), rtol=1e-12)


@pytest.mark.slow
def test_what_a_killed_process_held_is_computed_by_another(tmp_path, reference):
    first, second = begin(tmp_path / "a", pause=5), begin(tmp_path / "a", pause=0)
    go(first)
    while not (tmp_path / "a" / ".claims").exists():
        time.sleep(0.1)
    time.sleep(1)
    go(second)
    time.sleep(1)
    first.kill()
    first.wait()
    chunks, runs, total = results(second)
    assert len(chunks) == len(parts(tmp_path / "a")) and runs == reference.diverged_at.size
    np.testing.assert_allclose(total, float(reference.distance.sum()), rtol=1e-12)
    assert jaxtheory.open_store(tmp_path / "a").distance.equals(reference.distance)


@pytest.mark.slow
def test_what_a_frozen_process_holds_is_computed_by_another(tmp_path, reference):
    """And when it wakes, it finds the parts that are published."""
    first, second = begin(tmp_path / "a", pause=1), begin(tmp_path / "a", pause=0, patience=1.0)
    go(first)
    while not (tmp_path / "a" / ".claims").exists():
        time.sleep(0.05)
    time.sleep(0.3)
    first.send_signal(signal.SIGSTOP)
    go(second)
    _, runs, total = results(second)
    before = {part: part.stat().st_ino for part in parts(tmp_path / "a")}
    first.send_signal(signal.SIGCONT)
    assert results(first)[1:] == (runs, total) == (reference.diverged_at.size, total)
    assert {part: part.stat().st_ino for part in parts(tmp_path / "a")} == before


@pytest.mark.slow
def test_without_waiting_it_ends_with_what_is_done(tmp_path, reference):
    first, second = begin(tmp_path / "a", pause=3), begin(tmp_path / "a", pause=0, wait="no")
    go(first)
    while not (tmp_path / "a" / ".claims").exists():
        time.sleep(0.1)
    go(second)
    chunks, runs, _ = results(second)
    assert chunks and 0 < runs < reference.diverged_at.size
    assert results(first)[1] == reference.diverged_at.size


def test_parts_are_found_by_opening_and_not_by_listing(tmp_path, reference, monkeypatch):
    """A listing of a network file system may be old: here it shows rectangles only."""
    options = ASKED | {"dtype": "float64"}
    jaxtheory.sweep(THEORY, Config(), **options, store=tmp_path / "a")
    lose_dataset(tmp_path / "a")
    listed = Path.iterdir
    monkeypatch.setattr(
        Path, "iterdir", lambda path: (f for f in listed(path) if f.suffix != ".part")
    )
    monkeypatch.setattr(
        "jaxtheory.engine.execution.chunk_task.run_chunk", None
    )  # nothing is trained
    data = jaxtheory.sweep(THEORY, Config(), **options, store=tmp_path / "a")
    assert data.distance.equals(reference.distance)


def test_locks_that_say_nothing_cost_time_only(tmp_path, reference, monkeypatch):
    """They succeed for everybody, as those of some network file systems do."""
    monkeypatch.setattr("jaxtheory.system.locks._lock_byte", lambda *_: True)
    monkeypatch.setattr("jaxtheory.system.locks.flock", lambda *_, **__: None)
    options, inner = ASKED | {"dtype": "float64"}, []

    def meanwhile(_progress):
        if not inner:
            inner.append(None)
            inner[0] = jaxtheory.sweep(THEORY, Config(), **options, store=tmp_path / "a")

    data = jaxtheory.sweep(THEORY, Config(), **options, store=tmp_path / "a", progress=meanwhile)
    assert data.distance.equals(reference.distance) and inner[0].distance.equals(reference.distance)


def test_a_claim_is_held_by_one_and_survives_that_others_close_the_file(tmp_path):
    """As locks of a process, in place of those of an open file, would not."""
    jaxtheory.sweep(THEORY, Config(), steps=1, store=tmp_path / "a")
    store = Store(tmp_path / "a")
    (rectangle,) = store.rectangles()
    with store.claim(rectangle, "one") as first:
        with store.claim(rectangle, "one") as second, store.claim(rectangle, "two") as neighbor:
            assert first and neighbor and not second
        (tmp_path / "a" / ".claims").read_bytes()
        with store.claim(rectangle, "one") as third:
            assert not third
    with store.claim(rectangle, "one") as again:
        assert again
