"""A sweep: a whole hyper-parameter study as one labelled dataset."""

import dataclasses
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from jaxtheory.core.config import Config, InputError, Size, canonical, fields
from jaxtheory.core.theory import Theory
from jaxtheory.engine.lanes import Outcome, Run, run_lanes
from jaxtheory.engine.plan import Bucket, Plan, prepare
from jaxtheory.engine.program import NEVER, program
from jaxtheory.engine.request import Point, numerics, schedule
from jaxtheory.engine.store import Store, digest, plain


class Progress(NamedTuple):
    """What a sweep is doing: phase in {"compile", "run", "resume", "assemble"}; eta_seconds is None while unknown."""

    phase: str
    done_points: int
    points: int
    step: int
    steps: int
    eta_seconds: float | None


def sweep(
    theory: Theory,
    config: Config,
    *,
    vary: Mapping[str, Sequence] | None = None,
    zip: Mapping[str, Sequence] | Sequence[Mapping[str, Sequence]] | None = None,
    seeds: int | Sequence[int] = 1,
    steps: int,
    algorithm: str | None = None,
    key: int = 0,
    record: Any = None,
    start: Any = None,
    stop: Callable[[dict], bool] | None = None,
    dtype: Any = None,
    buckets: str = "auto",
    store: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> xr.Dataset:
    """Train every combination of axis values and seeds; return metrics, analyses and predictions as one dataset.

    vary: field (word or symbol), `algorithm` or `steps` -> values, a product axis each. zip: values that run together, as one dimension
    named after its first key (a key that is no field labels it); a list of such groups gives a dimension each.
    seeds: a count or a list; seed s of base key k is the run `simulate(..., run_key(k, s))`.
    Dimensions: axes, seed, step (metrics and predictions), then the theory's dims. NaN beyond a point's own sizes and steps, and after a
    run diverged (`diverged_at`, -1 for never). `predicted_NAME` are the theory's curves. Raises InputError for invalid input.
    """
    if isinstance(key, bool) or not isinstance(key, int | np.integer):
        raise InputError(f"key = {key!r}: must be an integer; the run keys are run_key(key, seed)")
    plan, points = prepare(theory, config, vary, zip, seeds, steps, algorithm, record, stop, dtype, buckets)
    records, which = schedule(record, [p.steps for p in points])
    saved = None
    if store is not None:
        with numerics(dtype) as float_dtype:
            request = describe(theory, config, plan, steps, algorithm, key, record, start, stop, str(float_dtype), buckets)
        saved = Store(store, request)
        if saved.plan is not None and saved.plan["devices"] != plan.devices:
            plan, points = prepare(theory, config, vary, zip, seeds, steps, algorithm, record, stop, dtype, buckets, saved.plan["devices"])
        saved.begin({"devices": plan.devices, "buckets": [layout_of(b) for b in plan.buckets]})
    report = progress or (lambda event: None)
    parts = list(compute(theory, plan, points, key, records, which, start, stop, dtype, saved, report))
    report(Progress("assemble", len(points), len(points), 0, 0, 0.0))
    dataset = assemble(theory, plan, points, records, parts, key)
    if saved is not None:
        saved.finish(dataset)
    return dataset


def describe(
    theory: Theory,
    config: Config,
    plan: Plan,
    steps: int,
    algorithm: Any,
    key: int,
    record: Any,
    start: Any,
    stop: Any,
    dtype: str,
    buckets: str,
) -> dict[str, Any]:
    """A sweep's request as plain data: what a stored result must agree with to be resumed."""
    values = {n: getattr(config, n) for n in fields(type(config))}
    return {
        "theory": theory.name,
        "config": {n: {"n": int(v.n), "capacity": v.cap} if isinstance(v, Size) else plain(v) for n, v in values.items()},
        "axes": [{"name": a.name, "labels": plain(a.labels), "values": plain(a.values)} for a in plan.axes],
        "seeds": list(plan.seeds),
        "steps": int(steps),
        "algorithm": algorithm or next(iter(theory.algorithms)),
        "key": int(key),
        "record": plain(record),
        "start": digest((start.params, start.state) if isinstance(start, Run) else start),
        "stop": plain(stop),
        "dtype": dtype,
        "matmul_precision": "highest",
        "buckets": buckets,
    }


def layout_of(bucket: Bucket) -> dict[str, Any]:
    """What of a bucket a resumed sweep must find unchanged."""
    return {
        "algorithm": bucket.algorithm,
        "static": plain(bucket.static),
        "sizes": bucket.sizes,
        "rows": len(bucket.rows),
        "chunks": bucket.chunks,
        "layout": bucket.layout._asdict(),
    }


def compute(
    theory: Theory,
    plan: Plan,
    points: Sequence[Point],
    key: int,
    records: np.ndarray,
    which: dict[str, set[int]] | None,
    start: Any,
    stop: Callable | None,
    dtype: Any,
    saved: Store | None,
    report: Callable[[Progress], None],
) -> Any:
    """Yield the parts, from the store where they are finished, computing and keeping the others."""
    begun, done_points, computed, left = time.perf_counter(), 0, 0.0, plan.seconds
    shapes: dict[tuple, dict[str, tuple]] = {}
    total = len(points) * len(plan.seeds)
    for b, bucket in enumerate(plan.buckets):
        for chunk in range(bucket.chunks):
            name = f"part-{b:03d}-{chunk:05d}"
            part = saved.read(name) if saved is not None else None
            with numerics(dtype) as float_dtype:
                lanes, places, out = bucket.lanes(chunk, plan.seeds, float_dtype)
                if part is None:
                    if saved is not None:
                        saved.discard_dataset()
                    clock = time.perf_counter()
                    eta = (clock - begun) / computed * left if computed else None
                    longest = int(lanes.limit.max())
                    report(Progress("run" if chunk else "compile", done_points // len(plan.seeds), len(points), 0, longest, eta))
                    tell = functools.partial(
                        tell_step, report, Progress("run", done_points // len(plan.seeds), len(points), 0, longest, eta)
                    )
                    outcome = run_lanes(
                        program(theory, bucket.algorithm, bucket.template, bucket.layout),
                        lanes,
                        int(key),
                        records,
                        which,
                        start=start,
                        seed_places=places,
                        n_seeds=len(plan.seeds),
                        stop=stop,
                        progress=tell,
                        name=bucket.algorithm,
                    )
                    part = pick(theory, bucket, points, outcome, out, shapes, records)
                    computed += bucket.seconds / bucket.chunks
                    if saved is not None:
                        saved.write(name, part, time.perf_counter() - clock)
                else:
                    report(Progress("resume", done_points // len(plan.seeds), len(points), 0, 0, None))
            left -= bucket.seconds / bucket.chunks
            done_points = min(done_points + len(out), total)
            yield part


def tell_step(report: Callable[[Progress], None], event: Progress, step: int) -> None:
    """Report the event at a later step."""
    report(event._replace(step=step))


def pick(
    theory: Theory, bucket: Bucket, points: Sequence[Point], outcome: Outcome, out: Sequence, shapes: dict, records: np.ndarray
) -> dict[str, np.ndarray]:
    """The part of a chunk: per entry its point, its seed's place and its values, NaN beyond the point's own sizes and steps."""
    lanes = tuple(np.array([lane for lane, _, _ in out]).T)
    which = np.array([point for _, point, _ in out])
    part = {"point": which, "seed": np.array([s for _, _, s in out]), "diverged_at": outcome.diverged_at[lanes[:3]]}
    groups = {"metric": outcome.metrics, "analysis": outcome.analyses, "predicted": outcome.predictions}
    for kind, group in groups.items():
        for name, values in group.items():
            part[f"{kind}/{name}"] = np.asarray(
                values[lanes], np.result_type(values.dtype, np.float32) if values.dtype.kind != "f" else values.dtype
            )
    late = np.array([points[i].steps for i in which])[:, None] < records[None, :]
    for name, values in part.items():
        if name.startswith("predicted/"):
            values[late] = np.nan
    padded = any(getattr(bucket.template, n).value is not None for n in bucket.sizes)
    if padded and any(v.ndim > (1 if n.startswith("analysis/") else 2) for n, v in part.items() if "/" in n):
        for i in sorted(set(which.tolist())):
            own = own_shapes(theory, bucket.algorithm, points[i], shapes)
            for name, values in part.items():
                skip = 1 if name.startswith("analysis/") else 2
                if "/" in name and values.ndim > skip:
                    inside = np.zeros(values.shape[skip:], bool)
                    inside[tuple(slice(n) for n in own[name])] = True
                    mine = values[which == i]
                    mine[(slice(None),) * skip + np.nonzero(~inside)] = np.nan
                    values[which == i] = mine
    return part


def own_shapes(theory: Theory, algorithm: str, point: Point, known: dict[tuple, dict[str, tuple]]) -> dict[str, tuple]:
    """The shapes of everything a point gives at its own sizes, without padding."""
    table = fields(type(point.config))
    lengths = {n: int(getattr(point.config, n).n) for n, f in table.items() if f.kind == "size"}
    where = (
        algorithm,
        *(
            v if isinstance(v, str | bool | int) else repr(v)
            for v in (getattr(point.config, n) for n, f in table.items() if f.kind == "static")
        ),
        *lengths.values(),
    )
    if where not in known:
        config = canonical(point.config.replace(**{n: Size(v) for n, v in lengths.items()}), jnp.result_type(float))

        def everything(key: Any, config: Config) -> Any:
            alg = theory.algorithms[algorithm]
            problem = theory.problem(key, config)
            params = alg.params(alg.init(key, problem, config), problem, config)
            groups = {
                "metric": theory.metrics(params, problem, config),
                "analysis": theory.analyses(params, problem, config),
                "predicted": {n: v[0] for n, v in theory.predict(problem, config, np.zeros(1, np.int32)).items()},
            }
            more = theory.baselines(problem, config)
            return {f"{kind}/{n}": v for kind, group in groups.items() for n, v in group.items()}, more

        shaped, more = jax.eval_shape(everything, jax.random.key(0), config)
        own = {n: v.shape for n, v in shaped.items()}
        for n, v in more.items():
            for kind in ("metric", "analysis"):
                if f"{kind}/{n}" in own:
                    shape = own[f"{kind}/{n}"]
                    own[f"{kind}/{n}"] = (*shape[:-1], shape[-1] + v.shape[-1])
        known[where] = own
    return known[where]


def assemble(
    theory: Theory, plan: Plan, points: Sequence[Point], records: np.ndarray, parts: Sequence[Mapping[str, np.ndarray]], key: int
) -> xr.Dataset:
    """One dataset from all parts."""
    grid = (*tuple(len(a.labels) for a in plan.axes), len(plan.seeds))
    outer = (*tuple(a.name for a in plan.axes), "seed")
    place = np.array([p.place for p in points], int).reshape(len(points), len(plan.axes))
    variables: dict[str, tuple] = {}
    for name in dict.fromkeys(n for part in parts for n in part if "/" in n or n == "diverged_at"):
        kind, _, word = name.rpartition("/")
        have = [part for part in parts if name in part]
        extent = tuple(np.max([part[name].shape[1:] for part in have], axis=0).astype(int)) if have[0][name].ndim > 1 else ()
        whole = np.full(grid + extent, NEVER if name == "diverged_at" else np.nan, have[0][name].dtype)
        for part in have:
            values = part[name]
            full = np.full(values.shape[:1] + extent, NEVER if name == "diverged_at" else np.nan, whole.dtype)
            full[(slice(None), *(slice(n) for n in values.shape[1:]))] = values
            whole[(*place[part["point"]].T, part["seed"])] = full
        stepped = ("step",) if kind in ("metric", "predicted") else ()
        metric, _, label = word.partition(":")
        inner = theory.dims.get(metric, tuple(f"{metric}_{i}" for i in range(len(extent) - len(stepped))))
        title = f"predicted_{metric}" + (f"_{label}" if label else "") if kind == "predicted" else word
        inner = inner[: len(extent) - len(stepped)]
        if len(inner) < len(extent) - len(stepped):
            raise InputError(f"{theory.name}.dims[{metric!r}] names {len(inner)} dimensions of an array with {len(extent) - len(stepped)}")
        variables[title] = (outer + stepped + inner, whole)
    coords: dict[str, Any] = {"seed": np.array(plan.seeds), "step": records.astype(np.int64)}
    for axis in plan.axes:
        coords[axis.name] = list(axis.labels)
        coords.update({word: (axis.name, list(values)) for word, values in axis.values.items() if word != axis.name})
    lengths = {dim: n for dims, array in variables.values() for dim, n in zip(dims, array.shape, strict=True)}
    distinct = {
        tuple(int(v.n) if isinstance(v, Size) else repr(v) for v in (getattr(p.config, f.name) for f in dataclasses.fields(p.config))): p
        for p in points
    }
    labels: dict[str, list[list]] = {}
    for point in distinct.values():
        for dim, names in theory.coords(point.config).items():
            labels.setdefault(dim, []).append(list(names))
    for dim, several in labels.items():  # labels of the longest, where every point's are the first of them
        longest = max(several, key=len)
        if len(longest) == lengths.get(dim) and all(names == longest[: len(names)] for names in several):
            coords.setdefault(dim, longest)
    attrs = {"theory": theory.name, "key": int(key), "algorithm": points[0].algorithm, "matmul_precision": "highest"}
    return xr.Dataset(variables, coords, attrs)
