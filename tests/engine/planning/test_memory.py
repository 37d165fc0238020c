"""Sweeps that do not fit into memory are refused with the bytes."""

import numpy as np
import pytest
from helpers.worked_example import THEORY, Config

from jaxtheory import plan, sweep
from jaxtheory.core.errors import InputError
from jaxtheory.engine.planning import memory

MILLIONS = 2_000_000
RATES = np.linspace(0.01, 0.5, MILLIONS)


def test_results_beyond_memory_are_refused_with_runs_and_bytes(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_limit", lambda: 2**20)
    monkeypatch.setattr(memory, "_least_bytes", lambda request, bucket: 0)
    asked = {"vary": {"eta": RATES[:20_000]}, "steps": 3}
    for door in (plan, sweep):
        with pytest.raises(
            InputError, match=r"results of 20000 runs take .* and 1 MiB are available; .*store"
        ):
            door(THEORY, Config(), **asked)
    assert plan(THEORY, Config(), store=tmp_path / "kept", **asked).runs == 20_000


def test_what_does_not_fit_is_refused_before_it_runs(monkeypatch):
    """With the bytes, and the sizes that make them."""
    monkeypatch.setattr(memory, "_limit", lambda: 2**30)
    asked = {"steps": 3, "dtype": "float32"}
    for door in (plan, sweep):
        with pytest.raises(
            InputError, match=r"needs at least .* GiB and 1 GiB are available; reduce .*\(B\)"
        ):
            door(THEORY, Config(batch_size=10**9), **asked)
    assert plan(THEORY, Config(batch_size=1000), **asked).points == 1
