"""Group the points of a sweep by what they share, and lay out the arrays of a chunk.

Points with equal static fields and one capacity per size form a *bucket*, for which the training
loop is compiled once. Within a bucket, the config fields that `problem`, `sample` or `baselines`
read and the seed determine a *problem*. The *runs* of a problem differ in other fields; they share
the problem and its batches, which are drawn once. The metrics of a run are evaluated with each of
its *values* of the evaluation fields.

A compiled program trains *rows*. A row is one problem with a limited number of its runs. Several
rows are vmapped together in a *slot*, and slots follow each other in a loop. A *chunk* is a range
of slots, the unit that is computed and stored at a time.

A *lane* is one place of the arrays of a chunk: an index (slot, row, run), or (slot, row, run,
value) where evaluation values matter. It holds one run, or repeats another where a slot or a row is
not full.
"""

import math
from collections.abc import Sequence

import numpy as np

from jaxtheory.core.config import Size, canonical, fields, leaf_names
from jaxtheory.engine.planning.cost import read_by_problem, run_seconds
from jaxtheory.engine.planning.padding import trusted
from jaxtheory.engine.records import Bucket, Chunk, Lanes, Layout, Members
from jaxtheory.engine.request.axes import Points, codes_of, in_order
from jaxtheory.engine.request.request import Request
from jaxtheory.texts.errors import InputError

CHUNK_SECONDS = 30.0  # of computation that an interruption loses at most
COMPILE_SECONDS = 8.0  # for all functions of a bucket, on one core
_PROGRAMS = 1000  # compiled by one sweep at most
_SLOWER = 1.25  # factor by which padding may be slower, to compile one program only


def _padded_fields(request: Request) -> set[str]:
    """The size fields that are padded to one capacity; the others get a program per size.

    With buckets="auto" a field is padded if one program of the largest size takes about as long as
    one program per size, by an estimate that includes compilation. An external theory is padded
    only once `verify` has found that its results do not depend on padding.
    """
    theory, points = request.theory, request.points
    lengths = {
        n: [int(Size.wrap(v).n) for v in points.values(n)]
        for n, f in fields(theory.Config).items()
        if f.kind == "size"
    }
    varying = {n: values for n, values in lengths.items() if len(set(values)) > 1}
    if request.buckets != "auto":
        return set(varying) if request.buckets == "pad" else set()
    if varying and not trusted(theory):
        return set()
    return {name for name, values in varying.items() if _worth_padding(request, name, values)}


def _worth_padding(request: Request, name: str, values: Sequence[int]) -> bool:
    """True if one program of the largest size takes about as long as one program per size."""
    first, records = request.points.point(0), request.schedule.records

    def seconds(n: int) -> float:
        config = first.config.replace(**{name: Size(n)})
        return run_seconds(request.theory, first.algorithm, config, int(records[-1]), len(records))

    small, large = min(values), max(values)
    least, most = seconds(small), seconds(large)
    # between these the time of a run is taken to grow as a power of the size
    power = math.log(most / least) / math.log((1 + large) / (1 + small))
    exact = sum(least * ((1 + n) / (1 + small)) ** power for n in values)
    runs, programs = request.runs / len(values), len(set(values))
    padded = COMPILE_SECONDS + runs * most * len(values)
    return padded <= _SLOWER * (programs * COMPILE_SECONDS + runs * exact)


def padding_note(request: Request) -> str:
    """Return a note if sizes are not padded only because the theory is not verified, else ""."""
    table = fields(request.theory.Config)
    sizes = {n for axis in request.axes for n in axis.values if n in table}
    if request.buckets != "auto" or trusted(request.theory):
        return ""
    if not any(table[n].kind == "size" for n in sizes):
        return ""
    return (
        "each size is compiled separately; sizes share a program once `jaxtheory verify` has found "
        "that padding does not change the results"
    )


