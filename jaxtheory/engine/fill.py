"""Fill a store with the runs of a request, together with other processes, and return its dataset.

Each process takes chunks that nobody has claimed. Claims only save time: a chunk that another
process does not finish is computed here too, and the part that is published first stays.
"""

import dataclasses
import functools
import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.code.plain import as_json
from jaxtheory.core.config import fields
from jaxtheory.engine.compute.part import own_shapes
from jaxtheory.engine.cover import (
    Cover,
    Piece,
    cover,
    extend,
    grid_shape,
    is_finished,
    missing,
    versions_of,
)
from jaxtheory.engine.execution.bar import Listener, listener
from jaxtheory.engine.execution.chunk_task import ChunkTask
from jaxtheory.engine.execution.local import Execute, run_chunks
from jaxtheory.engine.execution.progress import Meter
from jaxtheory.engine.records import Chunk, Part
from jaxtheory.engine.request.axes import codes_of
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.request.settings import flag, numerics
from jaxtheory.engine.results import versions
from jaxtheory.engine.results.dataset import Described, assemble, grid_of
from jaxtheory.engine.results.without_effect import explained
from jaxtheory.engine.store import datasets
from jaxtheory.engine.store.rectangle import runs_of
from jaxtheory.engine.store.states import keeps_states
from jaxtheory.engine.store.store import Store
from jaxtheory.engine.store.view import parts_of, select_outputs
from jaxtheory.texts.errors import InputError, notice

_PAUSE = 0.2  # seconds between two looks at chunks that others compute
_NOTICE = 2.0  # seconds of waiting for them before a notice
_PATIENCE = (5.0, 60.0)  # least and usual seconds without a new part, after which they are computed
_LONGEST = 3.0  # times as long as the longest chunk of this process


class Way(NamedTuple):
    """How chunks are computed: the arguments of `sweep` that do not decide numbers."""

    execute: Execute
    progress: Listener
    accept_versions: bool
    wait: bool


def fill(
    store: Store,
    request: Request,
    identified: Mapping[str, Any],
    described: Described,
    way: Way,
) -> xr.Dataset:
    """Return the dataset of a request, and compute what the store lacks of it.

    A finished dataset is read without a lock and without write access.

    Raises InputError if the store has other runs, versions differ, or it cannot be written.
    """
    runs = runs_of(identified)
    if store.exists():
        store.require(runs, identified)
        store.tidy()
        if (finished := datasets.finished(store.path, identified)) is not None:
            datasets.show(store, identified)
            return finished
        covering = cover(store, request, identified)
        if _is_complete(store, covering) and (
            datasets.includes(store.path, identified) or not os.access(store.path, os.W_OK)
        ):
            return _Assembly(request, identified, described, covering).read(store)
    show = listener(way.progress, request.theory.name)
    store.begin(runs)
    store.require(runs, identified)  # another process may have been faster
    with store.decision():
        covering = extend(store, request, identified, way.accept_versions)
        datasets.begin(store, identified, as_json(described._asdict()))
    assembly = _Assembly(request, identified, described, covering)
    if not _compute(store, request, covering, way, show):
        return assembly.read(store, partial=True)
    with store.scratch() as allocate:
        return datasets.finish(store, identified, assembly.read(store, allocate))


def _is_complete(store: Store, covering: Cover) -> bool:
    """True if nothing has to be computed."""
    is_covered = bool((covering.owner >= 0).all())
    return is_covered and all(is_finished(store, piece) for piece in covering.pieces)


def _compute(store: Store, request: Request, covering: Cover, way: Way, show: Any) -> bool:
    """Compute what is missing of the pieces, beside other processes that do the same.

    False if others hold the rest and nobody waits for them.
    """
    workers = [_Worker(store, piece, way) for piece in covering.pieces if piece.plan is not None]
    todo = [worker.missing() for worker in workers]
    if not any(todo):
        return True
    all_chunks = [chunk for worker in workers for chunk in worker.chunks]
    meter = Meter(
        show, request.points.total, all_chunks, [chunk for chunks in todo for chunk in chunks]
    )
    quiet_since, silent = time.monotonic(), True
    while count := sum(map(len, todo)):
        refused = [w.compute(chunks, meter) for w, chunks in zip(workers, todo, strict=True)]
        if not way.wait and any(refused):
            return not any(worker.missing() for worker in workers)
        if sum(map(len, refused)) < count:
            quiet_since = time.monotonic()
        quiet = time.monotonic() - quiet_since
        if silent and quiet > _NOTICE:
            silent = False
            those = f"{count} chunk{'s' * (count != 1)}"
            notice(f"store {store.path}: waiting for {those} that other processes compute")
        if quiet > _patience(max(worker.longest for worker in workers)):
            worker, chunks = next(
                (w, chunks) for w, chunks in zip(workers, refused, strict=True) if chunks
            )
            worker.compute(chunks[:1], meter, claim=False)
            quiet_since = time.monotonic()
        elif any(refused):
            time.sleep(_PAUSE)
        todo = [worker.missing() for worker in workers]
        for chunks, pending_chunks in zip(refused, todo, strict=True):
            names = {chunk.name for chunk in pending_chunks}
            for chunk in chunks:
                if chunk.name not in names:  # another process has published it
                    meter.finished(chunk)
    return True


