"""A part: what a chunk gave, one entry per point and seed, cut to each point's own
sizes and steps.
"""

from typing import Any, NamedTuple

import jax
import numpy as np

from jaxtheory.core.config import Size, canonical, fields
from jaxtheory.engine.compute.program import NEVER
from jaxtheory.engine.compute.training import Outcome
from jaxtheory.engine.planning.layout import Chunk, Lanes
from jaxtheory.engine.request.axes import codes_of
from jaxtheory.engine.request.request import Request

_LEADING = {
    "metric": 2,
    "predicted": 2,
    "analysis": 1,
}  # axes of an entry before the theory's dims: (point and seed, record)


class Part(NamedTuple):
    """Entries of a sweep: the point and the place of the seed of each, and their values, by name.

    Names are "diverged_at", "metric/NAME" and "predicted/NAME" [entry, record, ...],
    "analysis/NAME" [entry, ...].
    """

    point: np.ndarray
    place: np.ndarray
    values: dict[str, np.ndarray]


def pick(request: Request, chunk: Chunk, inputs: Lanes, outcome: Outcome) -> Part:
    """The part of a chunk; NaN beyond a point's own sizes and steps."""
    lanes, points, places = inputs.out
    values: dict[str, np.ndarray] = {"diverged_at": outcome.diverged_at[lanes[:3]].astype(np.int32)}
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
    """NaN, in place, beyond what each point has without padding."""
    shaped = {
        n: a for n, a in values.items() if "/" in n and a.ndim > _LEADING[n.partition("/")[0]]
    }
    if not shaped:
        return
    group = codes_of(
        request.points, list(chunk.bucket.sizes), points, lambda length: int(Size.wrap(length).n)
    )
    for code in np.unique(group):
        mine = np.flatnonzero(group == code)
        own = _own_shapes(request, chunk, int(points[mine[0]]))
        for name, array in shaped.items():
            skip = _LEADING[name.partition("/")[0]]
            beyond = np.ones(array.shape[skip:], bool)
            beyond[tuple(slice(n) for n in own[name])] = False
            some = array[mine]
            some[..., beyond] = np.nan
            array[mine] = some


def _own_shapes(request: Request, chunk: Chunk, point: int) -> dict[str, tuple[int, ...]]:
    """The shapes of everything a point gives at its own sizes, without padding, read from shapes
    alone.
    """
    theory, alg = request.theory, request.theory.algorithms[chunk.bucket.algorithm]
    config = request.points.point(point).config
    lengths = {
        n: Size(int(getattr(config, n).n))
        for n, f in fields(type(config)).items()
        if f.kind == "size"
    }

    def everything(key: Any, config: Any) -> Any:
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

    found, more = jax.eval_shape(
        everything, jax.random.key(0), canonical(config.replace(**lengths), request.dtype)
    )
    own = {n: v.shape for n, v in found.items()}
    for n, v in more.items():
        for name in (f"metric/{n}", f"analysis/{n}"):
            if name in own:
                own[name] = (*own[name][:-1], own[name][-1] + v.shape[-1])
    return own


def diverged_entries(part: Part) -> np.ndarray:
    """The entries whose run was not finite at some step."""
    return np.flatnonzero(part.values["diverged_at"] != NEVER)
