"""Sweeps on a Dask cluster: `on(client)` is an executor of `sweep`; `local`, `connected` and
`slurm` make one on this machine, at a scheduler's address, or by jobs of Slurm.

The extra `jaxtheory[cluster]`. What a worker does stands in `worker`, what travels in `parcel`.
"""

import asyncio
import contextlib
import importlib
import inspect
import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxtheory.core.errors import InputError, notice, suggest
from jaxtheory.engine.execution.local import Computed, Execute, Tell, Waiting, silent
from jaxtheory.engine.execution.task import Task
from jaxtheory.engine.planning.layout import Chunk
from jaxtheory.system import backend

_AHEAD = 2  # chunks per thread of the cluster that are given out at a time
_COUNT_SECONDS = 2  # after which workers are counted again
_ANSWER_SECONDS = 10  # a scheduler has to answer in
# arguments of dask_jobqueue that no job needs, or that are set here
_OURS = set(
    "self args kwargs base_class_kwargs job_kwargs n_workers job_cls loop asynchronous name "
    "scheduler scheduler_cls scheduler_options silence_logs host dashboard_address".split()
)
_RENAMED = {
    "extra": "worker_extra_args",
    "job_extra": "job_extra_directives",
    "env_extra": "job_script_prologue",
    "header_skip": "job_directives_skip",
    "project": "account",
}
_RESUME = "with a store what is finished is kept, and the same command resumes"


def _needed(module: str) -> Any:
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
    distributed = _needed("distributed")
    from jaxtheory.engine.cluster import pickling

    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise InputError(
            f"client = {client!r}: must be a distributed.Client that is not asynchronous"
        )

    def given_out(
        run: Callable[[Chunk, Tell], Computed], chunks: Iterable[Chunk], tell: Tell = silent
    ) -> Iterator[tuple[Chunk, Computed]]:
        if not isinstance(run, Task):
            raise InputError("run: a cluster computes the chunks of `sweep`, and nothing else")
        todo, name = list(chunks), uuid.uuid4().hex[:8]
        if not todo:
            return
        waiting, running = Waiting(todo), dict[str, tuple[Any, Chunk]]()
        finished = distributed.as_completed(loop=client.loop)
        with _answered(client, distributed):
            packed = client.submit(bytes, pickling.pack(run, todo), key=f"parcel-{name}")

        threads, counted = 1, -float(_COUNT_SECONDS)

        def send() -> None:
            nonlocal threads, counted
            if time.monotonic() > counted + _COUNT_SECONDS:
                threads, counted = max(sum(client.nthreads().values()), 1), time.monotonic()
            while waiting and len(running) < _AHEAD * threads:
                chunk = waiting.take(threads)
                place = (chunk.bucket.number, chunk.first, chunk.last)
                key = f"chunk-{name}-{chunk.name}"
                future = client.submit(_run_on_worker, packed, *place, key=key, pure=False)
                running[key] = future, chunk
                finished.add(future)

        over = threading.Event()
        threading.Thread(target=tell_where_alone, args=(client, over), daemon=True).start()
        try:
            with _answered(client, distributed):
                send()
            while running:
                with _answered(client, distributed):
                    future = next(finished)
                    _, chunk = running.pop(future.key)
                    took, part = future.result()
                    waiting.note(chunk, took)
                    future.release()
                yield chunk, part
                with _answered(client, distributed):
                    send()
        finally:
            over.set()
            with contextlib.suppress(Exception):  # a client that is gone has nothing to cancel
                client.cancel([future for future, _ in running.values()])

    return given_out


def _run_on_worker(*parcel_and_place: Any) -> Any:
    """`worker.compute_chunk`, found where it runs."""
    from jaxtheory.engine.cluster import worker

    return worker.compute_chunk(*parcel_and_place)


_run_on_worker.__module__ = (
    "__main__"  # travels by value: a worker without jaxtheory says so and lives on
)


