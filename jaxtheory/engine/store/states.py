"""States of runs after their last step, from which a rectangle of longer runs continues.

A state that is missing or damaged costs time and no data: its runs are trained from the beginning.
"""

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxtheory.core.extended import named_weights
from jaxtheory.engine.compute.part import pick
from jaxtheory.engine.compute.training import observe_chunk
from jaxtheory.engine.planning.buckets import lanes
from jaxtheory.engine.planning.cost import nbytes, problem_and_state
from jaxtheory.engine.records import NEVER, Bucket, Chunk, Lanes, Outcome, Part, Resumed
from jaxtheory.engine.request.observed import parameter_shapes
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.request.settings import numerics
from jaxtheory.engine.store.rectangle import Rectangle, has_observables, places
from jaxtheory.engine.store.store import Store

_MOST = 256 << 20  # bytes of states that a store keeps without being asked for weights


def keeps_states(request: Request, buckets: tuple[Bucket, ...]) -> bool:
    """True if a store keeps the states of this request: they are few, or weights are kept too."""
    total = 0
    with numerics(request.dtype, request.partitionable):
        for b in buckets:
            _, _, state = problem_and_state(request.theory, b.algorithm, b.template)
            if any(
                jax.numpy.issubdtype(x.dtype, jax.dtypes.extended) for x in jax.tree.leaves(state)
            ):
                return False
            total += b.runs * nbytes(state)
    return total <= _MOST or request.save_params is not False


def arrays_of(inputs: Lanes, outcome: Outcome | Resumed) -> dict[str, np.ndarray]:
    """Return the states of a chunk as arrays [run, ...], with the runs of each point and seed."""
    lanes_of, points, seeds = inputs.out
    indices, run = np.unique(np.stack(lanes_of[:3]), axis=1, return_inverse=True)
    at = tuple(indices)
    leaves = jax.device_get(jax.tree.leaves(outcome.state))
    arrays = {f"leaf{i}": np.asarray(leaf)[at] for i, leaf in enumerate(leaves)}
    ends = {name: np.asarray(getattr(outcome, name))[at] for name in ("diverged_at", "stopped_at")}
    return {**arrays, **ends, "point": points, "place": seeds, "run": run.reshape(-1)}


class _Entry(NamedTuple):
    """The arrays of a file, and the index of a run in them."""

    arrays: Mapping[str, np.ndarray]
    place: int


