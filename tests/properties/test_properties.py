"""Properties of the engine that hold for every request, tried on random ones; `make fuzz` tries
many.
"""

import math
import os
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import hypothesis.strategies as st
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, note

from jaxtheory.engine.execution.progress import Progress
from jaxtheory.engine.results.statistics import average
from jaxtheory.verification.conformance import draws_are_the_same
from properties.compare import agree, numbers, off_by, same_bits, twins
from properties.memory import forget_when_large
from properties.oracle import diverges_at, labels_are_right, of_the_run, run_of, simulate_point
from properties.strategies import FIRST, Asked, plain, requests, with_bad_rate

pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module")  # of beartype
DERIVED = {  # the arrays of problems that are computed from draws, as in tests/contract
    "low_rank": ("tokens", "basis"),
    "random_walk": (),
    "nearest_neighbor": ("x", "q", "t"),
    "group_sparse": ("truth", "downstream_truth"),
    "contextual_bigram": ("transition", "stationary", "context", "pretrained"),
    "attention_pruning": ("query", "key", "weights"),
    "in_context_regression": ("S", "x", "y", "c", "b", "G"),
    "causal_graph": ("information", "overlap", "target"),
    "task_diversity": ("tasks", "beta", "q", "y"),
    "factual_recall": ("weight",),
    "positional_semantic": ("target", "square", "direction", "position"),
}


@given(st.data(), requests())
def test_a_point_of_a_sweep_is_the_run_alone(choose: Any, request: Asked) -> None:
    """Selected by its labels, with NaN after its own steps and beyond its own sizes."""
    data = request.sweep()
    labels_are_right(data, request)
    point = choose.draw(st.sampled_from(request.points()))
    seed = choose.draw(st.sampled_from(request.seed_list))
    run = run_of(data, request, point, seed)
    got, want = of_the_run(run, request, point, simulate_point(request, point, seed))

    def perturb(nudge: float) -> list:
        moved = [point._replace(config=off_by(point.config, by)) for by in (nudge, -nudge)]
        return [
            of_the_run(run, request, point, simulate_point(request, near, seed))[1]
            for near in moved
        ]

    agree(got, want, request.dtype, 0, perturb)
    forget_when_large()


@given(requests("size"))
def test_padding_changes_nothing(request: Asked) -> None:
    """pad = exact = auto, and the draws are equal bit for bit."""
    datasets = {mode: request.sweep(buckets=mode) for mode in ("exact", "pad", "auto")}
    runs = len(request.axes) + 1
    for mode, data in datasets.items():
        labels_are_right(data, request)
        perturb = lambda nudge: [numbers(d) for d in twins(request, nudge, buckets="exact")]
        agree(numbers(data), numbers(datasets["exact"]), request.dtype, runs, perturb)
        assert {n: v.dims for n, v in data.variables.items()} == {
            n: v.dims for n, v in datasets["exact"].variables.items()
        }, mode
    one = request.theory._replace(examples=(request.points()[-1].config,))
    draws_are_the_same(one, DERIVED[request.name], 0)
    forget_when_large()


class InterruptedSweepError(Exception):
    """The sweep is given up."""


def interrupted_after(events: int) -> Any:
    """A `progress` that gives a sweep up after so many events."""
    reports: list[Progress] = []

    def tell(progress: Progress) -> None:
        reports.append(progress)
        if len(reports) > events:
            raise InterruptedSweepError

    return tell


def on(devices: int) -> Any:
    """Within: this number of chunks side by side."""
    return mock.patch.dict(os.environ, JAXTHEORY_DEVICES=str(devices))


