"""Sweeps that do not fit into memory are refused with the bytes."""

import types

import numpy as np
import pytest
from helpers.worked_example import THEORY, Config

from jaxtheory import plan, sweep
from jaxtheory.engine.planning import memory
from jaxtheory.texts.errors import InputError

MILLIONS = 2_000_000
RATES = np.linspace(0.01, 0.5, MILLIONS)


def test_results_beyond_memory_are_refused_with_runs_and_bytes(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_limit", lambda: 2**20)
    monkeypatch.setattr(memory, "_least_bytes", lambda request, bucket: 0)
    options = {"vary": {"eta": RATES[:20_000]}, "steps": 3}
    for door in (plan, sweep):
        with pytest.raises(
            InputError, match=r"results of 20000 runs take .* and 1 MiB are available; .*store"
        ):
            door(THEORY, Config(), **options)
    assert plan(THEORY, Config(), store=tmp_path / "kept", **options).runs == 20_000


@pytest.mark.parametrize(
    ("count", "workers", "limit"), [(1, 1, 8), (4, 4, 32), (8, 2, 16), (1, 3, 8)]
)
def test_each_accelerator_that_computes_has_its_own_memory(count, workers, limit, monkeypatch):
    """As many chunks as workers are in memory at once, one on each device."""
    device = types.SimpleNamespace(memory_stats=lambda: {"bytes_limit": 8})
    monkeypatch.setattr(memory, "backend", lambda: "gpu")
    monkeypatch.setattr(memory, "workers", lambda: workers)
    monkeypatch.setattr(memory.jax, "local_devices", lambda: [device] * count)
    assert memory._limit() == limit
    device.memory_stats = lambda: None  # as on some platforms
    assert memory._limit() == 0


def test_what_does_not_fit_is_refused_before_it_runs(monkeypatch):
    """With the bytes, and the sizes that make them."""
    monkeypatch.setattr(memory, "_limit", lambda: 2**30)
    options = {"steps": 3, "dtype": "float32"}
    for door in (plan, sweep):
        with pytest.raises(
            InputError, match=r"needs at least .* GiB and 1 GiB are available; reduce .*\(B\)"
        ):
            door(THEORY, Config(batch_size=10**9), **options)
    assert plan(THEORY, Config(batch_size=1000), **options).points == 1
