"""Sweeps of very many values: what is done per chunk does not grow with their number, and what is
too much is refused with the number.
"""

import sys

import numpy as np
import pytest
from helpers.worked_example import THEORY, Config

import jaxtheory
from jaxtheory import plan, sweep
from jaxtheory.core.errors import InputError
from jaxtheory.engine import plan as planning
from jaxtheory.engine.planning import layout, memory
from jaxtheory.engine.planning.layout import Chunk, lanes
from jaxtheory.engine.request import axes
from jaxtheory.engine.request.axes import Axis
from jaxtheory.engine.request.request import read
from jaxtheory.engine.results.dataset import _coordinates, describe

MILLIONS = 2_000_000
RATES = np.linspace(0.01, 0.5, MILLIONS)
SHAPES = {
    "an axis of runs": {"vary": {"eta": RATES}},
    "an axis of problems": {"vary": {"noise": RATES}},
    "an axis of looks": {"vary": {"theta": RATES}},
    "an array of float32": {"vary": {"eta": RATES[:20_000].astype(np.float32)}},
    "a zip": {"zip": {"eta": RATES, "noise": RATES}},
    "a product": {"vary": {"eta": RATES[::1000], "noise": RATES[::1000]}},
    "seeds": {"seeds": MILLIONS},
}


def calls(function):
    """What a function gives, and how many Python functions it calls."""
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        return function(), count
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("name", SHAPES)
def test_planning_calls_no_function_per_value(name):
    asked = {"steps": 3, **SHAPES[name]}
    made, count = calls(lambda: planning.make(read(THEORY, Config(), **asked)))
    assert made.points * len(made.seeds) >= 20_000
    assert count < 20 * len(made.chunks) + 150_000


@pytest.mark.parametrize("name", SHAPES)
def test_a_chunk_reads_its_own_values_only(name, monkeypatch):
    """However many there are: no array of all values is made for a chunk."""
    request = read(THEORY, Config(), steps=3, **SHAPES[name])
    bucket = planning.make(request).buckets[0]
    made = []
    for function in ("diff", "cumsum", "unique", "arange", "array", "append", "repeat"):
        ours = getattr(np, function)
        wrapped = lambda *a, ours=ours, **k: made.append(out := ours(*a, **k)) or out
        monkeypatch.setattr(np, function, wrapped)
    inputs = lanes(request, Chunk(bucket, 0, 1))
    assert inputs.used == 1 and made
    entries = bucket.layout.slots * bucket.layout.rows * bucket.layout.runs * bucket.layout.values
    largest = max(np.size(out[0] if isinstance(out, tuple) else out) for out in made)
    if name != "an axis of looks":  # a run that is looked at so often is one chunk
        assert largest <= max(entries, len(inputs.out[1])) < 20_000


def test_labels_are_made_once_where_they_read_no_number():
    asked = []

    def coords(config):
        asked.append(config)
        return {"i": [f"w{i}" for i in range(config.dimension.cap)]}

    theory = THEORY._replace(coords=coords, dims={"weights": ("i",)})
    request = read(theory, Config(dimension=3), vary={"eta": RATES}, steps=1)
    asked.clear()
    found = _coordinates(request, {"i": 3}, describe(request, {}).labels)
    assert found["i"] == ["w0", "w1", "w2"] and len(asked) == 3
    assert found["learning_rate"].shape == (MILLIONS,)


def test_labels_that_read_a_number_are_asked_at_every_value():
    for label in (
        lambda c: [f"{c.noise}"] * 3,
        lambda c: [c.noise] * 3,
        lambda c: [float(c.noise)],
    ):
        theory = THEORY._replace(coords=lambda c, label=label: {"i": label(c)})
        request = read(THEORY, Config(dimension=3), vary={"noise": [0.1, 0.2]}, steps=1)
        labels = describe(request._replace(theory=theory), {}).labels
        assert "i" not in _coordinates(request, {"i": 3}, labels)


def test_points_whose_fields_do_not_fit_together_are_found_by_halves():
    bad = 1_234_567

    class Few(jaxtheory.Config):
        noise: float = jaxtheory.traced(0.1, "sigma", "noise", "[0, inf)")

        def violations(self):
            asked.append(1)
            return ["too large"] if np.any(self.noise > RATES[bad - 1]) else []

    asked = []
    found = axes.Points(Few(), (Axis("noise", RATES, {"noise": RATES}),), "sgd", 1)
    with pytest.raises(InputError, match=f"at noise={RATES[bad]}: too large"):
        axes.check_points(found)
    assert len(asked) < 60


def test_what_is_too_many_is_refused_with_the_number(monkeypatch):
    monkeypatch.setattr(layout, "_PROGRAMS", 20)
    rates = RATES[:10_000]
    for door in (plan, sweep):
        with pytest.raises(InputError, match=r"100000000 points \(learning_rate 10000,"):
            door(THEORY, Config(), vary={"eta": rates, "noise": rates}, steps=1)
        with pytest.raises(InputError, match="seeds = 100000000: must be a count in"):
            door(THEORY, Config(), seeds=10**8, steps=1)
        many = {"vary": {"d": range(1, 51)}, "buckets": "exact", "steps": 1}
        with pytest.raises(InputError, match=r"50 programs.* 0.11 hours .* at most 20"):
            door(THEORY, Config(), **many)
    with pytest.raises(InputError, match="70000 different numbers of steps"):
        plan(THEORY, Config(), vary={"steps": range(70_000)}, steps=1)


def test_results_beyond_memory_are_refused_with_runs_and_bytes(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_limit", lambda: 2**20)
    monkeypatch.setattr(memory, "_held", lambda request, bucket: 0)
    asked = {"vary": {"eta": RATES[:20_000]}, "steps": 3}
    for door in (plan, sweep):
        with pytest.raises(InputError, match=r"results of 20000 runs take .*, .* 1 MiB; .*store"):
            door(THEORY, Config(), **asked)
    assert plan(THEORY, Config(), store=tmp_path / "kept", **asked).runs == 20_000