def group(request: Request, problem_per_run: bool = False) -> list[Bucket]:
    """Group the points of a request into buckets, without layouts.

    With a stop rule evaluation values do not share a run, since the rule may stop them at different
    steps. With `problem_per_run` every run has a problem of its own, as if the problem read all its
    fields.
    """
    theory, points = request.theory, request.points
    table = fields(theory.Config)
    sizes = [n for n, f in table.items() if f.kind == "size"]
    padded = _padded_fields(request)
    cap = {n: max(Size.wrap(v).cap for v in points.values(n)) for n in padded}
    indices = np.arange(points.total)
    static = codes_of(
        points, ["algorithm", *(n for n, f in table.items() if f.kind == "static")], indices
    )
    shape = lambda length: (Size.wrap(length).cap, Size.wrap(length).value is not None)
    kind = in_order(
        static * points.total
        + codes_of(points, [n for n in sizes if n not in padded], indices, shape)
    )
    if (count := int(kind.max()) + 1) > _PROGRAMS:
        hours = count * COMPILE_SECONDS / 3600
        raise InputError(
            f"this sweep needs {count} programs, one for each combination of static values and "
            f"sizes, which take about {hours:.2g} hours to compile; at most {_PROGRAMS} are "
            "allowed: choose buckets='pad', or shorten an axis"
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
            read_by_problem(theory, point.algorithm, template, names)
            if len(at) > 1 and not problem_per_run
            else set(names)
        )
        shared = tuple(n for n in names if n in common and n not in values)
        run_fields = tuple(n for n in names if n not in shared and n not in values)
        members = _arrange(points, at, shared, run_fields, values)
        steps = points.column("steps", members.first_of_run(np.arange(len(members.value_of) - 1)))
        bucket = Bucket(
            len(buckets),
            point.algorithm,
            template,
            shared,
            run_fields,
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
    points: Points,
    at: np.ndarray,
    shared: Sequence[str],
    run_fields: Sequence[str],
    values: Sequence[str],
) -> Members:
    """Sort the points of a bucket into problems, runs and values.

    Problems and runs with more steps come first; otherwise the order is that of the points.
    """
    steps = points.column("steps", at)
    problem = codes_of(points, shared, at)
    run = in_order(problem * len(at) + codes_of(points, [*run_fields, "steps"], at))
    value = codes_of(points, values, at)
    longest = np.zeros(problem.max() + 1, steps.dtype)
    np.maximum.at(longest, problem, steps)
    order = np.lexsort((at, value, run, -steps, problem, -longest[problem]))
    problem, run, value = problem[order], run[order], value[order]
    new_problem = np.diff(problem, prepend=-1) != 0
    new_run = new_problem | (np.diff(run, prepend=-1) != 0)
    new_value = new_run | (np.diff(value, prepend=-1) != 0)
    starts = lambda new, mask: np.append(np.flatnonzero(new[mask]), np.count_nonzero(mask))
    return Members(
        at[order],
        starts(new_problem, new_run),
        starts(new_run, new_value),
        starts(new_value, np.ones(len(at), bool)),
    )


def share_values(request: Request, bucket: Bucket) -> bool:
    """True if all runs of each problem are evaluated with the same evaluation values."""
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
    """Return the inputs of a chunk.

    Lanes beyond its rows, runs or values repeat the last one, and make no steps.
    """
    bucket, layout, members = chunk.bucket, chunk.bucket.layout, chunk.bucket.members
    dtype, table = np.dtype(request.dtype), fields(type(bucket.template))
    shape = (layout.slots, layout.rows, layout.runs, layout.values)
    used = chunk.last - chunk.first
    real_rows = min(chunk.last * layout.rows, bucket.rows) - chunk.first * layout.rows
    row = chunk.first * layout.rows + np.minimum(
        np.arange(layout.slots * layout.rows), real_rows - 1
    )
    # a problem has one row per seed for each piece of its runs
    problem = np.searchsorted(bucket.row_of, row // bucket.seeds, side="right") - 1
    piece, place = np.divmod(row - bucket.row_of[problem] * bucket.seeds, bucket.seeds)

    j = piece[:, None] * layout.runs + np.arange(layout.runs)
    count = (members.run_of[problem + 1] - members.run_of[problem])[:, None]
    real_run = (np.arange(len(row)) < real_rows)[:, None] & (j < count)
    run = members.run_of[problem][:, None] + np.minimum(j, count - 1)
    e, counts = (
        np.arange(layout.values),
        (members.value_of[run + 1] - members.value_of[run])[:, :, None],
    )
    real = real_run[:, :, None] & (e < counts)
    value = members.value_of[run][:, :, None] + np.minimum(e, counts - 1)

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
    # the points that share each real value
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
        {n: column(n, members.first_of_run(run)) for n in bucket.run_fields},
        {n: column(n, members.points[members.point_of[value]]) for n in bucket.values},
        np.where(real_run, bucket.steps[run], 0).astype(np.int32).reshape(shape[:3]),
        place_of.reshape(shape[:2]),
        (request.seeds[place[distinct]], distinct_shared),
        ((*np.divmod(rows, layout.rows), runs, values), members.points[which], place[rows]),
    )
