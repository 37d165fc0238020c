"""Work side by side in processes, one per core: tracing and compiling hold Python's lock."""

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
    """How many processes serve so many jobs: on CPU at most one per core, else one."""
    return min(jobs, workers()) if backend() == "cpu" else 1


def in_processes(function: Callable, jobs: Sequence[tuple], first: Sequence[int]) -> Iterator[Any]:
    """function(*job) of every job, in their order; they begin in the order of the indices `first`.
    A function of a module; jobs and results travel by pickle. The processes do not read the main
    script again, which need not stand under `if __name__ == "__main__":`.
    """
    context = multiprocessing.get_context("spawn")
    count = count_processes(len(jobs))
    with ProcessPoolExecutor(count, context, initializer=_on_one_core) as pool:
        try:
            with _without_main():
                begun = {i: pool.submit(function, *jobs[i]) for i in first}
            yield from (begun[i].result() for i in range(len(jobs)))
        except BaseException:
            for process in multiprocessing.active_children():
                process.terminate()
            raise


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Within: processes that are spawned find no main script to read."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _on_one_core() -> None:
    """One thread; garbage is seldom looked for, as tracing makes many objects that stay; no word on
    Ctrl-C; and an end when the process that asked has ended, killed for instance.
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
