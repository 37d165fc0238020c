"""Progress of a sweep: its phase, the finished share and the time that remains."""

import threading
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from jaxtheory.engine.planning.layout import Chunk


class Progress(NamedTuple):
    """State of a running sweep.

    phase: "compile", "run", "resume" or "assemble". done_points, points: finished and all points.
    step, steps: recorded step and last step of the chunk that reported. eta_seconds: estimated time
    that remains, None while unknown.
    """

    phase: str
    done_points: int
    points: int
    step: int
    steps: int
    eta_seconds: float | None


class Meter:
    """Turns reports of running and finished chunks into `Progress` events.

    The steps of all runs count alike.
    """

    def __init__(
        self,
        show: Callable[[Progress], None] | None,
        points: int,
        chunks: Iterable[Chunk],
        missing: Iterable[Chunk],
    ):
        self.show, self.points, self.begun, self.lock = (
            show,
            points,
            time.perf_counter(),
            threading.Lock(),
        )
        self.total = sum(chunk.last - chunk.first for chunk in chunks)
        self.left = self.missing = sum(chunk.last - chunk.first for chunk in missing)
        if self.left < self.total:
            self.event("resume", 0, 0)

    def report(self, chunk: Chunk, step: int) -> None:
        """Note that a chunk has reached a step."""
        self.event(
            "run" if self.left < self.missing or step else "compile",
            step,
            chunk.bucket.longest,
        )

    def finished(self, chunk: Chunk) -> None:
        """Note that a chunk is finished."""
        self.left -= chunk.last - chunk.first
        steps = chunk.bucket.longest
        self.event("run" if self.left else "assemble", steps, steps)

    def event(self, phase: str, step: int, steps: int) -> None:
        """Show the present state of the sweep."""
        if self.show is None:
            return
        done = self.missing - self.left
        eta = (time.perf_counter() - self.begun) / done * self.left if done else None
        with self.lock:
            self.show(
                Progress(
                    phase,
                    self.points * (self.total - self.left) // max(self.total, 1),
                    self.points,
                    step,
                    steps,
                    eta,
                )
            )
