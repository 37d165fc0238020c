"""Executors of `sweep` on a Dask cluster.

`on(client)` uses a cluster that is running. `local`, `connected` and `slurm` open one on this
machine, at the address of a scheduler, or as jobs of Slurm.

This module needs the extra `jaxtheory[cluster]`. `worker` computes chunks on a worker, and
`pickling` defines what is sent there.
"""

import asyncio
import collections
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

from jaxtheory.engine.execution.chunk_task import ChunkTask
from jaxtheory.engine.execution.local import Computed, Execute, Report, silent
from jaxtheory.engine.records import Chunk
from jaxtheory.system import backend, disk, temporary
from jaxtheory.texts.errors import InputError, notice, suggest

__all__ = ["connected", "known_options", "local", "on", "script", "slurm"]

_AHEAD = 2  # chunks submitted at a time, per thread of the cluster
_COUNT_SECONDS = 2  # interval at which the threads of the cluster are counted
_ANSWER_SECONDS = 10  # within which a scheduler has to answer
# arguments of dask_jobqueue that a job does not need, or that are set here
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
_RESUME = "with a store, finished chunks are kept and the same command resumes"


def _needed(module: str) -> Any:
    """Import a module of the extra. Raises InputError if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"clusters need the package {error.name}: pip install 'jaxtheory[cluster]'"
        ) from None


def on(client: Any) -> Execute:
    """Return an executor that computes the chunks of a sweep on a Dask cluster.

    With a store, which this machine and all workers must see, each worker writes its parts itself.
    Without a store the parts return through the scheduler and must fit into the memory of this
    machine. Chunks are submitted as workers become free, and a chunk of a lost worker is computed
    by another, so that workers may join and leave during the sweep.

    The sweep itself raises InputError where a worker has other versions or other code, or does not
    see the store, and where the scheduler is gone.

    Args:
        client: A `distributed.Client` that is not asynchronous.

    Returns:
        An executor, for `jaxtheory.sweep(..., execute=on(client))`.

    Raises:
        InputError: `client` is not such a client, or the extra `jaxtheory[cluster]` is missing.

    Example:
        >>> import jaxtheory
        >>> from distributed import Client  # doctest: +SKIP
        >>> execute = jaxtheory.cluster.on(Client("tcp://HOST:8786"))  # doctest: +SKIP
        >>> from jaxtheory.theories import random_walk
        >>> data = jaxtheory.sweep(
        ...     random_walk, random_walk.Config(), seeds=4, steps=5, execute=execute
        ... )  # doctest: +SKIP
    """
    distributed = _needed("distributed")
    from jaxtheory.engine.cluster import pickling

    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise InputError(
            f"client = {client!r}: must be a distributed.Client that is not asynchronous"
        )

    def execute(
        run: Callable[[Chunk, Report], Computed], chunks: Iterable[Chunk], tell: Report = silent
    ) -> Iterator[tuple[Chunk, Computed]]:
        if not isinstance(run, ChunkTask):
            raise InputError("run: a cluster computes only the chunks of jaxtheory.sweep")
        todo, name = list(chunks), uuid.uuid4().hex[:8]
        if not todo:
            return
        waiting, running = collections.deque(todo), dict[str, tuple[Any, Chunk]]()
        finished = distributed.as_completed(loop=client.loop)
        with _answered(client, distributed):
            packed = client.submit(bytes, pickling.pack(run, todo), key=f"parcel-{name}")

        threads, counted = 1, -float(_COUNT_SECONDS)

        def send() -> None:
            nonlocal threads, counted
            if time.monotonic() > counted + _COUNT_SECONDS:
                threads, counted = max(sum(client.nthreads().values()), 1), time.monotonic()
            while waiting and len(running) < _AHEAD * threads:
                chunk = waiting.popleft()
                place = (chunk.bucket.number, chunk.first, chunk.last)
                key = f"chunk-{name}-{chunk.name}"
                future = client.submit(_run_on_worker, packed, *place, key=key, pure=False)
                running[key] = future, chunk
                finished.add(future)

        over = threading.Event()
        threading.Thread(target=_warn_without_workers, args=(client, over), daemon=True).start()
        try:
            with _answered(client, distributed):
                send()
            while running:
                with _answered(client, distributed):
                    future = next(finished)
                    _, chunk = running.pop(future.key)
                    part = future.result()
                    future.release()
                yield chunk, part
                with _answered(client, distributed):
                    send()
        finally:
            over.set()
            with contextlib.suppress(Exception):  # a closed client has nothing to cancel
                client.cancel([future for future, _ in running.values()])

    return execute


def _run_on_worker(*parcel_and_place: Any) -> Any:
    """Call `worker.compute_chunk` as it is installed on the worker."""
    from jaxtheory.engine.cluster import worker

    return worker.compute_chunk(*parcel_and_place)


# pickled by value: on a worker without jaxtheory the call fails with an ImportError, and the worker
# continues
_run_on_worker.__module__ = "__main__"


def _warn_without_workers(client: Any, over: threading.Event) -> None:
    """Print a notice whenever the cluster has had no worker for _ANSWER_SECONDS.

    It ends when the sweep is over.
    """
    noticed = False
    while not over.wait(_ANSWER_SECONDS):
        try:
            is_empty = not client.nthreads()
        except Exception:  # the sweep itself reports a lost scheduler
            return
        if is_empty and not noticed and not over.is_set():
            where = getattr(client.scheduler, "address", None) or "the scheduler"
            notice(f"no worker is connected to {where}; the sweep waits for one")
        noticed = is_empty


@contextlib.contextmanager
def _answered(client: Any, distributed: Any) -> Iterator[None]:
    """Turn failures of the cluster itself into an InputError."""
    failures = (asyncio.CancelledError, distributed.CancelledError, StopIteration, OSError)
    try:
        yield
    except InputError:
        raise
    except distributed.KilledWorker as error:
        raise InputError(
            f"{error.task}: the last {error.allowed_failures + 1} workers that computed it died; "
            f"give workers more memory or fewer threads; {_RESUME}"
        ) from None
    except failures as error:
        where = getattr(client.scheduler, "address", None) or "the scheduler"
        raise InputError(f"{where} is gone ({type(error).__name__}); {_RESUME}") from None
    except ModuleNotFoundError as error:
        raise InputError(
            f"a worker cannot import {error.name}; install the sweep's packages there"
        ) from None


@contextlib.contextmanager
def connected(address: str, tls: Mapping[str, str | Path] | None = None) -> Iterator[Execute]:
    """Open an executor on the cluster of a running scheduler.

    Args:
        address: The address of the scheduler, for instance "tcp://HOST:8786", or "tls://HOST:8786"
            for a scheduler that uses TLS.
        tls: Paths of PEM files for TLS: "ca", the authority that signed the scheduler's
            certificate, and "cert" and "key", the certificate and the key of this client. A path
            that is left out is taken from Dask's configuration.

    Returns:
        A context manager that gives an executor for `jaxtheory.sweep(..., execute=...)`, and closes
        the connection at its end.

    Raises:
        InputError: No scheduler answers within 10 seconds, a file is missing, the scheduler refuses
            this client, or the extra `jaxtheory[cluster]` is missing.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import random_walk
        >>> with jaxtheory.cluster.connected("tcp://HOST:8786") as execute:  # doctest: +SKIP
        ...     data = jaxtheory.sweep(
        ...         random_walk, random_walk.Config(), seeds=4, steps=5, execute=execute
        ...     )
    """
    distributed = _needed("distributed")
    security = _certificates(tls) if tls else None
    with _without_logs():
        try:
            client = distributed.Client(
                address, timeout=_ANSWER_SECONDS, set_as_default=False, security=security
            )
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise InputError(
                f"no scheduler answers at {address} ({reason}); start one with `dask scheduler`, "
                "or omit --scheduler to use a cluster on this machine"
            ) from None
        with _closing(client):
            yield on(client)


def _certificates(files: Mapping[str, str | Path]) -> Any:
    """Return Dask's TLS settings for these files. Raises InputError if a file is missing."""
    for file in files.values():
        if not Path(file).is_file():
            raise InputError(
                f"{file} is not a file; give the path of a certificate or key in PEM format"
            )
    names = {"ca": "tls_ca_file", "cert": "tls_client_cert", "key": "tls_client_key"}
    paths = {names[name]: str(file) for name, file in files.items()}
    return _needed("distributed").Security(**paths, require_encryption=True)


