"""What a worker of a cluster does: it opens a parcel once, keeps it, and computes chunks of it."""

import functools
import hashlib
import queue
import socket
import threading
import time
from pathlib import Path
from typing import Any

import distributed

from jaxtheory.core.errors import InputError
from jaxtheory.engine.cluster import pickling
from jaxtheory.engine.execution.local import Computed, places
from jaxtheory.engine.planning.layout import Chunk
from jaxtheory.engine.request.settings import under

_KEPT = 4  # parcels, each with its theory and hence its compiled programs
_opened: dict[str, pickling.Opened] = {}  # the last used last
_lock = threading.Lock()


def compute_chunk(packed: bytes, bucket: int, first: int, last: int) -> tuple[float, Computed]:
    """The seconds that a chunk of a parcel took, and its part where there is no store."""
    worker = distributed.get_worker()
    opened = _kept(packed, Path(worker.local_directory))
    free = _devices(worker.address, worker.state.nthreads)
    device = free.get()
    try:
        with under(opened.settings, device):
            begun = time.perf_counter()
            part = opened.work(Chunk(opened.buckets[bucket], first, last))
            return time.perf_counter() - begun, part
    finally:
        free.put(device)


def _kept(packed: bytes, folder: Path) -> pickling.Opened:
    """An opened parcel; of several threads one opens it. What it brings lies in a worker's folder,
    which Dask removes with the worker, or with the next one where it was killed.
    """
    name = hashlib.sha256(packed).hexdigest()
    with _lock:
        found = _opened.pop(name, None)
        if found is None:
            try:
                found = pickling.unpack(packed, folder)
            except InputError as error:
                raise InputError(f"worker {socket.gethostname()} {error}") from None
        _opened[name] = found
        if len(_opened) > _KEPT:
            _opened.pop(next(iter(_opened)))
    return found


@functools.cache
def _devices(worker: str, threads: int) -> "queue.SimpleQueue[Any]":
    """The devices of this process, for the threads of a worker to take turns in."""
    return places(threads)
