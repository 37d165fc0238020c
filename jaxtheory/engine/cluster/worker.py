"""Compute chunks on a worker of a cluster, which opens each parcel once and keeps it."""

import functools
import hashlib
import queue
import socket
import threading
from pathlib import Path
from typing import Any

import distributed

from jaxtheory.engine.cluster import pickling
from jaxtheory.engine.execution.local import Computed, places
from jaxtheory.engine.records import Chunk
from jaxtheory.engine.request.settings import under
from jaxtheory.texts.errors import InputError

_KEPT = 4  # parcels that are kept, each with its theory and its compiled programs
_opened: dict[str, pickling.Opened] = {}  # in the order of their last use
_lock = threading.Lock()


def compute_chunk(packed: bytes, bucket: int, first: int, last: int) -> Computed:
    """Compute a chunk of a parcel; return its part if there is no store."""
    worker = distributed.get_worker()
    opened = _open_parcel(packed, Path(worker.local_directory))
    free = _devices(worker.address, worker.state.nthreads)
    device = free.get()
    try:
        with under(opened.settings, device):
            return opened.task(Chunk(opened.buckets[bucket], first, last))
    finally:
        free.put(device)


def _open_parcel(packed: bytes, folder: Path) -> pickling.Opened:
    """An opened parcel, which one of several threads opens.

    Its modules are written to the worker's folder, which Dask removes with the worker, or with the
    next worker if it was killed.
    """
    name = hashlib.sha256(packed).hexdigest()
    with _lock:
        opened = _opened.pop(name, None)
        if opened is None:
            try:
                opened = pickling.unpack(packed, folder)
            except InputError as error:
                raise InputError(f"worker {socket.gethostname()} {error}") from None
        _opened[name] = opened
        if len(_opened) > _KEPT:
            _opened.pop(next(iter(_opened)))
    return opened


@functools.cache
def _devices(worker: str, threads: int) -> "queue.SimpleQueue[Any]":
    """Queue of the devices of this process, shared by the threads of a worker."""
    return places(threads)
