"""Progress of a sweep: phases in their order, points that are done, and the time that is left."""

from types import SimpleNamespace

from jaxtheory.engine.execution.progress import Meter

CHUNKS = [SimpleNamespace(first=0, last=3, bucket=SimpleNamespace(longest=10))] * 2


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
