"""Compute chunks: one as a pure function, and all of them on the devices of this machine."""

import collections
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import jax

from jaxtheory.engine.compute.part import pick
from jaxtheory.engine.compute.training import TellRecord, train_chunk
from jaxtheory.engine.execution.progress import Told, recorded
from jaxtheory.engine.planning.layout import CHUNK_SECONDS, lanes
from jaxtheory.engine.records import Chunk, Lanes, Outcome, Part, Resumed
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.request.settings import numerics, settings, under
from jaxtheory.system.backend import backend, workers

Tell = Callable[[Chunk, int, Told], None]
Computed = Part | None  # None: the part is in the store
Execute = Callable[
    [Callable[[Chunk, Tell], Computed], Iterable[Chunk], Tell], Iterator[tuple[Chunk, Computed]]
]


class GivenUpError(Exception):
    """Raised in the threads of a sweep that was interrupted."""


def silent(chunk: Chunk, step: int, told: Told = None) -> None:
    """Ignore a report of progress."""


def run_chunk(
    request: Request,
    chunk: Chunk,
    tell: Tell = silent,
    resumed: Resumed | None = None,
    keep: Callable[[Outcome], None] = lambda _: None,
) -> Part:
    """Compute the part of a chunk, which is the same in any process.

    tell(chunk, step, told) is called after each record; told() returns the means of its metrics.
    The runs begin as `resumed`, if that is given. keep(outcome) is called at the end.
    """
    with numerics(request.dtype, request.partitionable):
        inputs = lanes(request, chunk)
        say = telling(request, chunk, inputs, tell)
        outcome = train_chunk(request, chunk, inputs, say, resumed=resumed)
        keep(outcome)
        return pick(request, chunk, inputs, outcome)


def telling(request: Request, chunk: Chunk, inputs: Lanes, tell: Tell) -> TellRecord:
    """Return the function that a chunk in training calls after each record.

    The means of the metrics are computed when somebody asks for them.
    """
    return lambda step, values: tell(chunk, step, partial(recorded, request, inputs, values))


class Waiting:
    """Queue of pending chunks, which are split as they are taken.

    The first chunk of a bucket has one slot. Later ones have as many slots as take about
    CHUNK_SECONDS by the measured time per slot.
    """

    def __init__(self, chunks: Iterable[Chunk]):
        self.chunks = list(reversed(list(chunks)))
        self.seconds: dict[int, float] = {}  # per slot of a bucket
        self.left = collections.Counter[int]()  # slots of a bucket
        for chunk in self.chunks:
            self.left[chunk.bucket.number] += chunk.last - chunk.first

    def __bool__(self) -> bool:
        return bool(self.chunks)

    def take(self, count: int) -> Chunk:
        """Take a chunk, short enough that `count` workers share; the rest stays in the queue."""
        chunk = self.chunks.pop()
        number = chunk.bucket.number
        seconds = self.seconds.get(number)
        most = 1
        if seconds is not None:
            share = -(-self.left[number] // count)
            most = max(1, min(int(CHUNK_SECONDS / max(seconds, 1e-9)), share))
        if chunk.first + most < chunk.last:
            self.chunks.append(chunk._replace(first=chunk.first + most))
            chunk = chunk._replace(last=chunk.first + most)
        self.left[number] -= chunk.last - chunk.first
        return chunk

    def note(self, chunk: Chunk, took: float) -> None:
        """Note the time of a chunk; the least per slot counts, as the first chunk also compiles."""
        each, number = took / (chunk.last - chunk.first), chunk.bucket.number
        self.seconds[number] = min(each, self.seconds.get(number, each))


def places(count: int) -> "queue.SimpleQueue[Any]":
    """Return a queue of the devices for `count` threads: accelerators, or the one CPU device."""
    devices = jax.local_devices() if backend() != "cpu" else [None]
    free: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for k in range(count):
        free.put(devices[k % len(devices)])
    return free


def here(
    run: Callable[[Chunk, Tell], Computed], chunks: Iterable[Chunk], tell: Tell = silent
) -> Iterator[tuple[Chunk, Computed]]:
    """Compute chunks on this machine and yield (chunk, part) as they are finished.

    There is one thread per worker. On CPU all threads use one device, so that each program is
    compiled once, and together they use all cores. Each accelerator has its own thread.
    """
    count = workers()
    waiting, given_up, free, caller = Waiting(chunks), threading.Event(), places(count), settings()

    def tell_unless_given_up(chunk: Chunk, step: int, told: Told = None) -> None:
        if given_up.is_set():
            raise GivenUpError
        tell(chunk, step, told)

    def work(chunk: Chunk) -> tuple[Chunk, Computed, float]:
        device = free.get()
        try:
            with under(caller, device):
                begun = time.perf_counter()
                part = run(chunk, tell_unless_given_up)
                return chunk, part, time.perf_counter() - begun
        finally:
            free.put(device)

    if count == 1:
        while waiting:
            chunk, part, took = work(waiting.take(count))
            waiting.note(chunk, took)
            yield chunk, part
        return
    with ThreadPoolExecutor(count, thread_name_prefix="jaxtheory") as pool:
        running: set[Future[tuple[Chunk, Computed, float]]] = set()
        try:
            while waiting or running:
                while waiting and len(running) < count:
                    running.add(pool.submit(work, waiting.take(count)))
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    chunk, part, took = future.result()
                    waiting.note(chunk, took)
                    yield chunk, part
        finally:
            given_up.set()
