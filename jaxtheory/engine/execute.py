"""Computing chunks: one of them as a pure function, and all of them on the devices of
this machine.
"""

import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import jax

from jaxtheory.engine.lanes import train_chunk
from jaxtheory.engine.layout import Chunk, lanes
from jaxtheory.engine.part import Part, pick
from jaxtheory.engine.request import Request, backend, flag, numerics

CHUNK_SECONDS = 30.0  # what is lost at most by an interruption

# JAX's settings of the calling thread that its workers take over; those that change numbers are the
# request's
FLAGS: dict[str, Callable] = {
    "jax_log_compiles": jax.log_compiles,
    "jax_numpy_dtype_promotion": jax.numpy_dtype_promotion,
    "jax_numpy_rank_promotion": jax.numpy_rank_promotion,
}

Tell = Callable[[Chunk, int], None]
Execute = Callable[
    [Callable[[Chunk, Tell], Part], Iterable[Chunk], Tell], Iterator[tuple[Chunk, Part]]
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


def workers() -> int:
    """How many chunks are computed side by side: JAXTHEORY_DEVICES, else the accelerators, else the
    cores of the CPU.
    """
    wanted = os.environ.get("JAXTHEORY_DEVICES", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    if backend() != "cpu":
        return jax.local_device_count()
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def here(
    run: Callable[[Chunk, Tell], Part], chunks: Iterable[Chunk], tell: Tell = silent
) -> Iterator[tuple[Chunk, Part]]:
    """Compute chunks on this machine and yield (chunk, part) as they are finished.

    One thread per worker. On CPU all threads use one device, hence one compilation, and the
    processor's cores side by side; accelerators get a thread each. The first chunk of a bucket is
    one slot; the others take as many slots as its measured time allows in 30 s.
    """
    count = workers()
    devices = jax.local_devices() if backend() != "cpu" else [None]
    waiting, seconds = list(reversed(list(chunks))), dict[int, float]()
    given_up, free = threading.Event(), queue.SimpleQueue[object]()
    for k in range(count):
        free.put(devices[k % len(devices)])

    def told(chunk: Chunk, step: int) -> None:
        if given_up.is_set():
            raise GivenUpError
        tell(chunk, step)

    settings = {name: flag(name) for name in FLAGS}

    def work(chunk: Chunk) -> tuple[Chunk, Part, float]:
        device = free.get()
        try:
            with contextlib.ExitStack() as within:
                for name, setting in FLAGS.items():
                    within.enter_context(setting(settings[name]))
                if device is not None:
                    within.enter_context(jax.default_device(device))
                begun = time.perf_counter()
                part = run(chunk, told)
                return chunk, part, time.perf_counter() - begun
        finally:
            free.put(device)

    def cut() -> Chunk:
        """The next chunk, of a length that the measured time allows; what is left of it waits."""
        chunk = waiting.pop()
        known = seconds.get(chunk.bucket.number)
        left = (
            sum(c.last - c.first for c in waiting if c.bucket.number == chunk.bucket.number)
            + chunk.last
            - chunk.first
        )
        most = (
            1
            if known is None
            else max(1, min(int(CHUNK_SECONDS / max(known, 1e-9)), -(-left // count)))
        )
        if chunk.first + most < chunk.last:
            waiting.append(chunk._replace(first=chunk.first + most))
            chunk = chunk._replace(last=chunk.first + most)
        return chunk

    if count == 1:
        while waiting:
            chunk, part, took = work(cut())
            note(seconds, chunk, took)
            yield chunk, part
        return
    with ThreadPoolExecutor(count, thread_name_prefix="jaxtheory") as pool:
        running: set[Future[tuple[Chunk, Part, float]]] = set()
        try:
            while waiting or running:
                while waiting and len(running) < count:
                    running.add(pool.submit(work, cut()))
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    chunk, part, took = future.result()
                    note(seconds, chunk, took)
                    yield chunk, part
        finally:
            given_up.set()


def note(seconds: dict[int, float], chunk: Chunk, took: float) -> None:
    """Keep the least time per slot seen of a bucket: the first chunk compiles as well."""
    each = took / (chunk.last - chunk.first)
    seconds[chunk.bucket.number] = min(each, seconds.get(chunk.bucket.number, each))
