"""Sweeps on a Dask cluster: `on(client)` is an executor of `sweep`; `local`, `connected` and
`slurm` make one on this machine, at a scheduler's address, or by jobs of Slurm.

The extra `jaxtheory[cluster]`. What a worker does stands in `worker`, what travels in `parcel`.
"""

import asyncio
import contextlib
import importlib
import logging
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from jaxtheory.core.errors import InputError
from jaxtheory.engine import threads
from jaxtheory.engine.execute import Computed, Execute, Tell, Waiting, silent
from jaxtheory.engine.layout import Chunk
from jaxtheory.engine.work import Work

AHEAD = 2  # chunks per thread of the cluster that are given out at a time
COUNT_SECONDS = 2  # after which workers are counted again
ANSWER_SECONDS = 10  # a scheduler has to answer in
RESUME = "with a store what is finished is kept, and the same command resumes"


def needed(module: str) -> Any:
    """A module of the extra, or InputError."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"clusters need {error.name}; pip install 'jaxtheory[cluster]'") from None


def on(client: Any) -> Execute:
    """What computes the chunks of a sweep on the cluster of a `distributed.Client`:
    `sweep(..., execute=on(client))`.

    With a store, which all workers and this machine must see, workers write their parts themselves;
    without one they return through the scheduler, for what fits into memory. Chunks go out
    as workers become free, a chunk of a lost worker goes to another, and workers may come and go.
    The sweep raises InputError where a worker has other versions or other code, does not see
    the store, or the scheduler is gone.
    """
    distributed = needed("distributed")
    from jaxtheory.engine import parcel

    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise InputError(
            f"client = {client!r}: must be a distributed.Client that is not asynchronous"
        )

    def given_out(
        run: Callable[[Chunk, Tell], Computed], chunks: Iterable[Chunk], tell: Tell = silent
    ) -> Iterator[tuple[Chunk, Computed]]:
        if not isinstance(run, Work):
            raise InputError("run: a cluster computes the chunks of `sweep`, and nothing else")
        todo, name = list(chunks), uuid.uuid4().hex[:8]
        if not todo:
            return
        waiting, running = Waiting(todo), dict[str, tuple[Any, Chunk]]()
        finished = distributed.as_completed(loop=client.loop)
        with answered(client, distributed):
            packed = client.submit(bytes, parcel.pack(run, todo), key=f"parcel-{name}")

        threads, counted = 1, -float(COUNT_SECONDS)

        def send() -> None:
            nonlocal threads, counted
            if time.monotonic() > counted + COUNT_SECONDS:
                threads, counted = max(sum(client.nthreads().values()), 1), time.monotonic()
            while waiting and len(running) < AHEAD * threads:
                chunk = waiting.take(threads)
                place = (chunk.bucket.number, chunk.first, chunk.last)
                key = f"chunk-{name}-{chunk.name}"
                future = client.submit(errand, packed, *place, key=key, pure=False)
                running[key] = future, chunk
                finished.add(future)

        try:
            with answered(client, distributed):
                send()
            while running:
                with answered(client, distributed):
                    future = next(finished)
                    _, chunk = running.pop(future.key)
                    took, part = future.result()
                    waiting.note(chunk, took)
                    future.release()
                yield chunk, part
                with answered(client, distributed):
                    send()
        finally:
            with contextlib.suppress(Exception):  # a client that is gone has nothing to cancel
                client.cancel([future for future, _ in running.values()])

    return given_out


def errand(*parcel_and_place: Any) -> Any:
    """`worker.errand`, found where it runs."""
    from jaxtheory.engine import worker

    return worker.errand(*parcel_and_place)


errand.__module__ = "__main__"  # travels by value: a worker without jaxtheory says so and lives on


@contextlib.contextmanager
def answered(client: Any, distributed: Any) -> Iterator[None]:
    """Within: what goes wrong with the cluster itself is an InputError of one line."""
    lost = (asyncio.CancelledError, distributed.CancelledError, StopIteration, OSError)
    try:
        yield
    except InputError:
        raise
    except distributed.KilledWorker as error:
        raise InputError(
            f"{error.task}: the last {error.allowed_failures + 1} workers that computed it died; "
            f"give them more memory, or fewer threads; {RESUME}"
        ) from None
    except lost as error:
        where = getattr(client.scheduler, "address", None) or "the scheduler"
        raise InputError(f"{where} is gone ({type(error).__name__}); {RESUME}") from None
    except ModuleNotFoundError as error:
        raise InputError(
            f"a worker cannot import {error.name}; install the sweep's packages there"
        ) from None


@contextlib.contextmanager
def connected(address: str) -> Iterator[Execute]:
    """An executor on the cluster of a scheduler. Raises InputError where none answers."""
    distributed = needed("distributed")
    with quiet():
        try:
            client = distributed.Client(address, timeout=ANSWER_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            said = str(error).partition("\n")[0]
            raise InputError(
                f"no scheduler at {address} ({said}); start one with `dask scheduler`, or leave "
                "--scheduler out for a cluster on this machine"
            ) from None
        with closing(client):
            yield on(client)


@contextlib.contextmanager
def local(workers: int = 1) -> Iterator[Execute]:
    """An executor on this machine: so many worker processes, which share its cores or accelerators
    as threads.
    """
    distributed = needed("distributed")
    count = checked(workers)
    options = {
        "n_workers": count,
        "threads_per_worker": max(1, threads.workers() // count),
        "memory_limit": 0,
        "dashboard_address": None,
        "silence_logs": logging.CRITICAL,
    }
    with (
        quiet(),
        distributed.LocalCluster(**options) as cluster,
        closing(distributed.Client(cluster, set_as_default=False)) as client,
    ):
        yield on(client)


@contextlib.contextmanager
def slurm(jobs: int = 1, options: Mapping[str, Any] | None = None) -> Iterator[Execute]:
    """An executor on so many jobs of Slurm, a worker each; one that ends is followed by another.
    options are those of `dask_jobqueue.SLURMCluster`.
    """
    count = checked(jobs)
    script(options)
    jobqueue, distributed = needed("dask_jobqueue"), needed("distributed")
    with quiet():
        with refused():
            cluster = jobqueue.SLURMCluster(
                scheduler_options={"dashboard_address": None}, **job_options(options)
            )
        with cluster, closing(distributed.Client(cluster, set_as_default=False)) as client:
            cluster.adapt(minimum_jobs=count, maximum_jobs=count)
            yield on(client)


def script(options: Mapping[str, Any] | None = None) -> str:
    """The text of each job that `slurm` submits, with SCHEDULER for its address."""
    job = needed("dask_jobqueue.slurm").SLURMJob
    with refused():
        text: str = job("SCHEDULER", "NAME", **job_options(options)).job_script()
    return text


def job_options(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """One process a job, so that a node compiles each program once; what is given goes before."""
    return {"processes": 1, **(options or {})}


@contextlib.contextmanager
def refused() -> Iterator[None]:
    """Within: what dask-jobqueue refuses is an InputError."""
    try:
        yield
    except (ValueError, TypeError, OSError) as error:
        said = " ".join(str(error).split())
        raise InputError(
            f"Slurm job: {said}; give --job cores=N, --job memory=64GB and others of "
            "dask_jobqueue.SLURMCluster"
        ) from None


@contextlib.contextmanager
def closing(client: Any) -> Iterator[Any]:
    """The client, closed at the end whatever its scheduler says by then."""
    try:
        yield client
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=ANSWER_SECONDS)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Within: Dask logs nothing of connections that break or are tried again."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado")]
    levels = [one.level for one in loggers]
    for one in loggers:
        one.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for one, level in zip(loggers, levels, strict=True):
            one.setLevel(level)


def checked(count: Any) -> int:
    """A number of workers, or InputError."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InputError(f"workers = {count!r}: must be an integer in [1, inf)")
    return count
