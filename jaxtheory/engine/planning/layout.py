"""Which points share what: points -> buckets -> problems, runs and values; and the lanes of a
chunk, by index arithmetic.

Points with equal static fields and one capacity per size form a *bucket*: one compilation of the
training loop. In a bucket the fields that `problem`, `sample` or `baselines` read, with the seed,
name a *problem*; the *runs* that share it draw it once, and its batches; each run is looked at with
several *values* of the evaluation fields. What is compiled trains *rows*: a problem with up to so
many of its runs. Rows lie side by side; *slots* of rows follow each other. A *chunk* is a range of
slots.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxtheory.core.config import Config, Size, canonical, fields, leaf_names
from jaxtheory.core.errors import InputError
from jaxtheory.engine.planning.cost import read_by_problem, run_seconds
from jaxtheory.engine.planning.padding import trusted
from jaxtheory.engine.request.axes import Points, codes_of, in_order
from jaxtheory.engine.request.request import Request

COMPILE_SECONDS = 8.0  # of one core, of what a bucket calls
_PROGRAMS = 1000  # of a sweep at most
_SLOWER = 1.25  # that padding may be, for the sake of one program


class Layout(NamedTuple):
    """Shape of a compiled program: slots in sequence, rows side by side, runs per row, values per
    run.

    `width` runs are vmapped at once (the rest by lax.map); `common` says that all runs of a row
    share their evaluation values.
    """

    slots: int = 1
    rows: int = 1
    runs: int = 1
    values: int = 1
    width: int = 1
    common: bool = True


class Members(NamedTuple):
    """The points of a bucket in the order problem, run, value. Level by level the place where each
    entry's children start, and the end.

    Problem c has the runs run_of[c] : run_of[c + 1], run r the values value_of[r] : value_of[r +
    1], value v the points points[point_of[v] : point_of[v + 1]]. Every problem stands for one row,
    or several, per seed.
    """

    points: np.ndarray
    run_of: np.ndarray
    value_of: np.ndarray
    point_of: np.ndarray

    def first_of_run(self, run: np.ndarray) -> np.ndarray:
        """A point of each run."""
        return self.points[self.point_of[self.value_of[run]]]


class Bucket(NamedTuple):
    """Points that one compilation of the training loop serves. shared, own, values: the fields of
    problems, of runs, of values. seconds, memory (bytes), problem (bytes of one) come with its
    layout, as does row_of: per problem where its rows of one seed start, and the end.
    """

    number: int
    algorithm: str
    template: Config
    shared: tuple[str, ...]
    own: tuple[str, ...]
    values: tuple[str, ...]
    members: Members
    steps: np.ndarray
    seeds: int
    layout: Layout
    seconds: float
    memory: int
    problem: int
    row_of: np.ndarray
    kept: int = 0  # bytes of its results

    def laid(self, layout: Layout) -> "Bucket":
        """The bucket with a layout, which cuts the runs of each problem into rows."""
        pieces = -(-np.diff(self.members.run_of) // layout.runs)
        return self._replace(layout=layout, row_of=np.append(0, np.cumsum(pieces)))

    @property
    def longest(self) -> int:
        """The most steps of a run; longer runs stand first."""
        return int(self.steps[0])

    @property
    def sizes(self) -> dict[str, int]:
        """The capacity of each size field."""
        return {
            n: getattr(self.template, n).cap
            for n, f in fields(type(self.template)).items()
            if f.kind == "size"
        }

    @property
    def static(self) -> dict[str, Any]:
        """The value of each static field."""
        return {
            n: getattr(self.template, n)
            for n, f in fields(type(self.template)).items()
            if f.kind == "static"
        }

    @property
    def problems(self) -> int:
        return self.seeds * (len(self.members.run_of) - 1)

    @property
    def runs(self) -> int:
        return self.seeds * (len(self.members.value_of) - 1)

    @property
    def rows(self) -> int:
        return self.seeds * int(self.row_of[-1])

    @property
    def slots(self) -> int:
        return math.ceil(self.rows / self.layout.rows)


class Chunk(NamedTuple):
    """Slots first..last-1 of a bucket: what is computed, and kept, at a time."""

    bucket: Bucket
    first: int
    last: int

    @property
    def name(self) -> str:
        return f"{self.bucket.number:04d}-{self.first:08d}-{self.last:08d}"


class Lanes(NamedTuple):
    """The inputs of a chunk: NumPy arrays with the leading axes [slot, row], then [run], then
    [value]. `used` counts the filled slots.

    limit: steps of each run, 0 for filling. problem: the row's place among the chunk's distinct
    problems, whose seeds and fields are `distinct`. place: of the row's seed. out: which lane is
    which point and seed, as (slot, row, run, value), points, places of seeds.
    """

    used: int
    seed: np.ndarray
    place: np.ndarray
    shared: dict[str, np.ndarray]
    own: dict[str, np.ndarray]
    values: dict[str, np.ndarray]
    limit: np.ndarray
    problem: np.ndarray
    distinct: tuple[np.ndarray, dict[str, np.ndarray]]
    out: tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]

    @property
    def apart(self) -> bool:
        """Whether each row has a problem of its own, in their order; those that fill a slot repeat
        the last.
        """
        rows, count = self.problem[: self.used].ravel(), len(self.distinct[0])
        return np.array_equal(rows, np.minimum(np.arange(rows.size), count - 1))


def _padded_fields(request: Request) -> set[str]:
    """The size fields that get one padded capacity; the others get exact ones.

    auto: padded where one program of the largest size is done about as soon as one of every size,
    by a count of both, compilation included, field by field; never for a theory from outside that
    `verify` has not yet found free of padding.
    """
    theory, points = request.theory, request.points
    lengths = {
        n: [int(Size.wrap(v).n) for v in points.values(n)]
        for n, f in fields(theory.Config).items()
        if f.kind == "size"
    }
    varying = {n: several for n, several in lengths.items() if len(set(several)) > 1}
    if request.buckets != "auto":
        return set(varying) if request.buckets == "pad" else set()
    if varying and not trusted(theory):
        return set()
    return {name for name, several in varying.items() if _worth_padding(request, name, several)}


def _worth_padding(request: Request, name: str, several: Sequence[int]) -> bool:
    """Whether one program of the largest of several sizes is done about as soon as one of each."""
    first, records = request.points.point(0), request.schedule.records

    def seconds(n: int) -> float:
        config = first.config.replace(**{name: Size(n)})
        return run_seconds(request.theory, first.algorithm, config, int(records[-1]), len(records))

    small, large = min(several), max(several)
    least, most = seconds(small), seconds(large)
    # in between the time of a run grows by a power of the size
    power = math.log(most / least) / math.log((1 + large) / (1 + small))
    exact = sum(least * ((1 + n) / (1 + small)) ** power for n in several)
    runs, programs = request.runs / len(several), len(set(several))
    padded = COMPILE_SECONDS + runs * most * len(several)
    return padded <= _SLOWER * (programs * COMPILE_SECONDS + runs * exact)


def padding_note(request: Request) -> str:
    """Why sizes that vary do not share programs, where that could be otherwise."""
    table = fields(request.theory.Config)
    sizes = {n for axis in request.axes for n in axis.values if n in table}
    if request.buckets != "auto" or trusted(request.theory):
        return ""
    if not any(table[n].kind == "size" for n in sizes):
        return ""
    return (
        "exact sizes, one program each: padding is used once `jaxtheory verify` has found that "
        "it changes nothing"
    )


def group(request: Request) -> list[Bucket]:
    """The buckets of a request, without their layouts. With a stop rule values do not share a run,
    since each stops for itself.
    """
    theory, points = request.theory, request.points
    table = fields(theory.Config)
    sizes = [n for n, f in table.items() if f.kind == "size"]
    padded = _padded_fields(request)
    cap = {n: max(Size.wrap(v).cap for v in points.values(n)) for n in padded}
    every = np.arange(points.total)
    static = codes_of(
        points, ["algorithm", *(n for n, f in table.items() if f.kind == "static")], every
    )
    shape = lambda length: (Size.wrap(length).cap, Size.wrap(length).value is not None)
    kind = in_order(
        static * points.total
        + codes_of(points, [n for n in sizes if n not in padded], every, shape)
    )
    if (count := int(kind.max()) + 1) > _PROGRAMS:
        hours = count * COMPILE_SECONDS / 3600
        raise InputError(
            f"{count} programs, one for each combination of static values and sizes, take about "
            f"{hours:.2g} hours to compile, and a sweep has at most {_PROGRAMS}; choose "
            "buckets='pad', or cut an axis"
        )
    order = np.argsort(kind, kind="stable")
    buckets: list[Bucket] = []
    for at in np.split(order, np.flatnonzero(np.diff(kind[order])) + 1):
        point = points.point(int(at[0]))
        config = point.config.replace(
            **{n: Size(cap[n], int(getattr(point.config, n).n)) for n in padded}
        )
        template = canonical(config, request.dtype)
        names = leaf_names(template)
        values = (
            ()
            if request.stop is not None
            else tuple(n for n in names if table[n].kind == "evaluation")
        )
        common = (
            read_by_problem(theory, point.algorithm, template, names) if len(at) > 1 else set(names)
        )
        shared = tuple(n for n in names if n in common and n not in values)
        own = tuple(n for n in names if n not in shared and n not in values)
        members = _arrange(points, at, shared, own, values)
        steps = points.column("steps", members.first_of_run(np.arange(len(members.value_of) - 1)))
        bucket = Bucket(
            len(buckets),
            point.algorithm,
            template,
            shared,
            own,
            values,
            members,
            steps,
            len(request.seeds),
            Layout(),
            0.0,
            0,
            0,
            np.zeros(1, int),
        )
        buckets.append(bucket.laid(bucket.layout))
    return buckets


def _arrange(
    points: Points, at: np.ndarray, shared: Sequence[str], own: Sequence[str], values: Sequence[str]
) -> Members:
    """The members of a bucket; problems and runs with more steps stand first, else the order is
    that of the points.
    """
    steps = points.column("steps", at)
    problem = codes_of(points, shared, at)
    run = in_order(problem * len(at) + codes_of(points, [*own, "steps"], at))
    value = codes_of(points, values, at)
    longest = np.zeros(problem.max() + 1, steps.dtype)
    np.maximum.at(longest, problem, steps)
    order = np.lexsort((at, value, run, -steps, problem, -longest[problem]))
    problem, run, value = problem[order], run[order], value[order]
    new_problem = np.diff(problem, prepend=-1) != 0
    new_run = new_problem | (np.diff(run, prepend=-1) != 0)
    new_value = new_run | (np.diff(value, prepend=-1) != 0)
    starts = lambda new, within: np.append(np.flatnonzero(new[within]), np.count_nonzero(within))
    return Members(
        at[order],
        starts(new_problem, new_run),
        starts(new_run, new_value),
        starts(new_value, np.ones(len(at), bool)),
    )


def share_values(request: Request, bucket: Bucket) -> bool:
    """Whether all runs of a problem are looked at with the same evaluation values."""
    members = bucket.members
    counts = np.diff(members.value_of)
    if counts.min() < counts.max():
        return False
    codes = codes_of(request.points, bucket.values, members.points[members.point_of[:-1]]).reshape(
        len(counts), -1
    )
    first = np.repeat(members.run_of[:-1], np.diff(members.run_of))
    return bool(np.all(codes == codes[first]))


def lanes(request: Request, chunk: Chunk) -> Lanes:
    """What a chunk computes. Lanes beyond its rows, runs or values repeat the last one, with no
    steps to train.
    """
    bucket, layout, members = chunk.bucket, chunk.bucket.layout, chunk.bucket.members
    dtype, table = np.dtype(request.dtype), fields(type(bucket.template))
    shape = (layout.slots, layout.rows, layout.runs, layout.values)
    used = chunk.last - chunk.first
    real_rows = min(chunk.last * layout.rows, bucket.rows) - chunk.first * layout.rows
    row = chunk.first * layout.rows + np.minimum(
        np.arange(layout.slots * layout.rows), real_rows - 1
    )
    # a problem's rows: for each piece of its runs one row per seed
    problem = np.searchsorted(bucket.row_of, row // bucket.seeds, side="right") - 1
    piece, place = np.divmod(row - bucket.row_of[problem] * bucket.seeds, bucket.seeds)

    j = piece[:, None] * layout.runs + np.arange(layout.runs)
    count = (members.run_of[problem + 1] - members.run_of[problem])[:, None]
    real_run = (np.arange(len(row)) < real_rows)[:, None] & (j < count)
    run = members.run_of[problem][:, None] + np.minimum(j, count - 1)
    e, looks = (
        np.arange(layout.values),
        (members.value_of[run + 1] - members.value_of[run])[:, :, None],
    )
    real = real_run[:, :, None] & (e < looks)
    value = members.value_of[run][:, :, None] + np.minimum(e, looks - 1)

    def column(name: str, at: np.ndarray) -> np.ndarray:
        numbers = request.points.column(name, at.ravel()).astype(
            np.int32 if table[name].integer else dtype
        )
        return numbers.reshape(shape[: at.ndim + 1])

    first = members.first_of_run(members.run_of[problem])
    shared = {n: column(n, first) for n in bucket.shared}
    _, distinct, place_of = np.unique(
        problem * bucket.seeds + place, return_index=True, return_inverse=True
    )
    distinct_shared = {n: v.reshape(-1)[distinct] for n, v in shared.items()}
    # the points behind each real value
    flat, behind = value[real], np.nonzero(real)
    n_points = members.point_of[flat + 1] - members.point_of[flat]
    which = np.repeat(
        members.point_of[flat] - np.append(0, np.cumsum(n_points)[:-1]), n_points
    ) + np.arange(n_points.sum())
    rows, runs, values = (np.repeat(index, n_points) for index in behind)
    return Lanes(
        used,
        request.seeds[place].reshape(shape[:2]),
        place.reshape(shape[:2]),
        shared,
        {n: column(n, members.first_of_run(run)) for n in bucket.own},
        {n: column(n, members.points[members.point_of[value]]) for n in bucket.values},
        np.where(real_run, bucket.steps[run], 0).astype(np.int32).reshape(shape[:3]),
        place_of.reshape(shape[:2]),
        (request.seeds[place[distinct]], distinct_shared),
        ((*np.divmod(rows, layout.rows), runs, values), members.points[which], place[rows]),
    )


CHUNK_SECONDS = 30.0  # what is lost at most by an interruption