def _tell_where_alone(client: Any, over: threading.Event) -> None:
    """Say so where the cluster has no worker for _ANSWER_SECONDS, once each time, until the sweep is
    over.
    """
    told = False
    while not over.wait(_ANSWER_SECONDS):
        try:
            alone = not client.nthreads()
        except Exception:  # the sweep itself says that the scheduler is gone
            return
        if alone and not told and not over.is_set():
            where = getattr(client.scheduler, "address", None) or "the scheduler"
            notice(f"no worker is connected to {where}; the sweep waits for one")
        told = alone


@contextlib.contextmanager
def _answered(client: Any, distributed: Any) -> Iterator[None]:
    """Within: what goes wrong with the cluster itself is an InputError of one line."""
    lost = (asyncio.CancelledError, distributed.CancelledError, StopIteration, OSError)
    try:
        yield
    except InputError:
        raise
    except distributed.KilledWorker as error:
        raise InputError(
            f"{error.task}: the last {error.allowed_failures + 1} workers that computed it died; "
            f"give them more memory, or fewer threads; {_RESUME}"
        ) from None
    except lost as error:
        where = getattr(client.scheduler, "address", None) or "the scheduler"
        raise InputError(f"{where} is gone ({type(error).__name__}); {_RESUME}") from None
    except ModuleNotFoundError as error:
        raise InputError(
            f"a worker cannot import {error.name}; install the sweep's packages there"
        ) from None


@contextlib.contextmanager
def connected(address: str, tls: Mapping[str, str | Path] | None = None) -> Iterator[Execute]:
    """An executor on the cluster of a scheduler.

    Args:
        address: For instance "tcp://HOST:8786", or "tls://HOST:8786" for a scheduler by TLS.
        tls: Files of certificates for TLS: "ca", whom the scheduler's must be signed by, "cert" and
            "key", this client's own. What is left out is taken from Dask's configuration.

    Raises:
        InputError: No scheduler answers, a file is missing, or the scheduler refuses this client.
    """
    distributed = _needed("distributed")
    security = _certificates(tls) if tls else None
    with _without_logs():
        try:
            client = distributed.Client(
                address, timeout=_ANSWER_SECONDS, set_as_default=False, security=security
            )
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            said = " ".join(str(error).split())
            raise InputError(
                f"no scheduler at {address} ({said}); start one with `dask scheduler`, or leave "
                "--scheduler out for a cluster on this machine"
            ) from None
        with _closing(client):
            yield on(client)


def _certificates(files: Mapping[str, str | Path]) -> Any:
    """What Dask needs for TLS with these files. Raises InputError for one that is not there."""
    for file in files.values():
        if not Path(file).is_file():
            raise InputError(f"{file}: not a file; give a certificate or a key in PEM format")
    names = {"ca": "tls_ca_file", "cert": "tls_client_cert", "key": "tls_client_key"}
    given = {names[name]: str(file) for name, file in files.items()}
    return _needed("distributed").Security(**given, require_encryption=True)


