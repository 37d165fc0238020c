"""The part of a chunk: its results per point and seed, cut to the sizes and steps of each point."""

from typing import Any

import jax
import numpy as np

from jaxtheory.core.config import Size, canonical, fields
from jaxtheory.engine.records import NEVER, Chunk, Lanes, Outcome, Part
from jaxtheory.engine.request.axes import codes_of
from jaxtheory.engine.request.request import Request

# axes before the dims of the theory: point and seed, and record
_LEADING = {"metric": 2, "predicted": 2, "analysis": 1}


def pick(request: Request, chunk: Chunk, inputs: Lanes, outcome: Outcome) -> Part:
    """Return the part of a chunk, NaN beyond the sizes and steps of each point."""
    lanes, points, places = inputs.out
    values: dict[str, np.ndarray] = {"diverged_at": outcome.diverged_at[lanes[:3]].astype(np.int32)}
    if request.stop is not None:
        values["stopped_at"] = outcome.stopped_at[lanes[:3]].astype(np.int32)
    for kind, group in (
        ("metric", outcome.metrics),
        ("analysis", outcome.analyses),
        ("predicted", outcome.predictions),
    ):
        for name, array in group.items():
            dtype = (
                array.dtype if array.dtype.kind == "f" else np.result_type(array.dtype, np.float32)
            )
            values[f"{kind}/{name}"] = np.asarray(array[lanes], dtype)
    late = request.points.column("steps", points)[:, None] < request.schedule.records[None, :]
    for name, array in values.items():
        if name.startswith("predicted/"):
            array[late] = np.nan
    template = chunk.bucket.template
    if any(getattr(template, n).value is not None for n in chunk.bucket.sizes):
        _cut_to_own_sizes(request, chunk, points, values)
    return Part(points, places, values)


def _cut_to_own_sizes(
    request: Request, chunk: Chunk, points: np.ndarray, values: dict[str, np.ndarray]
) -> None:
    """Set the entries that only padding adds to NaN, in place."""
    shaped = {
        n: a for n, a in values.items() if "/" in n and a.ndim > _LEADING[n.partition("/")[0]]
    }
    if not shaped:
        return
    group = codes_of(
        request.points, list(chunk.bucket.sizes), points, lambda length: int(Size.wrap(length).n)
    )
    for code in np.unique(group):
        members = np.flatnonzero(group == code)
        shapes = own_shapes(request, chunk.bucket.algorithm, int(points[members[0]]))
        for name, array in shaped.items():
            skip = _LEADING[name.partition("/")[0]]
            beyond = np.ones(array.shape[skip:], bool)
            beyond[tuple(slice(n) for n in shapes[name])] = False
            entries = array[members]
            entries[..., beyond] = np.nan
            array[members] = entries


def own_shapes(request: Request, algorithm: str, point: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all results of a point at its own sizes; nothing is computed."""
    theory, alg = request.theory, request.theory.algorithms[algorithm]
    config = request.points.point(point).config
    lengths = {
        n: Size(int(getattr(config, n).n))
        for n, f in fields(type(config)).items()
        if f.kind == "size"
    }

    def results(key: Any, config: Any) -> Any:
        problem = theory.problem(key, config)
        params = alg.params(alg.init(key, problem, config), problem, config)
        curves = theory.predict(problem, config, np.zeros(1, np.int32))
        groups = {
            "metric": theory.metrics(params, problem, config),
            "analysis": theory.analyses(params, problem, config),
            "predicted": {n: v[0] for n, v in curves.items()},
        }
        return {
            f"{kind}/{n}": v for kind, group in groups.items() for n, v in group.items()
        }, theory.baselines(problem, config)

    arrays, baselines = jax.eval_shape(
        results, jax.random.key(0), canonical(config.replace(**lengths), request.dtype)
    )
    shapes = {n: v.shape for n, v in arrays.items()}
    for n, v in baselines.items():
        for name in (f"metric/{n}", f"analysis/{n}"):
            if name in shapes:
                shapes[name] = (*shapes[name][:-1], shapes[name][-1] + v.shape[-1])
    return shapes


def diverged_entries(part: Part) -> np.ndarray:
    """Return the indices of entries whose run was not finite at some step."""
    return np.flatnonzero(part.values["diverged_at"] != NEVER)
