"""Layouts of the buckets of a sweep, the chunks to compute, and what they cost.

The shape of what is compiled depends on the request and the kind of device, not on how many devices
there are: as many lanes side by side (vmap) as fit a working set of `_CACHE` bytes, but at least
four rows' worth of chunks where there are that many, so that devices share.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxtheory.core.errors import InputError
from jaxtheory.engine.planning.cost import Costs, costs, step_work
from jaxtheory.engine.planning.layout import (
    CHUNK_SECONDS,
    COMPILE_SECONDS,
    Bucket,
    Chunk,
    Layout,
    group,
    share_values,
)
from jaxtheory.engine.planning.memory import refuse
from jaxtheory.engine.request.axes import Axis
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.request.settings import numerics
from jaxtheory.system.backend import workers

_CACHE = {
    "cpu": 4 << 20
}  # bytes of working set that lanes side by side may take; measured on 2 CPU cores
_ACCELERATOR_CACHE = 1 << 30
_MEMORY = 256 << 20  # bytes of the states of one row
_SLOTS_MEMORY = 64 << 20  # bytes of problems and states in all slots of a program
_RUNS = 64  # of one row; beyond, sharing a problem and its batches saves nothing more
_CHUNKS = 2**20  # of one sweep at most; more take minutes to list, and a scheduler longer
_SHARES = 4  # chunks that a bucket is cut into at least, where it has that many rows
_TEMPORARY = 4  # largest arrays of a step that live at once
_PROGRAMS = 150 << 20  # bytes of compiling, and of compiled programs


class Plan(NamedTuple):
    """What a sweep will do. `seconds` is a rough estimate unless measured with `compile=True`;
    `devices` compute chunks side by side.
    """

    points: int
    runs: int
    problems: int
    compilations: int
    chunks: tuple[Chunk, ...]
    memory_bytes: int
    seconds: float
    devices: int
    measured: bool
    buckets: tuple[Bucket, ...]
    axes: tuple[Axis, ...]
    seeds: np.ndarray

    def rows(self) -> list[dict[str, Any]]:
        """The buckets as a table."""
        return [
            {
                "algorithm": b.algorithm,
                "static": ", ".join(f"{n}={v}" for n, v in b.static.items()),
                "sizes": ", ".join(f"{n}={v}" for n, v in b.sizes.items()),
                "problems": b.problems,
                "runs": b.runs,
                "layout": f"{b.layout.slots} x {b.layout.rows} rows of {b.layout.runs} runs, "
                f"{b.layout.values} values",
                "side by side": b.layout.rows * min(b.layout.width, b.layout.runs),
                "chunks": len(chunks(b)),
                "memory_bytes": b.memory,
                "seconds": b.seconds,
            }
            for b in self.buckets
        ]

    @property
    def layouts(self) -> list[dict[str, Any]]:
        """What of the plan a store keeps and a resumed sweep follows."""
        return layouts(self.buckets)

    def following(self, stored: list[dict[str, Any]]) -> "Plan":
        """The same plan with stored layouts. Raises InputError where they are not of
        these buckets.
        """
        buckets = laid(self.buckets, stored)
        return self._replace(
            buckets=buckets, chunks=tuple(chunk for b in buckets for chunk in chunks(b))
        )


def layouts(buckets: Iterable[Bucket]) -> list[dict[str, Any]]:
    """The layout of each bucket, and what it lays out."""
    return [
        {
            "algorithm": b.algorithm,
            "problems": b.problems,
            "runs": b.runs,
            "sizes": b.sizes,
            "layout": b.layout._asdict(),
        }
        for b in buckets
    ]


def laid(buckets: Iterable[Bucket], stored: list[dict[str, Any]]) -> tuple[Bucket, ...]:
    """Buckets with stored layouts. Raises InputError where they are not of these buckets."""
    found = tuple(buckets)
    plain = lambda entries: [{**entry, "layout": None} for entry in entries]
    if plain(layouts(found)) != plain(stored):
        raise InputError(
            "the store was planned differently (by another version of jaxtheory?); choose "
            "another store directory"
        )
    return tuple(b.laid(Layout(**entry["layout"])) for b, entry in zip(found, stored, strict=True))


def chunks(bucket: Bucket) -> list[Chunk]:
    """A bucket's chunks: as many slots at a time as its program holds."""
    step, end = bucket.layout.slots, bucket.slots
    return [Chunk(bucket, first, min(first + step, end)) for first in range(0, end, step)]


def _power_of_two(n: float, up: bool) -> int:
    """The next power of two, at least 1."""
    exponent = math.log2(max(n, 1))
    return int(2 ** (math.ceil(exponent) if up else math.floor(exponent)))


