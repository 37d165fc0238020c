"""Compute chunks: one as a pure function, and all of them on the devices of this machine."""

import collections
import queue
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import jax

from jaxtheory.engine.compute.part import pick
from jaxtheory.engine.compute.training import TellRecord, train_chunk
from jaxtheory.engine.execution.progress import ComputeMeans, recorded
from jaxtheory.engine.planning.buckets import lanes
from jaxtheory.engine.records import Chunk, Lanes, Outcome, Part, Resumed
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.request.settings import numerics, settings, under
from jaxtheory.system.backend import backend, workers
from jaxtheory.texts.errors import InputError, brief, require_arguments

Report = Callable[[Chunk, int, ComputeMeans], None]
# the part of a chunk or, with a store, True if it is there and False if another process computes it
Computed = Part | bool
Execute = Callable[
    [Callable[[Chunk, Report], Computed], Iterable[Chunk], Report], Iterator[tuple[Chunk, Computed]]
]


def require_executor(execute: Any) -> None:
    """Raise InputError for an argument that is not an executor."""
    if not callable(execute):
        raise InputError(
            f"execute = {brief(execute)}: must be an executor, as jaxtheory.cluster.on(client)"
        )
    require_arguments("execute", execute, "task, chunks, report")


def run_chunks(
    execute: Execute, task: Callable, chunks: Collection[Chunk], tell: Report
) -> Iterator[tuple[Chunk, Computed]]:
    """Yield what an executor computes.

    Raises InputError if that is not each chunk once, with what the task returned for it.
    """
    pending_names = {chunk.name for chunk in chunks}
    pairs = execute(task, chunks, tell) if chunks else ()
    iterator = iter(pairs) if isinstance(pairs, Iterable) else iter([pairs])
    for pair in iterator:
        chunk, computed = pair if isinstance(pair, tuple) and len(pair) == 2 else (None, pair)
        known = isinstance(chunk, Chunk) and chunk.name in pending_names
        if not known or not isinstance(computed, Part | bool):
            raise InputError(
                f"the executor yields {brief(pair)}; it must yield (chunk, task(chunk)) for each "
                "chunk, once"
            )
        pending_names.remove(chunk.name)
        yield chunk, computed
    if pending_names:
        raise InputError(f"the executor left out {len(pending_names)} of {len(chunks)} chunks")


class GivenUpError(Exception):
    """Raised in the threads of a sweep that was interrupted."""


def silent(chunk: Chunk, step: int, compute_means: ComputeMeans = None) -> None:
    """Ignore a report of progress."""


def run_chunk(
    request: Request,
    chunk: Chunk,
    tell: Report = silent,
    resumed: Resumed | None = None,
    keep: Callable[[Outcome], None] = lambda _: None,
) -> Part:
    """Compute the part of a chunk, which is the same in any process.

    tell(chunk, step, compute_means) is called after each record; compute_means() returns the means
    of its metrics. The runs begin as `resumed`, if that is given. keep(outcome) is called at the
    end.
    """
    with numerics(request.dtype, request.partitionable):
        inputs = lanes(request, chunk)
        say = telling(request, chunk, inputs, tell)
        outcome = train_chunk(request, chunk, inputs, say, resumed=resumed)
        keep(outcome)
        return pick(request, chunk, inputs, outcome)


def telling(request: Request, chunk: Chunk, inputs: Lanes, tell: Report) -> TellRecord:
    """Return the function that a chunk in training calls after each record.

    The means of the metrics are computed when somebody asks for them.
    """
    return lambda step, values: tell(chunk, step, partial(recorded, request, inputs, values))


def places(count: int) -> "queue.SimpleQueue[Any]":
    """Return a queue of the devices for `count` threads: accelerators, or the one CPU device."""
    devices = jax.local_devices() if backend() != "cpu" else [None]
    free: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for k in range(count):
        free.put(devices[k % len(devices)])
    return free


def run_locally(
    run: Callable[[Chunk, Report], Computed], chunks: Iterable[Chunk], tell: Report = silent
) -> Iterator[tuple[Chunk, Computed]]:
    """Compute chunks on this machine and yield (chunk, part) as they are finished.

    There is one thread per worker. On CPU all threads use one device, so that each program is
    compiled once, and together they use all cores. Each accelerator has its own thread.
    """
    count = workers()
    given_up, free, caller = threading.Event(), places(count), settings()

    def tell_unless_given_up(chunk: Chunk, step: int, compute_means: ComputeMeans = None) -> None:
        if given_up.is_set():
            raise GivenUpError
        tell(chunk, step, compute_means)

    def work(chunk: Chunk) -> tuple[Chunk, Computed]:
        device = free.get()
        try:
            with under(caller, device):
                return chunk, run(chunk, tell_unless_given_up)
        finally:
            free.put(device)

    if count == 1:
        yield from map(work, chunks)
        return
    with ThreadPoolExecutor(count, thread_name_prefix="jaxtheory") as pool:
        try:
            running: collections.deque[Future[tuple[Chunk, Computed]]] = collections.deque()
            for chunk in chunks:
                running.append(pool.submit(work, chunk))
                if len(running) >= count:
                    yield from _finished(running)
            while running:
                yield from _finished(running)
        finally:
            given_up.set()


def _finished(
    running: "collections.deque[Future[tuple[Chunk, Computed]]]",
) -> Iterator[tuple[Chunk, Computed]]:
    """Wait until a chunk is finished; remove and yield those that are."""
    done = wait(running, return_when=FIRST_COMPLETED).done
    for future in [future for future in running if future in done]:
        running.remove(future)
        yield future.result()