class PriorRuns:
    """A rectangle of a store, from which the runs of another one continue.

    Its files are read as they are needed. A chunk of another layout may need several of them.

    Args:
        store: The store of both.
        rectangle: The rectangle that has the beginnings of the runs.
        request: The request of the other rectangle, whose runs it has all.
        grid: The description of the other rectangle.
    """

    def __init__(
        self, store: Store, rectangle: Rectangle, request: Request, grid: Mapping[str, Any]
    ):
        self._store, self._rectangle, self._request = store, rectangle, request
        self._places = places(grid, rectangle.content)
        self.steps = int(rectangle.content["steps"])
        self._records = np.asarray(rectangle.content["record"])

    def resumed(self, chunk: Chunk, inputs: Lanes) -> Resumed | None:
        """Return the states of a chunk, or None if those of a run are missing."""
        lanes_of, points, seeds = inputs.out
        entries = self._entries("state", points, seeds)
        if entries is None:
            return None
        layout = chunk.bucket.layout
        shape = (layout.slots, layout.rows, layout.runs)
        names = [n for n in entries[0].arrays if n not in ("point", "place", "run")]
        arrays = {}
        for name in names:
            first = entries[0].arrays[name][entries[0].place]
            lane_values = np.broadcast_to(first, (*shape, *first.shape)).copy()
            for k, entry in enumerate(entries):
                value = entry.arrays[name][entry.place]
                if value.shape != first.shape:
                    return None
                lane_values[tuple(axis[k] for axis in lanes_of[:3])] = value
            arrays[name] = lane_values
        diverged, stopped = arrays.pop("diverged_at"), arrays.pop("stopped_at")
        leaves = [arrays[f"leaf{i}"] for i in range(len(arrays))]
        if not self._fits(chunk, leaves):
            return None
        return Resumed(self.steps, leaves, diverged, stopped)

    def _fits(self, chunk: Chunk, leaves: list[np.ndarray]) -> bool:
        """True if states have the shapes that this chunk pads them to."""
        request, bucket = self._request, chunk.bucket
        with numerics(request.dtype, request.partitionable):
            _, _, state = problem_and_state(request.theory, bucket.algorithm, bucket.template)
        shapes = [leaf.shape for leaf in jax.tree.leaves(state)]
        return shapes == [leaf.shape[3:] for leaf in leaves]

    def prepend_records(self, part: Part) -> Part | None:
        """Return a part with the records of its runs in this rectangle too.

        It is None if some are lost.
        """
        records = self._request.schedule.records
        early = np.flatnonzero(records <= self.steps)
        entries = self._entries("part", part.point, part.place)
        if entries is None:
            return None
        stored_at = np.isin(records[early], self._records)
        at = np.searchsorted(self._records, records[early])
        values = dict(part.values)
        wanted = {
            f"metric/{name}": np.isin(records[early], [*steps])
            for name, steps in (self._request.schedule.which or {}).items()
        }
        for name in entries[0].arrays:
            recorded = wanted.get(name, self._request.schedule.which is None)
            if not name.startswith("metric/") or not (name in values or np.any(recorded)):
                continue
            columns = np.flatnonzero(stored_at & recorded)
            for k, (arrays, i) in enumerate(entries):
                stored = arrays[name][i]
                if name not in values:
                    shape = (len(part.point), len(records), *stored.shape[1:])
                    values[name] = np.full(shape, np.nan, stored.dtype)
                inner = tuple(map(min, stored.shape[1:], values[name].shape[2:]))
                cut: Any = tuple(slice(n) for n in inner)
                values[name][(k, early[columns], *cut)] = stored[(at[columns], *cut)]
        return part._replace(values=values)

    def observed(self, chunk: Chunk) -> Part | None:
        """Return the part of a chunk with further observables, evaluated on the stored weights.

        It is None if a part is lost.
        """
        request = self._request
        names = new_observables(self._rectangle.content, request)
        with numerics(request.dtype, request.partitionable):
            inputs = lanes(request, chunk)
            index, points, seeds = inputs.out
            entries = self._entries("part", points, seeds)
            if entries is None:
                return None
            stored = {
                n: np.stack([entry.arrays[n][entry.place] for entry in entries])
                for n in entries[0].arrays
                if n not in ("point", "place")
            }
            values: dict[str, np.ndarray] = {}
            for k, t in enumerate(request.schedule.records.tolist()):
                which = request.schedule.metrics_at(t)
                wanted = names if which is None else names & which
                if not wanted:
                    continue
                params = self._weights(chunk, index, stored, t)
                for name, array in observe_chunk(request, chunk, inputs, wanted, params).items():
                    if name not in values:
                        shape = (*array.shape[:4], len(request.schedule.records), *array.shape[4:])
                        values[name] = np.full(shape, np.nan, np.result_type(array, np.float32))
                    values[name][:, :, :, :, k] = array
            never = np.full(inputs.limit.shape, NEVER, np.int32)
            part = pick(request, chunk, inputs, Outcome(values, {}, {}, never, never, None, None))
        records, diverged = request.schedule.records[None, :], stored["diverged_at"][:, None]
        late = (inputs.limit[index[:3]][:, None] < records) | (
            (diverged != NEVER) & (diverged <= records)
        )
        if "stopped_at" in stored:
            stopped = stored["stopped_at"][:, None]
            late |= (stopped != NEVER) & (stopped < records)
        for name, array in part.values.items():
            if name.startswith("metric/"):
                array[late] = np.nan
        at = np.searchsorted(self._records, request.schedule.records)
        recorded = request.schedule.which
        for name in [name for name in stored if name.startswith("metric/")]:
            if recorded is not None and name.partition("/")[2] not in recorded:
                del stored[name]
            else:
                stored[name] = self._blank(name, stored[name][:, at])
        return part._replace(values={**part.values, **stored})

    def _blank(self, name: str, values: np.ndarray) -> np.ndarray:
        """Stored values of a metric [entry, record, ...], NaN where the request has none."""
        which = self._request.schedule.which
        if which is not None:
            late = ~np.isin(
                self._request.schedule.records, [*which.get(name.partition("/")[2], ())]
            )
            if late.any():
                values = values.astype(np.result_type(values.dtype, np.float32))
                values[:, late] = np.nan
        return values

    def _weights(self, chunk: Chunk, index: tuple, stored: Mapping[str, np.ndarray], t: int) -> Any:
        """The stored parameters after t steps, as arrays [slot, row, run, ...]."""
        bucket, layout = chunk.bucket, chunk.bucket.layout
        like, _ = parameter_shapes(self._request.theory, bucket.algorithm, bucket.template)
        leaves = []
        for name, leaf in named_weights(like).items():
            if f"analysis/{name}" in stored:
                values = stored[f"analysis/{name}"]
            else:
                values = stored[f"metric/{name}"][:, np.searchsorted(self._records, t)]
            lane_values = np.zeros(
                (layout.slots, layout.rows, layout.runs, *leaf.shape), leaf.dtype
            )
            inner = tuple(slice(n) for n in values.shape[1:])
            lane_values[(*index[:3], *inner)] = np.nan_to_num(values).astype(leaf.dtype)
            leaves.append(lane_values)
        return jax.tree.unflatten(jax.tree.structure(like), leaves)

    def _entries(self, kind: str, points: np.ndarray, seeds: np.ndarray) -> list[_Entry] | None:
        """The arrays of runs of the other rectangle in the files of this one, None if some lack."""
        if self._places is None:
            return None
        shape, old_shape = self._request.points.shape, self._rectangle.shape
        axes = np.unravel_index(points, shape) if shape else ()
        old = [place[k] for place, k in zip(self._places, axes, strict=False)]
        seed = self._places[-1][seeds]
        if any((index < 0).any() for index in (*old, seed)):
            return None
        point = np.ravel_multi_index(old, old_shape[:-1]) if old else np.zeros(len(seed), int)
        table = self._table(kind)
        entries = []
        for key in zip(point.tolist(), seed.tolist(), strict=True):
            if key not in table:
                return None
            chunk, i = table[key]
            if (arrays := self._arrays(kind, chunk)) is None:
                return None
            entries.append(_Entry(arrays, i))
        return entries

    @functools.cache  # noqa: B019  an instance lives as long as the task of a sweep
    def _table(self, kind: str) -> dict[tuple[int, int], tuple[str, int]]:
        """The file and index of each point and seed of this rectangle."""
        table = {}
        for chunk in self._rectangle.chunks:
            if (arrays := self._arrays(kind, chunk)) is None:
                continue
            index = arrays.get("run", np.arange(len(arrays["point"])))
            runs = (arrays[name].tolist() for name in ("point", "place"))
            for point, place, i in zip(*runs, index.tolist(), strict=True):
                table[point, place] = chunk, i
        return table

    @functools.lru_cache(maxsize=4)  # noqa: B019
    def _arrays(self, kind: str, chunk: str) -> Mapping[str, np.ndarray] | None:
        content = self._store.read(self._rectangle, chunk, kind)
        return None if content is None else content.arrays


