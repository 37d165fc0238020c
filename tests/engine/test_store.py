import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import xarray as xr
from helpers.worked_example import EXAMPLE, THEORY, Config

from jaxtheory import InputError, sweep
from jaxtheory.engine import plan as planning
from jaxtheory.engine import sweep as sweeping

OPTIONS = {"vary": {"d": [2, 5], "eta": [0.1, 0.2]}, "seeds": 3, "steps": 8, "dtype": "float64", "buckets": "exact"}


def test_a_stored_sweep_is_labelled_and_read_back(tmp_path):
    plain = sweep(THEORY, Config(), **OPTIONS)
    stored = sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS)
    assert stored.identical(plain)
    assert xr.open_zarr(tmp_path / "run" / "data.zarr").load().identical(plain)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["request"]["config"]["learning_rate"] == 0.1 and set(manifest["parts"]) == {
        p.stem for p in (tmp_path / "run" / "parts").iterdir()
    }
    assert manifest["versions"]["jax"] and manifest["plan"]["buckets"][0]["sizes"]["dimension"] == 2


def computed(monkeypatch):
    """A list that grows with every chunk that is trained."""
    calls, original = [], sweeping.run_lanes
    monkeypatch.setattr(sweeping, "run_lanes", lambda *a, **k: (calls.append(1), original(*a, **k))[1])
    return calls


def test_the_same_request_computes_nothing_again_and_damage_only_what_it_hit(tmp_path, monkeypatch):
    first = sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS)
    calls = computed(monkeypatch)
    assert sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS).identical(first) and not calls
    parts = sorted((tmp_path / "run" / "parts").iterdir())
    damaged = bytearray(parts[0].read_bytes())
    damaged[len(damaged) // 2] ^= 1
    parts[0].write_bytes(damaged)
    assert sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS).identical(first) and len(calls) == 1
    parts[1].unlink()
    assert sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS).identical(first) and len(calls) == 2
    assert xr.open_zarr(tmp_path / "run" / "data.zarr").load().identical(first)


def test_another_request_is_refused_with_the_difference(tmp_path):
    sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS)
    with pytest.raises(InputError, match=r"config.noise: stored 0.1, asked for 0.2"):
        sweep(THEORY, Config(noise=0.2), store=tmp_path / "run", **OPTIONS)
    with pytest.raises(InputError, match=r"key: stored 0, asked for 1"):
        sweep(THEORY, Config(), store=tmp_path / "run", key=1, **OPTIONS)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    with pytest.raises(InputError, match="no result directory"):
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
    whole = sweep(THEORY, Config(), **OPTIONS)
    original, calls = sweeping.run_lanes, []

    def second_is_interrupted(*args, **options):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*args, **options)

    monkeypatch.setattr(sweeping, "run_lanes", second_is_interrupted)
    with pytest.raises(KeyboardInterrupt):
        sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS)
    assert len(list((tmp_path / "run" / "parts").iterdir())) == 1 and not (tmp_path / "run" / "data.zarr").exists()
    assert sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS).identical(whole) and len(calls) == 3


CHILD = """
import sys, time, jaxtheory
from jaxtheory.engine import store, sweep
theory = jaxtheory.theories.load({example!r}).THEORY
write = store.Store.write
def slow(self, *a, **k):
    write(self, *a, **k); print("part", flush=True); time.sleep(5)
store.Store.write = slow
vary = {{"d": [2, 5], "eta": [0.1, 0.2]}}
jaxtheory.sweep(theory, theory.Config(), store={store!r}, vary=vary, seeds=3, steps=8, dtype="float64", buckets="exact")
"""


def test_killed_after_its_first_part_it_ends_with_the_uninterrupted_dataset(tmp_path):
    code = CHILD.format(example=str(EXAMPLE), store=str(tmp_path / "run"))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=os.environ) as child:
        assert child.stdout.readline().strip() == "part"
        child.send_signal(signal.SIGKILL)
    assert len(list((tmp_path / "run" / "parts").glob("part-*.npz"))) == 1
    resumed = sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS)
    assert resumed.identical(sweep(THEORY, Config(), **OPTIONS))


def test_a_resumed_sweep_follows_the_stored_plan(tmp_path, monkeypatch):
    whole = sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS)
    monkeypatch.setattr(planning.jax, "local_device_count", lambda: 1)
    assert sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS).identical(whole)


def test_times_are_kept_in_the_manifest_only(tmp_path):
    started = time.time()
    data = sweep(THEORY, Config(), store=tmp_path / "run", **OPTIONS)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert all(0 <= part["seconds"] <= time.time() - started for part in manifest["parts"].values())
    assert set(data.attrs) == {"theory", "key", "algorithm", "matmul_precision"} and np.isfinite(data.loss).all()
