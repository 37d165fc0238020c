"""States of the runs of a store after their last step, from which a longer sweep goes on.

    DIR/states/BUCKET-FIRST-LAST.state    the states of these slots of a bucket, with a checksum

A state that is missing or damaged costs time and no data: its runs are trained from the beginning.
"""

import os
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxtheory.core.errors import InputError
from jaxtheory.engine.compute.part import Part
from jaxtheory.engine.compute.training import Outcome, Resumed
from jaxtheory.engine.planning.cost import nbytes, problem_and_state
from jaxtheory.engine.planning.layout import Bucket, Chunk
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.request.settings import numerics
from jaxtheory.engine.results import packed
from jaxtheory.engine.results.store import mark_of, read_manifest
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


def save(folder: Path, mark: str, chunk: Chunk, outcome: Outcome) -> None:
    """Write the states of a chunk below the folder of a store with this mark."""
    used = chunk.last - chunk.first
    leaves = jax.device_get(jax.tree.leaves(outcome.state))
    arrays = {f"leaf{i}": np.asarray(leaf)[:used] for i, leaf in enumerate(leaves)}
    arrays["diverged_at"] = np.asarray(outcome.diverged_at)[:used]
    arrays["stopped_at"] = np.asarray(outcome.stopped_at)[:used]
    file = folder / "states" / f"{chunk.name}.state"
    try:
        file.parent.mkdir(exist_ok=True)
        with beside(file) as temporary:
            synced(temporary, packed.encode(arrays, mark, f"{file.stem} state"))
            os.replace(temporary, file)
    except OSError as error:
        raise InputError(
            f"store {folder}: {error.strerror or error}; choose a writable directory on a disk "
            "with free space"
        ) from None


class Before:
    """The store of a shorter sweep, with the same grid and plan, that a sweep goes on from.

    path: its directory. Its states and parts are read chunk by chunk.
    """

    def __init__(self, path: Path):
        self.path = path
        manifest = read_manifest(path / "manifest.json")
        self.mark = mark_of(manifest)
        self.steps = int(manifest["request"]["steps"])
        self.records = np.asarray(manifest["request"]["record"])
        self.metrics = manifest["request"]["metrics"]

    def resumed(self, chunk: Chunk) -> Resumed | None:
        """Return the states of a chunk, or None if some of its slots have none."""
        pieces = self._pieces("states", chunk)
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
        entries = {}
        for _, arrays in self._pieces("parts", chunk):
            for i, at in enumerate(zip(arrays["point"], arrays["place"], strict=True)):
                entries[at] = (arrays, i)
        found = [entries.get(at) for at in zip(part.point, part.place, strict=True)]
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