def _without_rest(runs: int, width: int) -> int:
    """How many runs of a row go side by side, at most `width`: half of it or more where that
    divides them, as a rest would be compiled apart.
    """
    width = min(width, runs)
    return next((w for w in range(width, (width - 1) // 2, -1) if runs % w == 0), width)


def _lay_out(request: Request, bucket: Bucket) -> Bucket:
    """Choose how many lanes go side by side, and how many follow each other in a chunk."""
    work, problem_bytes, state_bytes = step_work(request.theory, bucket.algorithm, bucket.template)
    budget = _CACHE.get(jax.default_backend(), _ACCELERATOR_CACHE)
    width = int(
        np.clip(
            budget // max(4 * work.largest, 1), 1, 64 if jax.default_backend() == "cpu" else 4096
        )
    )
    values = int(np.diff(bucket.members.value_of).max())
    most = int(np.diff(bucket.members.run_of).max())
    problems = bucket.problems
    # a row is what cannot be cut: not too many runs, nor too long by an estimate; and two of them
    # at least, for two workers
    steps = bucket.longest
    fit = min(
        _RUNS, _MEMORY / (state_bytes * values + 1), CHUNK_SECONDS / (work.seconds * steps + 1e-9)
    )
    pieces = max(1 if most == 1 or problems > 1 else 2, math.ceil(most / max(fit, 1)))
    runs = math.ceil(most / pieces)
    bucket = bucket.laid(Layout(runs=runs))
    rows = min(max(width // runs, 1), _power_of_two(math.ceil(bucket.rows / _SHARES), up=True))
    row_bytes = problem_bytes + runs * state_bytes
    waiting = math.ceil(bucket.rows / rows / _SHARES)
    slots = min(
        64,
        _power_of_two(waiting, up=True),
        _power_of_two(_SLOTS_MEMORY / (rows * row_bytes + 1), up=False),
    )
    width = _without_rest(runs, width)
    layout = Layout(slots, rows, runs, values, width, share_values(request, bucket))
    memory = slots * rows * row_bytes + rows * width * _TEMPORARY * work.largest
    seconds = work.beside(rows * width).seconds * float(bucket.steps.sum()) * bucket.seeds
    return bucket.laid(layout)._replace(
        seconds=seconds, memory=workers() * memory, problem=problem_bytes
    )


def priced(request: Request, buckets: Sequence[Bucket]) -> tuple[Bucket, ...]:
    """The buckets with their seconds and bytes, by a count of all that their runs call. It is made
    once for buckets of the same static fields, and multiplied by the bytes of their problems.
    """
    found: dict[tuple, Costs] = {}
    with numerics(request.dtype, request.partitionable):
        for b in buckets:
            if (kind := tuple(b.static.values())) not in found:
                found[kind] = costs(
                    request.theory, b.algorithm, b.template, request.schedule.records
                )
    return tuple(_price(request, b, found[tuple(b.static.values())]) for b in buckets)


def _price(request: Request, bucket: Bucket, found: Costs) -> Bucket:
    """A bucket with its seconds and bytes; `seconds` holds those of its steps before."""
    layout, records = bucket.layout, len(request.schedule.records)
    looks, lanes = bucket.runs * layout.values, layout.rows * layout.width
    times = [
        (found.draw, bucket.problems),
        (found.begin, bucket.runs),
        (found.look.beside(lanes), looks * records),
        (found.analyses.beside(lanes), looks),
        (found.predict.beside(lanes), looks),
        (
            found.baselines.beside(layout.rows),
            bucket.rows * layout.values * (1 if layout.common else layout.runs),
        ),
    ]
    scale = bucket.problem / found.problem if found.problem else 1.0
    seconds = bucket.seconds + scale * sum(work.seconds * count for work, count in times)
    kept = looks * (found.seen * records + found.ended + found.curves)
    largest = max(work.largest for work in (found.look, found.analyses, found.predict))
    return bucket._replace(
        seconds=COMPILE_SECONDS / min(workers(), 2) + seconds / min(workers(), bucket.slots),
        memory=bucket.memory + workers() * lanes * largest + 2 * kept + _PROGRAMS,
        kept=kept,
    )


def plan_request(request: Request) -> Plan:
    """The plan of a request."""
    with numerics(request.dtype, request.partitionable):
        buckets = tuple(_lay_out(request, bucket) for bucket in group(request))
        for bucket in buckets:
            refuse(request, bucket)
        if (count := sum(-(-b.slots // b.layout.slots) for b in buckets)) > _CHUNKS:
            raise InputError(
                f"{sum(b.runs for b in buckets):.3g} runs ({len(request.seeds):.3g} seeds) are "
                f"{count:.3g} chunks, and a sweep has at most {_CHUNKS:.3g}; cut it into sweeps of "
                "other keys"
            )
    programs = {(b.algorithm, jax.tree.structure(b.template), b.layout) for b in buckets}
    return Plan(
        points=request.points.total,
        runs=sum(b.runs for b in buckets),
        problems=sum(b.problems for b in buckets),
        compilations=len(programs),
        chunks=tuple(chunk for b in buckets for chunk in chunks(b)),
        memory_bytes=max(b.memory for b in buckets),
        seconds=math.nan,
        devices=workers(),
        measured=False,
        buckets=buckets,
        axes=request.axes,
        seeds=request.seeds,
    )
