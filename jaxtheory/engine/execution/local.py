"""Computing chunks: one of them as a pure function, all of them on the devices of this machine, and
how long a chunk may be.
"""

import collections
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import jax

from jaxtheory.engine.compute.part import Part, pick
from jaxtheory.engine.compute.training import train_chunk
from jaxtheory.engine.planning.layout import CHUNK_SECONDS, Chunk, lanes
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.request.settings import numerics, settings, under
from jaxtheory.system.backend import backend, workers

Tell = Callable[[Chunk, int], None]
Computed = Part | None  # None: a part that stands in the store
Execute = Callable[
    [Callable[[Chunk, Tell], Computed], Iterable[Chunk], Tell], Iterator[tuple[Chunk, Computed]]
]


class GivenUpError(Exception):
    """Raised in a worker whose sweep is given up."""


def silent(chunk: Chunk, step: int) -> None:
    """Report nothing."""


def run_chunk(request: Request, chunk: Chunk, tell: Tell = silent) -> Part:
    """The part of a chunk: the same in this process or in another, computed once or twice.
    tell(chunk, step) follows the records.
    """
    with numerics(request.dtype, request.partitionable):
        inputs = lanes(request, chunk)
        outcome = train_chunk(request, chunk, inputs, lambda step: tell(chunk, step))
        return pick(request, chunk, inputs, outcome)


class Waiting:
    """Chunks that wait, cut as they are taken. The first of a bucket is one slot; the others take
    as many slots as its measured time allows in CHUNK_SECONDS.
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
        """The next chunk, of a length that `count` workers share; what is left of it waits."""
        chunk = self.chunks.pop()
        number = chunk.bucket.number
        known = self.seconds.get(number)
        most = (
            1
            if known is None
            else max(1, min(int(CHUNK_SECONDS / max(known, 1e-9)), -(-self.left[number] // count)))
        )
        if chunk.first + most < chunk.last:
            self.chunks.append(chunk._replace(first=chunk.first + most))
            chunk = chunk._replace(last=chunk.first + most)
        self.left[number] -= chunk.last - chunk.first
        return chunk

    def note(self, chunk: Chunk, took: float) -> None:
        """Keep the least time per slot seen of a bucket: the first chunk compiles as well."""
        each, number = took / (chunk.last - chunk.first), chunk.bucket.number
        self.seconds[number] = min(each, self.seconds.get(number, each))


def places(count: int) -> "queue.SimpleQueue[Any]":
    """The devices that `count` threads take turns in: accelerators; on CPU one device for all."""
    devices = jax.local_devices() if backend() != "cpu" else [None]
    free: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for k in range(count):
        free.put(devices[k % len(devices)])
    return free


def here(
    run: Callable[[Chunk, Tell], Computed], chunks: Iterable[Chunk], tell: Tell = silent
) -> Iterator[tuple[Chunk, Computed]]:
    """Compute chunks on this machine and yield (chunk, part) as they are finished.

    One thread per worker. On CPU all threads use one device, hence one compilation, and the
    processor's cores side by side; accelerators get a thread each.
    """
    count = workers()
    waiting, given_up, free, mine = Waiting(chunks), threading.Event(), places(count), settings()

    def told(chunk: Chunk, step: int) -> None:
        if given_up.is_set():
            raise GivenUpError
        tell(chunk, step)

    def work(chunk: Chunk) -> tuple[Chunk, Computed, float]:
        device = free.get()
        try:
            with under(mine, device):
                begun = time.perf_counter()
                part = run(chunk, told)
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
