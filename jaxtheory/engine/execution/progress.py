"""Progress of a sweep: its phase, the finished share, the time that remains, and recorded means."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxtheory.engine.records import Chunk, Lanes
from jaxtheory.engine.request.request import Request
from jaxtheory.texts.decimals import python_value

_LEADING = 4  # axes slot, row, run and value of a metric; further ones are the theory's


class Progress(NamedTuple):
    """State of a running sweep, the argument of the `progress` function of `sweep`.

    Args:
        phase: "compile", "run", "resume" or "assemble".
        done_points: The number of finished points.
        points: The number of all points.
        step: The recorded step of the chunk that reported.
        steps: The last step of that chunk.
        eta_seconds: The estimated time that remains, None while unknown.
        share: The share of all training steps that are done, in [0, 1].
        metrics: The mean of each metric with one number per run over the runs of that chunk, at
            this step. Runs that diverged or ended before are left out. A metric that is not
            recorded at this step, or has no run left, is NaN. None for events that are not a
            record, and for those of an executor whose workers do not report, such as a cluster.
        at: For each axis, and for "seed", its values among the runs of that chunk. None without
            metrics.
        runs: The number of runs of that chunk, 0 without metrics.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import random_walk
        >>> def show(progress):
        ...     if progress.metrics is not None:
        ...         print(progress.step, progress.at, sorted(progress.metrics)[:2])
        >>> data = jaxtheory.sweep(random_walk, random_walk.Config(), steps=1, progress=show)
        0 {'seed': [0]} ['accuracy', 'attention_spread']
        1 {'seed': [0]} ['accuracy', 'attention_spread']
    """

    phase: str
    done_points: int
    points: int
    step: int
    steps: int
    eta_seconds: float | None
    share: float = 0.0
    metrics: Mapping[str, float] | None = None
    at: Mapping[str, list] | None = None
    runs: int = 0


class Recorded(NamedTuple):
    """Means of one record of a chunk; `Progress` explains the fields."""

    metrics: dict[str, float]
    at: dict[str, list]
    runs: int


ComputeMeans = Callable[[], Recorded] | None  # computes the means of a record


def recorded(request: Request, inputs: Lanes, values: Mapping[str, np.ndarray]) -> Recorded:
    """Return the means of a record over the runs of a chunk; values: [slot, row, run, value, ...].

    A metric with further dimensions has no mean, because entries beyond a point's own sizes are
    padding.
    """
    lanes, points, seeds = inputs.out
    scalar = [name for name in request.schedule.which or () if not request.theory.dims.get(name)]
    means = dict.fromkeys(scalar, np.nan)
    for name, array in values.items():
        if array.ndim == _LEADING:
            entries = np.asarray(array[lanes], float)
            numbers = entries[~np.isnan(entries)]
            means[name] = float(numbers.mean()) if numbers.size else np.nan
        else:
            means.pop(name, None)
    at = _axis_values(request, points) | {"seed": request.seeds[np.unique(seeds)].tolist()}
    return Recorded(means, at, len(points))


def _axis_values(request: Request, points: np.ndarray) -> dict[str, list]:
    """For each axis its values among some points, in the order of the axis."""
    places = np.unravel_index(np.unique(points), request.points.shape) if request.axes else ()
    return {
        axis.name: [python_value(axis.labels[k]) for k in np.unique(place).tolist()]
        for axis, place in zip(request.axes, places, strict=True)
    }


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
        self.running: dict[tuple[int, int], float] = {}  # slots of each chunk that are done
        if self.left < self.total:
            self.event("resume", 0, 0)

    def report(self, chunk: Chunk, step: int, compute_means: ComputeMeans = None) -> None:
        """Note that a chunk has reached a step; compute_means() returns the means there."""
        if self.show is None:
            return
        steps = chunk.bucket.longest
        with self.lock:
            self.running[_key(chunk)] = (chunk.last - chunk.first) * step / max(steps, 1)
        phase = "run" if self.left < self.missing or step else "compile"
        self.event(phase, step, steps, compute_means and compute_means())

    def finished(self, chunk: Chunk) -> None:
        """Note that a chunk is finished."""
        with self.lock:
            self.left -= chunk.last - chunk.first
            self.running.pop(_key(chunk), None)
        steps = chunk.bucket.longest
        self.event("run" if self.left else "assemble", steps, steps)

    def event(self, phase: str, step: int, steps: int, record: Recorded | None = None) -> None:
        """Show the present state of the sweep."""
        if self.show is None:
            return
        done = self.missing - self.left
        eta = (time.perf_counter() - self.begun) / done * self.left if done else None
        with self.lock:
            trained = self.total - self.left + sum(self.running.values())
            progress = Progress(
                phase,
                self.points * (self.total - self.left) // max(self.total, 1),
                self.points,
                step,
                steps,
                eta,
                min(trained / max(self.total, 1), 1.0),
            )
            self.show(progress if record is None else progress._replace(**record._asdict()))


def _key(chunk: Chunk) -> Any:
    return chunk.bucket.number, chunk.first
