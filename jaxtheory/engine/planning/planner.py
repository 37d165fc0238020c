"""Plan a sweep: the layout of each bucket, the chunks to compute, and their cost.

The shape of compiled programs depends on the request and the kind of device, but not on the number
of devices. As many lanes are vmapped as fit a working set of `_CACHE` bytes. On CPU a bucket with
at least four rows is cut into at least four chunks, so that cores can share the work. An
accelerator would run them one after the other, each in the time that all lanes take together.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxtheory.engine.planning.buckets import CHUNK_SECONDS, COMPILE_SECONDS, group, share_values
from jaxtheory.engine.planning.cost import Costs, costs, step_work
from jaxtheory.engine.planning.memory import refuse
from jaxtheory.engine.records import TURNS, Bucket, Chunk, Layout
from jaxtheory.engine.request.axes import Axis
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.request.settings import numerics
from jaxtheory.system.backend import backend, workers
from jaxtheory.texts.errors import InputError
from jaxtheory.texts.faces import as_html, as_text

# bytes of working set that vmapped lanes may take: the second-level cache of a core. Sweeps of 256
# to 512 runs take up to 1.1 times as long with twice as many
_CACHE = {"cpu": 2 << 20}
_ACCELERATOR_CACHE = 1 << 30
_MEMORY = 256 << 20  # bytes of the states of one row at most
_SLOTS_MEMORY = 64 << 20  # bytes of problems and states in all slots of a program at most
_RUNS = 64  # of one row at most; more runs per problem save nothing
_CHUNKS = 2**20  # of one sweep at most; listing more takes minutes, and scheduling them longer
_SHARES = {"cpu": 4}  # chunks of a bucket at least, if it has that many rows; else 1
# estimated seconds of the steps of a chunk of several slots; metrics take time too, and estimates
# err, so that it is a third of CHUNK_SECONDS
_CHUNK_SECONDS = 10.0
_TEMPORARY = 4  # copies of the largest array of a step that are alive at once
_PROGRAMS = 150 << 20  # bytes of compilation and of compiled programs


class Plan(NamedTuple):
    """The plan of a sweep, as returned by `jaxtheory.plan`.

    Args:
        points: Number of combinations of axis values.
        runs: Number of runs that are trained. Points that differ only in evaluation fields share
            one.
        problems: Number of problems that are drawn.
        compilations: Number of programs of the training loop that are compiled.
        chunks: The chunks of runs that are computed and stored at a time.
        memory_bytes: Estimated memory of the process, in bytes.
        seconds: Estimated time, in seconds; measured with `compile=True`.
        devices: Number of workers that compute chunks concurrently.
        measured: True if `seconds` was measured.
        buckets: The groups of points that share a compiled program.
        axes: The axes of the sweep.
        seeds: The seeds of each point.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import random_walk
        >>> plan = jaxtheory.plan(
        ...     random_walk, random_walk.Config(), vary={"p": [0.5, 0.7]}, seeds=4, steps=10
        ... )
        >>> plan.points, plan.runs, plan.compilations, plan.measured
        (2, 8, 1, False)
        >>> plan.rows()[0]["algorithm"]
        'reduced'
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

    def _face(self) -> tuple[str, dict[str, str]]:
        seconds = f"{'' if self.measured else 'about '}{self.seconds:.3g} s"
        return f"Plan of {self.runs} runs", {
            "axes": ", ".join(f"{axis.name} ({len(axis.labels)})" for axis in self.axes),
            "seeds": str(len(self.seeds)),
            "points": str(self.points),
            "compilations": str(self.compilations),
            "chunks": f"{len(self.chunks)}, {self.devices} at a time",
            "memory": f"about {self.memory_bytes / 2**20:.0f} MiB",
            "time": seconds,
        }

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per bucket: its fields, sizes, runs, layout, bytes and seconds."""
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
        """The layouts of the buckets, which a store keeps and a resumed sweep follows."""
        return layouts(self.buckets)

    def following(self, stored: list[dict[str, Any]]) -> "Plan":
        """Return this plan with stored layouts. Raises InputError if they do not fit."""
        buckets = laid(self.buckets, stored)
        return self._replace(
            buckets=buckets, chunks=tuple(chunk for b in buckets for chunk in chunks(b))
        )


def layouts(buckets: Iterable[Bucket]) -> list[dict[str, Any]]:
    """Return the layout of each bucket as plain data, with the sizes and counts it is made for."""
    return [
        {
            "algorithm": b.algorithm,
            "problems": b.problems,
            "runs": b.runs,
            "sizes": b.sizes,
            "layout": b.layout._asdict(),
            "slots": b.slots,
        }
        for b in buckets
    ]


def laid(buckets: Iterable[Bucket], stored: list[dict[str, Any]]) -> tuple[Bucket, ...]:
    """Return buckets with stored layouts. Raises InputError if they do not fit the buckets."""
    planned = tuple(buckets)
    without_layout = lambda entries: [{**e, "layout": None, "slots": None} for e in entries]
    if without_layout(layouts(planned)) != without_layout(stored):
        raise InputError(
            "the store has another plan than this sweep, perhaps of another version of jaxtheory; "
            "choose another directory for store="
        )
    pairs = zip(planned, stored, strict=True)
    return tuple(bucket.laid(Layout(**entry["layout"])) for bucket, entry in pairs)


def chunks(bucket: Bucket) -> list[Chunk]:
    """Return the chunks of a bucket, each with as many slots as its program holds."""
    step, end = bucket.layout.slots, bucket.slots
    return [Chunk(bucket, first, min(first + step, end)) for first in range(0, end, step)]


def _power_of_two(n: float, up: bool) -> int:
    """The next power of two above (`up`) or below n, at least 1."""
    exponent = math.log2(max(n, 1))
    return int(2 ** (math.ceil(exponent) if up else math.floor(exponent)))


def _without_rest(runs: int, width: int) -> int:
    """Number of runs of a row that are vmapped at once, at most `width`.

    It divides `runs` if a number of at least half of `width` does, because a remainder would be
    compiled separately.
    """
    width = min(width, runs)
    return next((w for w in range(width, (width - 1) // 2, -1) if runs % w == 0), width)


def _lay_out(request: Request, bucket: Bucket) -> Bucket:
    """Choose how many lanes of a bucket are vmapped, and how many slots follow each other."""
    work, problem_bytes, state_bytes = step_work(request.theory, bucket.algorithm, bucket.template)
    kind = backend()
    shares, budget = _SHARES.get(kind, 1), _CACHE.get(kind, _ACCELERATOR_CACHE)
    width = int(np.clip(budget // max(4 * work.largest, 1), 1, 64 if kind == "cpu" else 4096))
    values = int(np.diff(bucket.members.value_of).max())
    most = int(np.diff(bucket.members.run_of).max())
    problems = bucket.problems
    # a row cannot be split between workers: it gets a limited number of runs and of estimated
    # seconds, and a single problem has at least two rows on CPU, for two workers
    steps = bucket.longest
    fit = min(
        _RUNS, _MEMORY / (state_bytes * values + 1), CHUNK_SECONDS / (work.seconds * steps + 1e-9)
    )
    least = 1 if most == 1 or problems > 1 else min(2, shares)
    pieces = max(least, math.ceil(most / max(fit, 1)))
    runs = math.ceil(most / pieces)
    bucket = bucket.laid(Layout(runs=runs))
    rows = min(max(width // runs, 1), _power_of_two(math.ceil(bucket.rows / shares), up=True))
    row_bytes = problem_bytes + runs * state_bytes
    waiting = math.ceil(bucket.rows / rows / shares)
    slot_seconds = work.amortize(rows * min(width, runs)).seconds * steps * rows * runs
    slots = min(
        64,
        _power_of_two(waiting, up=True),
        _power_of_two(_SLOTS_MEMORY / (rows * row_bytes + 1), up=False),
        _power_of_two(_CHUNK_SECONDS / (slot_seconds + 1e-9), up=False),
    )
    width = _without_rest(runs, width)
    layout = Layout(slots, rows, runs, values, width, share_values(request, bucket))
    memory = slots * rows * row_bytes + rows * width * _TEMPORARY * work.largest
    seconds = work.amortize(rows * width).seconds * float(bucket.steps.sum()) * bucket.seeds
    return bucket.laid(layout)._replace(
        seconds=seconds, memory=workers() * memory, problem=problem_bytes
    )


def priced(request: Request, buckets: Sequence[Bucket]) -> tuple[Bucket, ...]:
    """Return the buckets with their seconds and bytes, estimated from all functions of their runs.

    The functions are counted once for buckets with the same static fields, and scaled by the bytes
    of a problem.
    """
    counts: dict[tuple, Costs] = {}
    with numerics(request.dtype, request.partitionable):
        for b in buckets:
            if (kind := tuple(b.static.values())) not in counts:
                counts[kind] = costs(
                    request.theory, b.algorithm, b.template, request.schedule.records
                )
    return tuple(_price(request, b, counts[tuple(b.static.values())]) for b in buckets)


def _price(request: Request, bucket: Bucket, cost: Costs) -> Bucket:
    """A bucket with its seconds and bytes; before, `seconds` are those of its steps alone."""
    layout, records = bucket.layout, len(request.schedule.records)
    evaluations, lanes = bucket.runs * layout.values, layout.rows * layout.width
    times = [
        (cost.draw, bucket.problems),
        (cost.begin, bucket.runs),
        (cost.metrics.amortize(lanes), evaluations * records),
        (cost.analyses.amortize(lanes), evaluations),
        (cost.predict.amortize(lanes), evaluations),
        (
            cost.baselines.amortize(layout.rows),
            bucket.rows * layout.values * (1 if layout.common else layout.runs),
        ),
    ]
    scale = bucket.problem / cost.problem if cost.problem else 1.0
    seconds = bucket.seconds + scale * sum(work.seconds * count for work, count in times)
    results = evaluations * (cost.metrics_size * records + cost.ended + cost.curves)
    largest = max(work.largest for work in (cost.metrics, cost.analyses, cost.predict))
    buffers = TURNS * layout.slots * layout.rows * layout.runs * layout.values * cost.metrics_size
    return bucket._replace(
        seconds=COMPILE_SECONDS / min(workers(), 2) + seconds / min(workers(), bucket.slots),
        memory=bucket.memory + workers() * (lanes * largest + buffers) + 2 * results + _PROGRAMS,
        result_bytes=results,
    )


def plan_request(request: Request, problem_per_run: bool = False) -> Plan:
    """Return the plan of a request. Raises InputError if it is too large or exceeds memory.

    problem_per_run: no runs share a problem (see `group`).
    """
    with numerics(request.dtype, request.partitionable):
        buckets = tuple(_lay_out(request, bucket) for bucket in group(request, problem_per_run))
        for bucket in buckets:
            refuse(request, bucket)
        if (count := sum(-(-b.slots // b.layout.slots) for b in buckets)) > _CHUNKS:
            raise InputError(
                f"{sum(b.runs for b in buckets):.3g} runs ({len(request.seeds):.3g} seeds) make "
                f"{count:.3g} chunks, but a sweep has at most {_CHUNKS:.3g}; split it into several "
                "sweeps with different keys"
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
