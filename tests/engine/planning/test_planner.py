"""Layouts and chunks: their number, their cost, and planning without a call per value."""

import sys
import tracemalloc

import numpy as np
import pytest
from helpers.worked_example import THEORY, Config

from jaxtheory import InputError, plan
from jaxtheory.engine.planning import planner
from jaxtheory.engine.request.request import read

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
    options = {"steps": 3, **SHAPES[name]}
    sweep_plan, count = calls(lambda: planner.plan_request(read(THEORY, Config(), **options)))
    assert sweep_plan.points * len(sweep_plan.seeds) >= 20_000
    assert count < 20 * len(sweep_plan.chunks) + 150_000


def test_more_chunks_than_can_be_listed_are_refused(monkeypatch):
    monkeypatch.setattr(planner, "_CHUNKS", 10)
    assert len(plan(THEORY, Config(), seeds=1000, steps=5).chunks) <= 10
    with pytest.raises(InputError, match=r"1e\+06 runs .* chunks, .* different keys"):
        plan(THEORY, Config(), seeds=10**6, steps=5)


def test_runs_side_by_side_leave_no_rest_where_half_of_them_or_more_do():
    assert [planner._without_rest(3, width) for width in (1, 2, 3, 64)] == [1, 1, 3, 3]
    assert [planner._without_rest(12, width) for width in (5, 8, 11)] == [4, 6, 6]
    assert planner._without_rest(31, 16) == 16  # a prime number: a rest of 15, not 31 alone
    for runs in range(1, 65):
        for width in range(1, 65):
            even_width = planner._without_rest(runs, width)
            assert min(runs, width) / 2 <= even_width <= min(runs, width)


def test_a_million_runs_are_planned_by_arithmetic():
    axes = {"eta": [0.1 + 1e-6 * i for i in range(1000)], "noise": [1e-4 * i for i in range(1000)]}
    tracemalloc.start()
    sweep_plan = plan(THEORY, Config(), vary=axes, steps=5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (sweep_plan.points, sweep_plan.runs, sweep_plan.problems) == (1_000_000, 1_000_000, 1000)
    assert peak < 300e6  # some arrays of a million numbers; a Python object per run would take more
    assert (
        plan(THEORY, Config(), vary={"eta": [0.1, 0.2]}, seeds=500_000, steps=5).runs == 1_000_000
    )
