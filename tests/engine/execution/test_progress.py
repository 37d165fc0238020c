"""Progress of a sweep: phases in their order, points that are done, the time that is left, and the
means of each record.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from helpers.worked_example import THEORY, Config

from jaxtheory import sweep
from jaxtheory.engine.execution import local
from jaxtheory.engine.execution.progress import Meter

CHUNKS = [SimpleNamespace(first=0, last=3, bucket=SimpleNamespace(number=0, longest=10))] * 2


def test_phases_follow_the_chunks():
    events = []
    meter = Meter(events.append, 12, CHUNKS, CHUNKS)
    for step in (0, 5):
        meter.report(CHUNKS[0], step)
    for chunk in CHUNKS:
        meter.finished(chunk)
    assert [event.phase for event in events] == ["compile", "run", "run", "assemble"]
    assert [event.done_points for event in events] == [0, 0, 6, 12]
    assert [event.step for event in events] == [0, 5, 10, 10]
    assert all((event.points, event.steps) == (12, 10) for event in events)
    assert events[0].eta_seconds is None and events[2].eta_seconds > 0 == events[3].eta_seconds


def test_a_resumed_sweep_begins_with_what_is_done():
    events = []
    Meter(events.append, 12, CHUNKS, CHUNKS[:1])
    (event,) = events
    assert (event.phase, event.done_points, event.eta_seconds) == ("resume", 6, None)


def test_nobody_has_to_look():
    meter = Meter(None, 12, CHUNKS, CHUNKS[:1])
    meter.finished(CHUNKS[0])
    assert meter.left == 0


def test_the_share_counts_the_steps_of_running_chunks():
    events = []
    meter = Meter(events.append, 12, CHUNKS, CHUNKS)
    for step in (0, 5):
        meter.report(CHUNKS[0], step)
    meter.finished(CHUNKS[0])
    assert [event.share for event in events] == [0, 0.25, 0.5]
    assert all(event.metrics is None and event.at is None for event in events)


def swept(**options):
    """The events of a sweep that are records, and its dataset."""
    events = []
    data = sweep(THEORY, Config(), steps=8, dtype="float64", progress=events.append, **options)
    records = [event for event in events if event.metrics is not None]
    assert len(records) < len(events)  # those that are not a record have no metrics
    return records, data


def test_a_record_tells_the_means_of_its_runs(monkeypatch):
    monkeypatch.setenv("JAXTHEORY_DEVICES", "1")
    records, data = swept(vary={"eta": [0.1, 0.2, 1e60]}, seeds=[3, 4])
    assert (data.diverged_at.sel(learning_rate=1e60) >= 0).any()
    assert {event.step for event in records} == {*data.step.values.tolist()}
    assert sum(event.runs for event in records if event.step == 8) == data.diverged_at.size
    for event in records:
        selection = data.sel(event.at).sel(step=event.step)
        assert list(event.at) == ["learning_rate", "seed"] and event.runs == selection.loss.size
        assert set(event.metrics) == {"loss", "rounded_loss"}  # weights has a dimension of its own
        for name, mean in event.metrics.items():
            np.testing.assert_allclose(mean, np.nanmean(selection[name].values), rtol=1e-12)


def test_a_metric_that_is_not_recorded_at_a_step_is_nan():
    records, _ = swept(vary={"eta": [0.1]}, record={"loss": 4, "rounded_loss": [8]})
    assert {event.step for event in records} == {0, 4, 8}
    for event in records:
        assert set(event.metrics) == {"loss", "rounded_loss"}
        assert np.isnan(event.metrics["rounded_loss"]) == (event.step != 8)


def test_means_cost_nothing_when_nobody_listens(monkeypatch):
    monkeypatch.setattr(local, "recorded", lambda *_: pytest.fail("a mean was computed"))
    sweep(THEORY, Config(), steps=2)