@given(requests(), st.integers(0, 25), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
def test_a_resumed_sweep_is_the_fresh_one(
    request: Asked, events: int, first: int, second: int, third: int
) -> None:
    """Bit for bit, on any numbers of devices; and so is the finished one when it is read again."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        try:
            with on(first):
                request.sweep(store=store, progress=interrupted_after(events))
        except InterruptedSweepError:
            note(f"interrupted; kept {sorted(p.name for p in store.rglob('*.part'))}")
        with on(second):
            resumed = request.sweep(store=store).load()
            again = request.sweep(store=store).load()
        with on(third):
            fresh = request.sweep()
    for data in (resumed, again):
        assert set(data.variables) == set(fresh.variables)
        for name, variable in fresh.variables.items():
            assert data[name].dims == variable.dims, name
            assert same_bits(np.asarray(data[name].values), np.asarray(variable.values)), name
    assert resumed.identical(again)
    labels_are_right(resumed, request)
    forget_when_large()


@given(requests("pair"))
def test_zip_is_the_diagonal_of_vary(request: Asked) -> None:
    """Two fields run together in the one sweep, and apart in the other."""
    one, two, *tail = request.axes
    pair = one._replace(values=one.values | two.values, keys=one.keys | two.keys, zipped=True)
    axes = (*(a for a in tail if not a.zipped), pair, *(a for a in tail if a.zipped))
    zip_request = request._replace(axes=axes)
    data, grid = zip_request.sweep(), request.sweep()
    labels_are_right(data, zip_request)
    labels_are_right(grid, request)
    places = xr.DataArray(np.arange(len(one.labels)), dims="both")
    dims = ["both" if axis is pair else axis.name for axis in axes]

    def diagonal(data: xr.Dataset) -> dict[str, np.ndarray]:
        chosen = data.isel({one.name: places, two.name: places})
        return numbers(chosen.transpose(*dims, "seed", ...))

    perturb = lambda nudge: [diagonal(d) for d in twins(request, nudge)]
    agree(numbers(data), diagonal(grid), request.dtype, len(axes) + 1, perturb)
    forget_when_large()


def the_mean_leaves_out_runs_that_diverged(loss: xr.DataArray) -> None:
    summary = average(loss)
    for i in np.ndindex(loss.shape[:-1]):
        losses = [x for x in loss.values[i].tolist() if math.isfinite(x)]
        assert (int(summary.n.values[i]), int(summary.excluded.values[i])) == (
            len(losses),
            loss.shape[-1] - len(losses),
        )
        if losses:
            assert math.isclose(summary.mean.values[i], sum(losses) / len(losses), rel_tol=1e-5)


@given(st.data(), requests("rate"))
def test_a_diverging_run_changes_no_other(choose: Any, request: Asked) -> None:
    """The others are bit for bit those of the same sweep with a harmless value in its place; it is
    flagged at the step at which a plain loop stops being finite, and left out of means.
    """
    place = choose.draw(st.integers(0, len(request.axes[0].labels) - 1))
    bad = with_bad_rate(request, place)
    data, harmless = bad.sweep(), request.sweep()
    labels_are_right(data, bad)
    axis = request.axes[0].name
    neighbors = [i for i in range(len(request.axes[0].labels)) if i != place]
    for name in harmless.data_vars:
        a, b = (np.asarray(d[name].isel({axis: neighbors}).values) for d in (data, harmless))
        assert same_bits(a, b), (name, a, b)
    point = choose.draw(st.sampled_from([p for p in bad.points() if p.place[0] == place]))
    seed = choose.draw(st.sampled_from(bad.seed_list))
    run = run_of(data, bad, point, seed)
    at = int(run.diverged_at)
    if bad.stop is None:
        assert at == diverges_at(bad, point, seed), (at, plain(bad.axes[0].labels[place]))
    if at >= 0:
        after = [i for i, t in enumerate(run.step.values.tolist()) if t >= at]
        for name, variable in run.data_vars.items():
            if variable.dtype.kind == "f" and not str(name).startswith("predicted_"):
                late = variable.isel(step=after) if "step" in variable.dims else variable
                assert np.isnan(late.values).all(), (name, at, variable)
    if (loss := data.get(FIRST[bad.name])) is not None:
        the_mean_leaves_out_runs_that_diverged(loss.isel(step=-1))
    forget_when_large()