def new_observables(content: Mapping[str, Any], request: Request) -> frozenset[str]:
    """Return the names of the observables of a request that a rectangle does not have."""
    names = {name for name, _ in getattr(request.theory.metrics, "observe", ())}
    return frozenset(names - {*(content["observe"] or {})})


def observable(content: Mapping[str, Any], request: Request, identity: Mapping[str, Any]) -> bool:
    """True if a rectangle has all of a request but observables, which its weights give.

    New observables are recorded only at steps whose weights are stored.
    """
    if content["steps"] != identity["steps"] or content["record"] != identity["record"]:
        return False
    if content["save_params"] != identity["save_params"]:
        return False
    if not has_observables(identity, content):
        return False
    saved = content["save_params"]
    steps = {content["steps"]} if saved is True else {*(saved or ())}
    which = request.schedule.which or {}
    recorded = frozenset(request.schedule.records.tolist())
    new = new_observables(content, request)
    if not new or any(which.get(name, recorded) - steps for name in new):
        return False
    stored, wanted = content["metrics"], identity["metrics"]
    if stored is None or wanted is None:
        return stored is None
    return all({*wanted[name]} <= {*stored.get(name, ())} for name in wanted if name not in new)


def continues(content: Mapping[str, Any], request: Request, identity: Mapping[str, Any]) -> bool:
    """True if the runs of a request can continue those of a rectangle.

    All that is recorded up to the last step of the rectangle was recorded in it. With a stop rule,
    which reads what is recorded, nothing else was.
    """
    done = content["steps"]
    if done >= identity["steps"] or any("steps" in axis.values for axis in request.axes):
        return False
    if identity["observe"] != content["observe"]:
        return False
    early = [t for t in identity["record"] if t <= done]
    stored, wanted = content["metrics"], identity["metrics"]
    if identity["stop"] is not None and (early != content["record"] or stored != wanted):
        return False
    if stored is None and wanted is None:
        return {*early} <= {*content["record"]}
    if stored is None:
        recorded = {*content["record"]}
        if any(name.startswith("params_") for name in wanted):
            return False
        return all({t for t in steps if t <= done} <= recorded for steps in wanted.values())
    if wanted is None:
        return False
    return all(
        {t for t in steps if t <= done} <= {*stored.get(name, ())} for name, steps in wanted.items()
    )
