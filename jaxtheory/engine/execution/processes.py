"""Run jobs in processes, one per core, because tracing and compiling hold Python's global lock."""

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from jaxtheory.system.backend import backend, workers


def count_processes(jobs: int) -> int:
    """Return the number of processes for so many jobs: on CPU at most one per core, else one."""
    return min(jobs, workers()) if backend() == "cpu" else 1


def in_processes(function: Callable, jobs: Sequence[tuple], first: Sequence[int]) -> Iterator[Any]:
    """Yield function(*job) for every job, in order; jobs start in the order of the indices `first`.

    The function is defined at the top level of a module, and jobs and results are pickled. The
    processes do not run the main script again, which therefore does not need
    `if __name__ == "__main__":`.
    """
    context = multiprocessing.get_context("spawn")
    count = count_processes(len(jobs))
    with ProcessPoolExecutor(count, context, initializer=_on_one_core) as pool:
        try:
            with _without_main(), _signals_later():
                begun = {i: pool.submit(function, *jobs[i]) for i in first}
            yield from (begun[i].result() for i in range(len(jobs)))
        except BaseException:
            for process in multiprocessing.active_children():
                process.terminate()
            raise


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main script from processes that are spawned in this context."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextlib.contextmanager
def _signals_later() -> Iterator[None]:
    """Put off what Python does at signals to the end of this context.

    Otherwise an exception from a signal could part a process that was just spawned from what it is
    about to read, and nobody would know of the process, which ends with a traceback.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    handlers = {n: h for n in numbers if callable(h := signal.getsignal(n))}
    for number in handlers:
        signal.signal(number, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for caught in dict.fromkeys(came):
            signal.raise_signal(caught)


def _on_one_core() -> None:
    """Set up a worker process.

    It computes in one thread, collects garbage infrequently (tracing allocates many long-lived
    objects), is silent on Ctrl-C, and exits if the parent dies.
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.set_threshold(200_000)
    os.environ["JAXTHEORY_DEVICES"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
