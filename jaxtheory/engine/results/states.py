"""States of the runs of a store after their last step, from which a longer sweep goes on.

    DIR/states/BUCKET-FIRST-LAST.state    the states of these slots of a bucket, with a checksum

A state that is missing or damaged costs time and no data: its runs are trained from the beginning.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxtheory.core.extended import named_weights
from jaxtheory.engine.compute.part import pick
from jaxtheory.engine.compute.training import observe_chunk
from jaxtheory.engine.planning.cost import nbytes, problem_and_state
from jaxtheory.engine.planning.layout import lanes
from jaxtheory.engine.records import NEVER, Bucket, Chunk, Outcome, Part, Resumed
from jaxtheory.engine.request.observed import parameter_shapes
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.request.settings import numerics
from jaxtheory.engine.results import packed
from jaxtheory.engine.results.store import STATES, mark_of, read_manifest
from jaxtheory.system import disk
from jaxtheory.system.disk import synced
from jaxtheory.system.temporary import beside

_MOST = 256 << 20  # bytes of states that a store keeps without being asked for weights
_NAME = re.compile(r"(\d+)-(\d+)-(\d+)\.(part|state)")


def kept(request: Request, buckets: tuple[Bucket, ...]) -> bool:
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


def save(folder: Path, mark: str, chunk: Chunk, outcome: Outcome | Resumed) -> None:
    """Write the states of a chunk below the folder of a store with this mark.

    On a full disk they are left out.
    """
    used = chunk.last - chunk.first
    leaves = jax.device_get(jax.tree.leaves(outcome.state))
    arrays = {f"leaf{i}": np.asarray(leaf)[:used] for i, leaf in enumerate(leaves)}
    arrays["diverged_at"] = np.asarray(outcome.diverged_at)[:used]
    arrays["stopped_at"] = np.asarray(outcome.stopped_at)[:used]
    file = folder / STATES / f"{chunk.name}.state"
    try:
        file.parent.mkdir(exist_ok=True)
        with beside(file) as temporary:
            synced(temporary, packed.encode(arrays, mark, f"{file.stem} state"))
            os.replace(temporary, file)
    except OSError:  # without states a longer sweep trains from the beginning
        return


class Before:
    """The store of a shorter sweep, with the same grid and plan, that a sweep goes on from.

    path: its directory. Its states and parts are read chunk by chunk.
    """

    def __init__(self, path: Path):
        self.path = path
        manifest = read_manifest(path / "manifest.json")
        self.mark = mark_of(manifest)
        self.steps = int(manifest["request"]["steps"])
        self.request = manifest["request"]
        self.records = np.asarray(manifest["request"]["record"])
        self.metrics = manifest["request"]["metrics"]

    def resumed(self, chunk: Chunk) -> Resumed | None:
        """Return the states of a chunk, or None if some of its slots have none."""
        pieces = self._pieces(STATES, chunk)
        names = pieces[0][1].keys() if pieces else ()
        slots = chunk.bucket.layout.slots
        whole = {}
        for name in names:
            first = pieces[0][1][name]
            whole[name] = np.zeros((slots, *first.shape[1:]), first.dtype)
        have = np.zeros(slots, bool)
        for start, arrays in pieces:
            for i in range(len(arrays["diverged_at"])):
                if chunk.first <= start + i < chunk.last:
                    have[start + i - chunk.first] = True
                    for name, array in arrays.items():
                        whole[name][start + i - chunk.first] = array[i]
        if not have[: chunk.last - chunk.first].all():
            return None
        diverged, stopped = whole.pop("diverged_at"), whole.pop("stopped_at")
        leaves = [whole[f"leaf{i}"] for i in range(len(whole))]
        return Resumed(self.steps, leaves, diverged, stopped)

    def joined(self, request: Request, chunk: Chunk, part: Part) -> Part | None:
        """Return a part with the records of its runs in this store, or None if some are lost.

        The records of the request up to the last step of this store must be among its own.
        """
        early = np.flatnonzero(request.schedule.records <= self.steps)
        places = np.searchsorted(self.records, request.schedule.records[early])
        entries = self._entries(chunk)
        whose = zip(part.point.tolist(), part.place.tolist(), strict=True)
        found = [entries.get(at) for at in whose]
        if any(one is None for one in found):
            return None
        for name, values in part.values.items():
            if not name.startswith("metric/"):
                continue
            for k, one in enumerate(found):
                assert one is not None
                arrays, i = one
                if name in arrays:
                    values[k, early] = arrays[name][i][places]
        return part

    def observed(self, request: Request, chunk: Chunk) -> Part | None:
        """Return the part of a chunk with further observables, evaluated on the stored weights.

        It is None if a part of the chunk is lost.
        """
        entries = self._entries(chunk)
        names = new_observables(self.request, request)
        with numerics(request.dtype, request.partitionable):
            inputs = lanes(request, chunk)
            places, *whose = inputs.out
            found = [entries.get(at) for at in zip(*(each.tolist() for each in whose), strict=True)]
            if any(one is None for one in found):
                return None
            whole = [one for one in found if one is not None]
            stored = {n: np.stack([arrays[n][i] for arrays, i in whole]) for n in whole[0][0]}
            values: dict[str, np.ndarray] = {}
            for k, t in enumerate(request.schedule.records.tolist()):
                which = request.schedule.metrics_at(t)
                wanted = names if which is None else names & which
                if not wanted:
                    continue
                params = self._weights(request, chunk, places, stored, t)
                for name, array in observe_chunk(request, chunk, inputs, wanted, params).items():
                    if name not in values:
                        shape = (*array.shape[:4], len(request.schedule.records), *array.shape[4:])
                        values[name] = np.full(shape, np.nan, np.result_type(array, np.float32))
                    values[name][:, :, :, :, k] = array
            never = np.full(inputs.limit.shape, NEVER, np.int32)
            part = pick(request, chunk, inputs, Outcome(values, {}, {}, never, never, None, None))
        records, diverged = request.schedule.records[None, :], stored["diverged_at"][:, None]
        gone = (diverged != NEVER) & (diverged <= records)
        if "stopped_at" in stored:
            stopped = stored["stopped_at"][:, None]
            gone |= (stopped != NEVER) & (stopped < records)
        for name, array in part.values.items():
            if name.startswith("metric/"):
                array[gone] = np.nan
        return part._replace(values={**part.values, **stored})

    def _weights(
        self, request: Request, chunk: Chunk, places: Any, stored: dict[str, np.ndarray], t: int
    ) -> Any:
        """The stored parameters after t steps, as arrays [slot, row, run, ...]."""
        bucket, layout = chunk.bucket, chunk.bucket.layout
        like, _ = parameter_shapes(request.theory, bucket.algorithm, bucket.template)
        leaves = []
        for name, leaf in named_weights(like).items():
            if f"analysis/{name}" in stored:
                values = stored[f"analysis/{name}"]
            else:
                values = stored[f"metric/{name}"][:, np.searchsorted(self.records, t)]
            whole = np.zeros((layout.slots, layout.rows, layout.runs, *leaf.shape), leaf.dtype)
            whole[places[:3]] = np.nan_to_num(values).astype(leaf.dtype)
            leaves.append(whole)
        return jax.tree.unflatten(jax.tree.structure(like), leaves)

    def _entries(self, chunk: Chunk) -> dict[tuple[int, int], tuple[dict[str, np.ndarray], int]]:
        """Arrays and index in them of each point and seed in the parts of a chunk."""
        return {
            (int(point), int(place)): (arrays, i)
            for _, arrays in self._pieces("parts", chunk)
            for i, (point, place) in enumerate(zip(arrays["point"], arrays["place"], strict=True))
        }

    def _pieces(self, folder: str, chunk: Chunk) -> list[tuple[int, dict[str, Any]]]:
        """First slot and arrays of the whole files that have slots of a chunk."""
        found = []
        for file in sorted((self.path / folder).glob(f"{chunk.bucket.number:04d}-*")):
            match = _NAME.fullmatch(file.name)
            if match is None or int(match[3]) <= chunk.first or chunk.last <= int(match[2]):
                continue
            name = file.stem if folder == "parts" else f"{file.stem} state"
            try:
                arrays = packed.decode(disk.read_bytes(file), self.mark, name)
            except OSError:
                arrays = None
            if arrays is not None:
                found.append((int(match[2]), arrays))
        return found


def new_observables(stored: Mapping[str, Any], request: Request) -> frozenset[str]:
    """Return the names of the observables of a request that a stored one does not have."""
    names = {name for name, _ in getattr(request.theory.metrics, "observe", ())}
    return frozenset(names - {*(stored["observe"] or {})})


def observable(stored: Mapping[str, Any], request: Request) -> bool:
    """True if new observables of a request are recorded only at steps whose weights are stored."""
    saved = stored["save_params"]
    steps = {stored["steps"]} if saved is True else {*(saved or ())}
    which = request.schedule.which or {}
    recorded = frozenset(request.schedule.records.tolist())
    new = new_observables(stored, request)
    return bool(new) and all(which.get(name, recorded) <= steps for name in new)


def continues(before: Before, request: Request) -> bool:
    """True if all that is recorded up to the end of a shorter sweep was recorded by it."""
    records, which = request.schedule.records, request.schedule.which
    if not np.isin(records[records <= before.steps], before.records).all():
        return False
    if which is None or before.metrics is None:
        return which is None and before.metrics is None
    return all(
        {t for t in steps if t <= before.steps} <= {*before.metrics.get(name, ())}
        for name, steps in which.items()
    )
