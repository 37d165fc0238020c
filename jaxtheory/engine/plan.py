"""How a sweep runs, and at what cost: axes -> points -> buckets -> rows -> chunks.

A *point* is one combination of axis values. Points with equal static fields and one capacity per size form a *bucket*: one compilation of
the training loop. In a bucket, (seed, fields that `problem`, `sample` or `baselines` read) names a problem; the runs that share it form a
*row*, which draws its problem and batches once; evaluation fields only multiply what is looked at, never what is trained.

The rule of `buckets="auto"`, per size field: exact capacities where padding would more than double the work of a step, else one padded
capacity. The rule for lanes: as many side by side (vmap) as fit a working set of `CACHE` bytes per device, the others one after the other.
"""

import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxtheory.core.config import Config, InputError, Size, canonical, fields
from jaxtheory.core.theory import Theory, conform
from jaxtheory.engine.cost import reads, step_work
from jaxtheory.engine.lanes import Lanes, run_lanes
from jaxtheory.engine.program import Layout, leaf_names, program
from jaxtheory.engine.request import (
    Axis,
    Point,
    check_record,
    check_type,
    checked_algorithm,
    checked_steps,
    numerics,
    read_axes,
    read_points,
    read_seeds,
    schedule,
)

CACHE = {"cpu": 2 << 20}  # bytes of working set that lanes side by side may take on one device; measured on 2 CPU cores
ACCELERATOR_CACHE = 1 << 30
MEMORY = 256 << 20  # bytes of problems and states in one chunk, per device
CHUNK_SECONDS = 30.0
COMPILE_SECONDS = 4.0  # for estimates only


class RunSpec(NamedTuple):
    """A run of a row: the values of its own fields, its steps, and per evaluation value the points that look at it."""

    own: tuple
    steps: int
    values: dict[tuple, list[int]]


class Row(NamedTuple):
    """A problem (place of its seed, values of the fields it reads) and the runs that share it."""

    seed: int
    shared: tuple
    runs: list[RunSpec]


class Bucket(NamedTuple):
    """Rows that one compilation of the training loop serves, and how they are laid out."""

    algorithm: str
    template: Config
    shared: tuple[str, ...]
    own: tuple[str, ...]
    values: tuple[str, ...]
    rows: list[Row]
    layout: Layout
    seconds: float
    memory: int

    @property
    def sizes(self) -> dict[str, int]:
        """The capacity of each size field."""
        return {n: getattr(self.template, n).cap for n, f in fields(type(self.template)).items() if f.kind == "size"}

    @property
    def static(self) -> dict[str, Any]:
        """The value of each static field."""
        return {n: getattr(self.template, n) for n, f in fields(type(self.template)).items() if f.kind == "static"}

    @property
    def rows_per_chunk(self) -> int:
        return self.layout.slots * self.layout.rows

    @property
    def chunks(self) -> int:
        """Resumable parts."""
        return math.ceil(len(self.rows) / self.rows_per_chunk)

    def lanes(
        self, chunk: int, seeds: Sequence[int], dtype: Any
    ) -> tuple[Lanes, np.ndarray, list[tuple[tuple[int, int, int, int], int, int]]]:
        """A chunk's inputs, the places of its seeds, and what comes out where: (lane, point, place of seed)."""
        layout = self.layout
        rows = self.rows[chunk * self.rows_per_chunk : (chunk + 1) * self.rows_per_chunk]
        shape = (layout.slots, layout.rows, layout.runs, layout.values)
        table = fields(type(self.template))
        kind = lambda name: np.int32 if table[name].integer else dtype  # noqa: E731
        shared = {n: np.zeros(shape[:2], kind(n)) for n in self.shared}
        own = {n: np.zeros(shape[:3], kind(n)) for n in self.own}
        values = {n: np.zeros(shape, kind(n)) for n in self.values}
        seed, places, limit, problem = (
            np.zeros(shape[:2], np.int32),
            np.zeros(shape[:2], int),
            np.zeros(shape[:3], np.int32),
            np.zeros(shape[:2], int),
        )
        distinct: dict[tuple, int] = {}
        out = []
        for i in range(layout.slots * layout.rows):
            row, at = rows[min(i, len(rows) - 1)], divmod(i, layout.rows)
            seed[at], places[at] = seeds[row.seed], row.seed
            problem[at] = distinct.setdefault((row.seed, row.shared), len(distinct))
            for name, value in zip(self.shared, row.shared, strict=True):
                shared[name][at] = value
            for j in range(layout.runs):
                run = row.runs[min(j, len(row.runs) - 1)]
                real = i < len(rows) and j < len(row.runs)
                limit[(*at, j)] = run.steps if real else 0
                for name, value in zip(self.own, run.own, strict=True):
                    own[name][(*at, j)] = value
                looks = list(run.values.items())
                for e in range(layout.values):
                    entry, points = looks[min(e, len(looks) - 1)]
                    for name, value in zip(self.values, entry, strict=True):
                        values[name][(*at, j, e)] = value
                    if real and e < len(looks):
                        out += [((*at, j, e), point, row.seed) for point in points]
        used = math.ceil(len(rows) / layout.rows)
        distinct_seeds = np.array([seeds[s] for s, _ in distinct], np.int32)
        distinct_shared = {n: np.array([v[k] for _, v in distinct], kind(n)) for k, n in enumerate(self.shared)}
        return Lanes(used, seed, shared, own, values, limit, problem, (distinct_seeds, distinct_shared)), places, out


