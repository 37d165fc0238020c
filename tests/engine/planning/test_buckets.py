"""Buckets and lanes: every run has one lane, and a chunk reads only its own values."""

import numpy as np
import pytest
from helpers.worked_example import THEORY, Config

from jaxtheory import plan, sweep
from jaxtheory.engine.planning import buckets, planner
from jaxtheory.engine.planning.buckets import lanes
from jaxtheory.engine.planning.planner import plan_request
from jaxtheory.engine.records import Chunk
from jaxtheory.engine.request.request import read
from jaxtheory.texts.errors import InputError
from jaxtheory.theories import get

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


@pytest.mark.parametrize("name", SHAPES)
def test_a_chunk_reads_its_own_values_only(name, monkeypatch):
    """However many there are: no array of all values is made for a chunk."""
    request = read(THEORY, Config(), steps=3, **SHAPES[name])
    bucket = planner.plan_request(request).buckets[0]
    arrays = []
    for function in ("diff", "cumsum", "unique", "arange", "array", "append", "repeat"):
        ours = getattr(np, function)
        wrapped = lambda *a, ours=ours, **k: arrays.append(out := ours(*a, **k)) or out
        monkeypatch.setattr(np, function, wrapped)
    inputs = lanes(request, Chunk(bucket, 0, 1))
    assert inputs.used == 1 and arrays
    entries = bucket.layout.slots * bucket.layout.rows * bucket.layout.runs * bucket.layout.values
    largest = max(np.size(out[0] if isinstance(out, tuple) else out) for out in arrays)
    if name != "an axis of looks":  # a run that is looked at so often is one chunk
        assert largest <= max(entries, len(inputs.out[1])) < 20_000


def test_what_is_too_many_is_refused_with_the_number(monkeypatch):
    monkeypatch.setattr(buckets, "_PROGRAMS", 20)
    rates = RATES[:10_000]
    for door in (plan, sweep):
        with pytest.raises(InputError, match=r"100000000 points \(learning_rate 10000,"):
            door(THEORY, Config(), vary={"eta": rates, "noise": rates}, steps=1)
        with pytest.raises(InputError, match="seeds = 100000000: must be a count in"):
            door(THEORY, Config(), seeds=10**8, steps=1)
        options = {"vary": {"d": range(1, 51)}, "buckets": "exact", "steps": 1}
        with pytest.raises(InputError, match=r"50 programs.* 0.11 hours .* at most 20"):
            door(THEORY, Config(), **options)
    with pytest.raises(InputError, match="70000 different numbers of steps"):
        plan(THEORY, Config(), vary={"steps": range(70_000)}, steps=1)


def test_a_static_axis_makes_a_bucket_each():

    theory = get("random_walk")
    small = theory.Config(num_states=3, length=4, num_sequences=5, encoding_dim=4)
    sweep_plan = plan(
        theory,
        small,
        vary={
            "loss_function": ["log", "square"],
            "eta": [0.1, 1.0],
            "algorithm": ["reduced", "literal"],
        },
        steps=2,
    )
    assert sweep_plan.compilations == 4 and sweep_plan.runs == 8


def test_every_run_stands_in_one_lane():
    """The lanes of all chunks together are the points times the seeds, with the values of each
    point.
    """
    request = read(
        THEORY,
        Config(),
        vary={"eta": [0.1, 0.2, 0.3], "noise": [0.0, 0.1], "theta": [0.1, 0.2], "steps": [3, 5]},
        zip={"d": [2, 4], "batch_size": [3, 5]},
        seeds=[4, 7, 9],
        steps=0,
    )
    pairs = []
    for chunk in plan_request(request).chunks:
        inputs = lanes(request, chunk)
        where, points, places = inputs.out
        for slot, row, run, value, i, place in zip(*where, points, places, strict=True):
            config, _, steps = request.points.point(int(i))
            assert (
                inputs.limit[slot, row, run] == steps
                and inputs.seed[slot, row] == request.seeds[place]
            )
            fields = {n: v[slot, row] for n, v in inputs.shared.items()} | {
                n: v[slot, row, run] for n, v in inputs.run_fields.items()
            }
            fields |= {n: v[slot, row, run, value] for n, v in inputs.values.items()}
            for name, number in fields.items():
                wanted = getattr(config, name)
                assert number == pytest.approx(getattr(wanted, "n", wanted)), name
            pairs.append((int(i), int(place)))
    assert sorted(pairs) == [(i, s) for i in range(request.points.total) for s in range(3)]