@contextlib.contextmanager
def local(workers: int = 1) -> Iterator[Execute]:
    """Open an executor on worker processes of this machine.

    The workers share the cores of the machine, or its accelerators, as threads.

    Args:
        workers: The number of worker processes, at least 1.

    Returns:
        A context manager that gives an executor for `jaxtheory.sweep(..., execute=...)`, and ends
        the workers at its end.

    Raises:
        InputError: `workers` is not a positive integer, or the extra `jaxtheory[cluster]` is
            missing.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import random_walk
        >>> with jaxtheory.cluster.local(workers=2) as execute:  # doctest: +SKIP
        ...     data = jaxtheory.sweep(
        ...         random_walk, random_walk.Config(), seeds=4, steps=5, execute=execute
        ...     )
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
    """Open an executor on jobs of Slurm, with one worker per job.

    A job that ends is replaced by a new one. Scheduler and workers communicate over TLS with
    certificates made for this cluster. While it exists, their files are in a folder of the working
    directory that only the user can read.

    Args:
        jobs: The number of jobs, at least 1.
        options: Arguments of `dask_jobqueue.SLURMCluster`; `known_options` lists them. Those that
            are left out are taken from the configuration of dask_jobqueue. `security=False` turns
            TLS off: anyone who reaches the scheduler can then run code on its workers.

    Returns:
        A context manager that gives an executor for `jaxtheory.sweep(..., execute=...)`, and ends
        the jobs at its end.

    Raises:
        InputError: `jobs` is not a positive integer, an option is unknown or refused by
            dask_jobqueue, or the extra `jaxtheory[cluster]` is missing.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import random_walk
        >>> options = {"cores": 8, "memory": "32GB"}
        >>> with jaxtheory.cluster.slurm(jobs=4, options=options) as execute:  # doctest: +SKIP
        ...     data = jaxtheory.sweep(
        ...         random_walk, random_walk.Config(), seeds=64, steps=50, execute=execute
        ...     )
    """
    count = _check_count(jobs)
    script(options)  # refuses invalid options before a cluster is started
    jobqueue, distributed = _needed("dask_jobqueue"), _needed("distributed")
    arguments = _job_options(options)
    if arguments["security"] is True:
        _needed("cryptography")
    if arguments["security"] is False:
        arguments["security"] = None
    shared = arguments.get("shared_temp_directory") or _configured()["shared-temp-directory"]
    with _without_logs(), _secret_folder(shared or os.getcwd()) as folder:
        arguments["shared_temp_directory"] = str(folder)
        with _refused():
            cluster = jobqueue.SLURMCluster(
                scheduler_options={"dashboard_address": None}, **arguments
            )
        with cluster, _closing(distributed.Client(cluster, set_as_default=False)) as client:
            cluster.adapt(minimum_jobs=count, maximum_jobs=count)
            yield on(client)


@contextlib.contextmanager
def _secret_folder(parent: str | Path) -> Iterator[Path]:
    """Give a folder that only this user can read, for the files of certificates.

    It is removed when the block ends, since those who wrote files there would remove them only when
    Python ends, and the command line ends without that. What killed processes have left in the same
    parent is removed too.
    """
    place = disk.located(parent)
    with contextlib.ExitStack() as open_folder:
        try:
            temporary.tidy(place)
            folder = open_folder.enter_context(temporary.owned(place))
            folder.chmod(0o700)
        except OSError as error:
            raise InputError(
                f"{place}: {error.strerror or error}; choose a folder that all nodes see with "
                "--job shared_temp_directory=DIR"
            ) from None
        yield folder


def script(options: Mapping[str, Any] | None = None) -> str:
    """Return the job script that `slurm` submits.

    Args:
        options: As in `slurm`.

    Returns:
        The text of the script, with SCHEDULER in place of the scheduler's address and NAME in place
        of the worker's name.

    Raises:
        InputError: An option is unknown or refused by dask_jobqueue, or the extra
            `jaxtheory[cluster]` is missing.

    Example:
        >>> import jaxtheory
        >>> text = jaxtheory.cluster.script({"cores": 8, "memory": "32GB"})  # doctest: +SKIP
        >>> "#SBATCH --cpus-per-task=8" in text  # doctest: +SKIP
        True
    """
    job = _needed("dask_jobqueue.slurm").SLURMJob
    arguments = _job_options(options)
    arguments.pop("shared_temp_directory", None)
    if arguments.pop("security"):  # the certificates themselves come from the cluster
        arguments.setdefault("protocol", "tls://")
    with _refused():
        text: str = job("SCHEDULER", "NAME", **arguments).job_script()
    return text


def _configured() -> dict[str, Any]:
    """Return the Slurm settings of the user's dask_jobqueue configuration, defaults included."""
    _needed("dask_jobqueue")
    settings: dict[str, Any] = _needed("dask").config.get("jobqueue.slurm")
    return settings