class Plan(NamedTuple):
    """What a sweep will do. `seconds` is a rough estimate unless measured with `compile=True`."""

    points: int
    runs: int
    problems: int
    compilations: int
    chunks: int
    memory_bytes: int
    seconds: float
    devices: int
    measured: bool
    buckets: tuple[Bucket, ...]
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]

    def rows(self) -> list[dict[str, Any]]:
        """The buckets as a table."""
        return [
            {
                "algorithm": b.algorithm,
                "static": ", ".join(f"{n}={v}" for n, v in b.static.items()),
                "sizes": ", ".join(f"{n}={v}" for n, v in b.sizes.items()),
                "problems": len({(r.seed, r.shared) for r in b.rows}),
                "runs": sum(len(r.runs) for r in b.rows),
                "layout": f"{b.layout.slots} x {b.layout.rows} rows of {b.layout.runs} runs, {b.layout.values} values",
                "side by side": (b.layout.rows // b.layout.devices) * min(b.layout.width, b.layout.runs),
                "devices": b.layout.devices,
                "chunks": b.chunks,
                "memory_bytes": b.memory,
                "seconds": b.seconds,
            }
            for b in self.buckets
        ]


def padded_fields(theory: Theory, points: Sequence[Point], mode: str) -> set[str]:
    """The size fields that get one padded capacity; the others get exact ones."""
    varying = {}
    for name, field in fields(theory.Config).items():
        if field.kind == "size":
            lengths = [int(getattr(p.config, name).n) for p in points]
            if len(set(lengths)) > 1:
                varying[name] = lengths
    if mode == "exact":
        return set()
    if mode == "pad":
        return set(varying)
    padded = set()
    for name, lengths in varying.items():
        base = points[0].config
        seconds = {n: step_work(theory, points[0].algorithm, base.replace(**{name: Size(n)}))[0].seconds for n in sorted(set(lengths))}
        if len(lengths) * seconds[max(lengths)] <= 2 * sum(seconds[n] for n in lengths):
            padded.add(name)
    return padded


def power_of_two(n: float, up: bool) -> int:
    """The next power of two, at least 1."""
    exponent = math.log2(max(n, 1))
    return 2 ** (math.ceil(exponent) if up else math.floor(exponent))


def make_buckets(
    theory: Theory, points: Sequence[Point], seeds: Sequence[int], mode: str, dtype: Any, stopping: bool, devices: int
) -> tuple[Bucket, ...]:
    """Group the points; see the module's docstring. With a stop rule evaluation values do not share a run, since each stops for itself."""
    if mode not in ("auto", "pad", "exact"):
        raise InputError(f"buckets = {mode!r}: choose 'auto', 'pad' or 'exact'")
    table = fields(theory.Config)
    sizes = [n for n, f in table.items() if f.kind == "size"]
    padded = padded_fields(theory, points, mode)
    cap = {n: max(getattr(p.config, n).cap for p in points) for n in padded}
    groups: dict[tuple, list[int]] = {}
    for i, p in enumerate(points):
        static = tuple(getattr(p.config, n) for n, f in table.items() if f.kind == "static")
        exact = tuple((getattr(p.config, n).cap, getattr(p.config, n).value is not None) for n in sizes if n not in padded)
        groups.setdefault((p.algorithm, static, exact), []).append(i)
    out = []
    for (algorithm, _, _), members in groups.items():
        config = points[members[0]].config
        config = config.replace(**{n: Size(cap[n], int(getattr(config, n).n)) for n in padded})
        template = canonical(config, dtype)
        names = leaf_names(template)
        key = jax.random.key(0, impl="threefry2x32")
        problem = jax.eval_shape(theory.problem, key, template)
        sample = theory.algorithms[algorithm].sample or theory.sample
        evaluated = [] if stopping else [n for n in names if table[n].kind == "evaluation"]
        common = (
            reads(theory.problem, template, names, key)
            | reads(sample, template, names, key, problem)
            | reads(theory.baselines, template, names, problem)
        )
        shared = tuple(n for n in names if n in common and n not in evaluated)
        own = tuple(n for n in names if n not in shared and n not in evaluated)
        problems: dict[tuple, dict[tuple, RunSpec]] = {}
        for i in members:
            p = points[i]
            pick = functools.partial(leaf_values, p.config)
            for s in range(len(seeds)):
                run = problems.setdefault((s, pick(shared)), {}).setdefault((pick(own), p.steps), RunSpec(pick(own), p.steps, {}))
                run.values.setdefault(pick(evaluated), []).append(i)
        rows = [Row(s, sh, sorted(runs.values(), key=lambda r: -r.steps)) for (s, sh), runs in problems.items()]
        rows.sort(key=lambda r: -r.runs[0].steps)
        out.append(lay_out(theory, algorithm, template, shared, own, tuple(evaluated), rows, devices))
    return tuple(out)


def leaf_values(config: Config, names: Sequence[str]) -> tuple:
    """The named leaves as plain numbers; for sizes the value."""
    leaves = [getattr(config, name) for name in names]
    return tuple(int(leaf.n) if isinstance(leaf, Size) else np.asarray(leaf).item() for leaf in leaves)


def lay_out(
    theory: Theory, algorithm: str, template: Config, shared: tuple, own: tuple, evaluated: tuple, rows: list[Row], devices: int
) -> Bucket:
    """Choose how many lanes go side by side, and how many follow each other in a chunk."""
    cost, problem_bytes, state_bytes = step_work(theory, algorithm, template)
    budget = CACHE.get(jax.default_backend(), ACCELERATOR_CACHE)
    width = int(np.clip(budget // max(4 * cost.largest, 1), 1, 64 if jax.default_backend() == "cpu" else 4096))
    values = max(len(run.values) for row in rows for run in row.runs)
    most = max(len(row.runs) for row in rows)
    pieces = max(math.ceil(devices / len(rows)), math.ceil(most * state_bytes / MEMORY))
    runs = math.ceil(most / pieces)
    if runs < most:  # split rows so that every device has one and none is too large
        rows = [Row(r.seed, r.shared, r.runs[i : i + runs]) for r in rows for i in range(0, len(r.runs), runs)]
    devices = min(devices, len(rows))
    beside = min(max(width // runs, 1), power_of_two(math.ceil(len(rows) / devices), up=True))
    steps = max(run.steps for row in rows for run in row.runs)
    row_seconds = cost.seconds * steps * runs
    row_bytes = problem_bytes + runs * state_bytes
    fit = min(64, MEMORY / (beside * row_bytes + 1), CHUNK_SECONDS / (beside * row_seconds + 1e-9))
    slots = power_of_two(fit, up=False) if len(rows) > 1 else 1
    common = all(list(run.values) == list(row.runs[0].values) for row in rows for run in row.runs)
    layout = Layout(slots, beside * devices, runs, values, min(width, runs), devices, common)
    seconds = row_seconds * len(rows) / devices
    memory = devices * (slots * beside * row_bytes + beside * min(width, runs) * 4 * cost.largest)
    return Bucket(algorithm, template, shared, own, evaluated, rows, layout, seconds, memory)


def plan(
    theory: Theory,
    config: Config,
    *,
    vary: Mapping | None = None,
    zip: Any = None,
    seeds: Any = 1,
    steps: int,
    algorithm: str | None = None,
    key: int = 0,
    record: Any = None,
    start: Any = None,
    stop: Callable | None = None,
    dtype: Any = None,
    buckets: str = "auto",
    store: Any = None,
    compile: bool = False,
) -> Plan:
    """What `sweep` of the same arguments would do: points, runs, problems, buckets, compilations, memory and a rough time.

    With `compile=True` the training loop of each bucket is compiled and timed on its first chunk. Raises InputError as sweep does.
    """
    made, _ = prepare(theory, config, vary, zip, seeds, steps, algorithm, record, stop, dtype, buckets)
    if not compile:
        return made
    with numerics(dtype) as float_dtype:
        measured = tuple(measure(theory, b, made.seeds, key, float_dtype) for b in made.buckets)
    return made._replace(
        buckets=measured, seconds=sum(b.seconds for b in measured), memory_bytes=max(b.memory for b in measured), measured=True
    )


def measure(theory: Theory, bucket: Bucket, seeds: Sequence[int], key: int, dtype: Any) -> Bucket:
    """The bucket with its seconds measured: compiling once, and the steps of every chunk; memory stays an estimate."""
    prog = program(theory, bucket.algorithm, bucket.template, bucket.layout)
    lanes, _, _ = bucket.lanes(0, seeds, dtype)
    times = []
    for steps in (1, 1, 6):  # the first call compiles
        short = lanes._replace(limit=np.minimum(lanes.limit, steps).astype(np.int32))
        begun = time.perf_counter()
        run_lanes(prog, short, key, np.array([steps], np.int32), predictions=False)
        times.append(time.perf_counter() - begun)
    longest = max(run.steps for row in bucket.rows for run in row.runs)
    per_step = max(times[2] - times[1], 1e-6) / 5
    full = len(bucket.rows) / min(len(bucket.rows), bucket.rows_per_chunk)
    return bucket._replace(seconds=times[0] + full * (times[1] + per_step * longest))


def prepare(
    theory: Theory,
    config: Config,
    vary: Any,
    zipped: Any,
    seeds: Any,
    steps: Any,
    algorithm: Any,
    record: Any,
    stop: Any,
    dtype: Any,
    mode: str,
    devices: int | None = None,
) -> tuple[Plan, list[Point]]:
    """Validate a sweep's arguments and plan it."""
    conform(theory)
    check_type(theory, config)  # values that axes replace need not fit together; read_points validates every point
    axes = read_axes(theory, vary, zipped)
    words = {w for axis in axes for w in axis.values}
    name = checked_algorithm(theory, algorithm)
    if algorithm is not None and "algorithm" in words:
        raise InputError("algorithm is given and also stands on an axis")
    places = read_seeds(seeds)
    points = read_points(theory, config, axes, name, checked_steps(steps))
    _, which = schedule(record, [p.steps for p in points])
    with numerics(dtype) as float_dtype:
        check_record(theory, name, canonical(points[0].config, float_dtype), which)
        buckets = make_buckets(theory, points, places, mode, float_dtype, stop is not None, devices or jax.local_device_count())
        programs = {(b.algorithm, jax.tree.structure(b.template), b.layout) for b in buckets}
    problems = sum(len({(r.seed, r.shared) for r in b.rows}) for b in buckets)
    return (
        Plan(
            points=len(points),
            runs=sum(len(r.runs) for b in buckets for r in b.rows),
            problems=problems,
            compilations=len(programs),
            chunks=sum(b.chunks for b in buckets),
            memory_bytes=max(b.memory for b in buckets),
            seconds=sum(b.seconds for b in buckets) + COMPILE_SECONDS * len(programs),
            devices=max(b.layout.devices for b in buckets),
            measured=False,
            buckets=buckets,
            axes=axes,
            seeds=places,
        ),
        points,
    )
