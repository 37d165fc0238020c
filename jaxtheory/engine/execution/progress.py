"""Progress of a sweep: what is being done, how much is done, how long it takes still."""

import threading
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from jaxtheory.engine.planning.layout import Chunk


class Progress(NamedTuple):
    """What a sweep is doing: phase in {"compile", "run", "resume", "assemble"}; eta_seconds is None
    while unknown.
    """

    phase: str
    done_points: int
    points: int
    step: int
    steps: int
    eta_seconds: float | None


class Meter:
    """Turns finished and running chunks into `Progress` events; the steps of all lanes
    count alike.
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

    def tell(self, chunk: Chunk, step: int) -> None:
        """A chunk has come to a step."""
        self.event(
            "run" if self.left < self.missing or step else "compile",
            step,
            chunk.bucket.longest,
        )

    def finished(self, chunk: Chunk) -> None:
        """A chunk is finished."""
        self.left -= chunk.last - chunk.first
        steps = chunk.bucket.longest
        self.event("run" if self.left else "assemble", steps, steps)

    def event(self, phase: str, step: int, steps: int) -> None:
        """Show where the sweep stands."""
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