def _patience(longest: float) -> float:
    """Seconds without a new part after which claims of others are not respected.

    longest: seconds of the longest chunk of this process, 0 if it computed none.
    """
    least, usual = _PATIENCE
    return max(least, _LONGEST * longest) if longest else usual


class _Worker:
    """Computes chunks of a piece."""

    def __init__(self, store: Store, piece: Piece, way: Way):
        assert piece.request is not None and piece.plan is not None
        keep = keeps_states(piece.request, piece.plan.buckets)
        self.task = ChunkTask(
            piece.request,
            store,
            piece.rectangle,
            flag("jax_debug_nans"),
            keep,
            accept=way.accept_versions,
        )
        self.store, self.piece, self.execute = store, piece, way.execute
        self.chunks = piece.plan.chunks
        self.longest = 0.0  # seconds of a chunk

    def missing(self) -> list[Chunk]:
        """Return the chunks that are not published."""
        return missing(self.store, self.piece)

    def compute(self, chunks: list[Chunk], meter: Meter, claim: bool = True) -> list[Chunk]:
        """Compute what can be claimed of some chunks, and return the others."""
        refused, begun = list[Chunk](), time.monotonic()
        task = dataclasses.replace(self.task, claim=claim)
        for chunk, published in run_chunks(self.execute, task, chunks, meter.report):
            if not published:
                refused.append(chunk)
                continue
            self.longest = max(self.longest, time.monotonic() - begun)
            begun = time.monotonic()
            if self.store.note(self.piece.rectangle, chunk.name) is None:
                raise InputError(
                    f"store {self.store.path}: a worker wrote {chunk.name} to another disk; choose "
                    "a directory that this machine and all workers share"
                )
            meter.finished(chunk)
        return refused


class _Assembly(NamedTuple):
    """How the dataset of a request is made from the parts of a store."""

    request: Request
    identified: Mapping[str, Any]
    described: Described
    covering: Cover

    def read(self, store: Store, allocate: Any = None, partial: bool = False) -> xr.Dataset:
        """Return the dataset. Raises InputError if parts were damaged since they were looked at."""
        options = {} if allocate is None else {"allocate": allocate}
        data = assemble(
            grid_of(self.request), self.described, self._parts(store), partial=partial, **options
        )
        if partial and "diverged_at" not in data:  # nothing is finished
            dims = [*(axis.name for axis in self.request.axes), "seed"]
            data["diverged_at"] = dims, np.full(grid_shape(self.request), np.nan)
        data = explained(self.request, data)
        used = [piece.rectangle for piece in self.covering.pieces]
        if versions.ACCEPTED not in (accepted := versions.attribute(versions_of(store, used))):
            return data
        return data.assign_attrs(accepted)

    def _parts(self, store: Store) -> Iterator[Part]:
        """The parts of all pieces, each with the runs that are taken from it."""
        shape, extents = grid_shape(self.request), functools.cache(self._extents)
        for k, piece in enumerate(self.covering.pieces):
            for part in parts_of(store, piece.rectangle, piece.places, shape):
                owner = self.covering.owner.ravel()[part.point * shape[-1] + part.place]
                part = part.at(owner == k)
                yield part if piece.plan else self._fitted(part, piece, extents)

    def _fitted(self, part: Part, piece: Piece, extents: Callable[[], dict]) -> Part:
        """The outputs that are asked for, at the sizes of the points of this request."""
        part = select_outputs(part, piece.rectangle.content, self.identified)
        values = {}
        for name, array in part.values.items():
            if "/" in name and (extent := extents().get(name)):
                skip = array.ndim - len(extent)
                array = array[(slice(None),) * skip + tuple(map(slice, extent))]
            values[name] = array
        return part._replace(values=values)

    def _extents(self) -> dict[str, tuple[int, ...]]:
        """The largest shape of each result over the points of the request, without padding."""
        request = self.request
        table = fields(type(request.config))
        shaping = [n for n, f in table.items() if f.kind in ("size", "static")]
        indices = np.arange(request.points.total)
        codes = codes_of(request.points, ["algorithm", *shaping], indices, repr)
        extents: dict[str, tuple[int, ...]] = {}
        with numerics(request.dtype, request.partitionable):
            for i in np.unique(codes, return_index=True)[1].tolist():
                algorithm = request.points.point(i).algorithm
                for name, shape in own_shapes(request, algorithm, i).items():
                    extents[name] = tuple(map(max, shape, extents.get(name, shape)))
        return extents