def known_options() -> dict[str, bool]:
    """Return the options of a Slurm job that `slurm` and `script` take.

    Returns:
        For each option name, in alphabetical order, True if the option is a list.

    Raises:
        InputError: The extra `jaxtheory[cluster]` is missing.

    Example:
        >>> import jaxtheory
        >>> options = jaxtheory.cluster.known_options()  # doctest: +SKIP
        >>> options["cores"], options["job_extra_directives"]  # doctest: +SKIP
        (False, True)
    """
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
    """Return the arguments for dask_jobqueue: the defaults of this module, then the given options.

    By default a job has one process, so that a node compiles each program once, and uses TLS. A
    string given for a list becomes its only entry.
    """
    known, arguments = known_options(), dict[str, Any](processes=1, security=True)
    for name, value in (options or {}).items():
        if name in _RENAMED:
            raise InputError(f"--job {name}: dask_jobqueue renamed it to {_RENAMED[name]}")
        if name not in known:
            raise InputError(f"--job {name}: unknown option; {suggest(name, known)}")
        is_list = isinstance(value, list | tuple)
        if is_list and not known[name]:
            raise InputError(f"--job {name}: takes one value, but was given several")
        arguments[name] = list(map(str, value if is_list else [value])) if known[name] else value
    return arguments


@contextlib.contextmanager
def _refused() -> Iterator[None]:
    """Turn errors of dask_jobqueue about its arguments into an InputError."""
    try:
        yield
    except (ValueError, TypeError, OSError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"Slurm job: {reason}; set --job cores=N, --job memory=64GB and other options of "
            "dask_jobqueue.SLURMCluster"
        ) from None


@contextlib.contextmanager
def _closing(client: Any) -> Iterator[Any]:
    """Close a client at the end, and ignore errors of a scheduler that is already gone."""
    try:
        yield client
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=_ANSWER_SECONDS)


@contextlib.contextmanager
def _without_logs() -> Iterator[None]:
    """Suppress Dask's log messages about connections that break or are retried.

    Each part of Dask sets the level of its own logger, so that all of them have to be changed.
    """
    existing = logging.getLogger().manager.loggerDict
    names = [name for name in existing if name.partition(".")[0] in ("distributed", "tornado")]
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _check_count(count: Any) -> int:
    """Return a number of workers. Raises InputError unless it is a positive integer."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InputError(f"workers = {count!r}: must be an integer in [1, inf)")
    return count


def __dir__() -> list[str]:
    return sorted(__all__)