@contextlib.contextmanager
def local(workers: int = 1) -> Iterator[Execute]:
    """An executor on this machine: so many worker processes, which share its cores or accelerators
    as threads.
    """
    distributed = _needed("distributed")
    count = _check_count(workers)
    options = {
        "n_workers": count,
        "threads_per_worker": max(1, backend.workers() // count),
        "memory_limit": 0,
        "dashboard_address": None,
        "silence_logs": logging.CRITICAL,
    }
    with (
        _without_logs(),
        distributed.LocalCluster(**options) as cluster,
        _closing(distributed.Client(cluster, set_as_default=False)) as client,
    ):
        yield on(client)


@contextlib.contextmanager
def slurm(jobs: int = 1, options: Mapping[str, Any] | None = None) -> Iterator[Execute]:
    """An executor on so many jobs of Slurm, a worker each; one that ends is followed by another.

    Scheduler and workers speak by TLS with certificates of their own, which lie in files in the
    working directory as long as the cluster lives.

    Args:
        jobs: How many jobs.
        options: Those of `dask_jobqueue.SLURMCluster`. `security=False` leaves TLS out: whoever
            reaches the scheduler can then run code on its workers.

    Raises:
        InputError: An option is unknown, or not what dask_jobqueue takes.
    """
    count = _check_count(jobs)
    script(options)
    jobqueue, distributed = _needed("dask_jobqueue"), _needed("distributed")
    given = _job_options(options)
    if given["security"] is True:
        _needed("cryptography")
    if given["security"] is False:
        given["security"] = None
    if given.get("shared_temp_directory") is None:
        given["shared_temp_directory"] = _configured()["shared-temp-directory"] or os.getcwd()
    with _without_logs():
        with _refused():
            cluster = jobqueue.SLURMCluster(scheduler_options={"dashboard_address": None}, **given)
        with cluster, _closing(distributed.Client(cluster, set_as_default=False)) as client:
            cluster.adapt(minimum_jobs=count, maximum_jobs=count)
            yield on(client)


def script(options: Mapping[str, Any] | None = None) -> str:
    """The text of each job that `slurm` submits, with SCHEDULER for its address."""
    job = _needed("dask_jobqueue.slurm").SLURMJob
    given = _job_options(options)
    given.pop("shared_temp_directory", None)
    if given.pop("security"):  # the cluster adds the files of its certificates
        given.setdefault("protocol", "tls://")
    with _refused():
        text: str = job("SCHEDULER", "NAME", **given).job_script()
    return text


def _configured() -> dict[str, Any]:
    """The settings for Slurm in the user's dask_jobqueue configuration, with its defaults."""
    _needed("dask_jobqueue")
    found: dict[str, Any] = _needed("dask").config.get("jobqueue.slurm")
    return found


def known_options() -> dict[str, bool]:
    """The options of a job by name, and whether each is a list."""
    jobqueue = _needed("dask_jobqueue")
    families = (*jobqueue.SLURMCluster.__mro__, *_needed("dask_jobqueue.slurm").SLURMJob.__mro__)
    names = {
        name
        for family in families
        if family.__module__.startswith("dask_jobqueue")
        for name in inspect.signature(family.__init__).parameters
    }
    lists = {name.replace("-", "_") for name, v in _configured().items() if isinstance(v, list)}
    return {name: name in lists for name in sorted(names - _OURS - _RENAMED.keys())}


def _job_options(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """The options that dask_jobqueue is given: one process a job, so that a node compiles each
    program once, and TLS; what the caller gives goes before. One text for a list is its one entry.
    """
    known, found = known_options(), dict[str, Any](processes=1, security=True)
    for name, value in (options or {}).items():
        if name in _RENAMED:
            raise InputError(f"--job {name}: dask_jobqueue calls it {_RENAMED[name]} now")
        if name not in known:
            raise InputError(f"--job {name}: unknown option; {suggest(name, known)}")
        several = isinstance(value, list | tuple)
        if several and not known[name]:
            raise InputError(f"--job {name}: given twice, but takes one value")
        found[name] = list(map(str, value if several else [value])) if known[name] else value
    return found


@contextlib.contextmanager
def _refused() -> Iterator[None]:
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
def _closing(client: Any) -> Iterator[Any]:
    """The client, closed at the end whatever its scheduler says by then."""
    try:
        yield client
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=_ANSWER_SECONDS)


@contextlib.contextmanager
def _without_logs() -> Iterator[None]:
    """Within: Dask logs nothing of connections that break or are tried again. Its parts have
    loggers with levels of their own.
    """
    known = logging.getLogger().manager.loggerDict
    names = [name for name in known if name.partition(".")[0] in ("distributed", "tornado")]
    loggers = [logging.getLogger(name) for name in names]
    levels = [one.level for one in loggers]
    for one in loggers:
        one.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for one, level in zip(loggers, levels, strict=True):
            one.setLevel(level)


def _check_count(count: Any) -> int:
    """A number of workers, or InputError."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InputError(f"workers = {count!r}: must be an integer in [1, inf)")
    return count
