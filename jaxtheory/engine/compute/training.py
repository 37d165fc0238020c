"""Training one chunk of lanes: blocks of steps between records, metrics at records, baselines,
predictions and analyses.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.config import Config
from jaxtheory.core.errors import InputError, tried
from jaxtheory.engine.compute.precompile import ahead
from jaxtheory.engine.compute.program import (
    NEVER,
    Compiled,
    PerRow,
    PerRun,
    Program,
    Trained,
    run_keys,
)
from jaxtheory.engine.planning.layout import Chunk, Lanes
from jaxtheory.engine.request.request import Request, Schedule


class Run(NamedTuple):
    """One run. `metrics[name]` has the leading axis `_steps`; NaN after the run stopped or
    diverged. Arrays are NumPy.
    """

    config: Config
    steps: np.ndarray
    metrics: dict[str, np.ndarray]
    analyses: dict[str, np.ndarray]
    params: Any
    state: Any
    problem: Any
    diverged_at: int | None


class Outcome(NamedTuple):
    """What a chunk of lanes gave: arrays of leading axes [slot, row, run, value] (metrics and
    predictions: then record).
    """

    metrics: dict[str, np.ndarray]
    analyses: dict[str, np.ndarray]
    predictions: dict[str, np.ndarray]
    diverged_at: np.ndarray
    state: Any
    problem: Any


class Seen:
    """Metrics as they were looked at, record by record."""

    def __init__(self, schedule: Schedule):
        self.schedule = schedule
        self.values: dict[str, np.ndarray] = {}

    def put(self, record: int, values: dict[str, np.ndarray]) -> None:
        """Keep the values [slot, row, run, value, ...] of one record; a metric is NaN at the
        records where it was not looked at.
        """
        for name, value in values.items():
            if name not in self.values:
                missing = self.schedule.which is not None
                dtype = (
                    np.result_type(value.dtype, np.float32)
                    if missing or value.dtype.kind != "f"
                    else value.dtype
                )
                self.values[name] = np.full(
                    (*value.shape[:4], len(self.schedule.records), *value.shape[4:]), np.nan, dtype
                )
            self.values[name][:, :, :, :, record] = value


def train_chunk(
    request: Request, chunk: Chunk, inputs: Lanes, tell: Callable[[int], None], curves: bool = True
) -> Outcome:
    """Train the lanes of a chunk, look at them at the recorded steps, and at the end; tell(step) is
    called after each record.
    """
    bucket = chunk.bucket
    program = Program(
        request.theory, request.theory.algorithms[bucket.algorithm], bucket.template, bucket.layout
    )
    names = {request.schedule.metrics_at(t) for t in request.schedule.records.tolist()}
    with ahead(request, program, inputs, names, curves):
        return _trained_lanes(request, chunk, program, inputs, tell, curves)


def _trained_lanes(
    request: Request,
    chunk: Chunk,
    program: Program,
    inputs: Lanes,
    tell: Callable[[int], None],
    curves: bool,
) -> Outcome:
    """The work of `train_chunk`."""
    used, records = np.int32(inputs.used), request.schedule.records
    row = jax.device_put(PerRow(*_draw(request, program, inputs)))
    run = jax.device_put(PerRun(inputs.own, inputs.values, inputs.limit))
    state = program.begin()(row, run, used)
    if request.start is not None:
        state = _start_from(
            request.start, state, inputs.place, len(request.seeds), chunk.bucket.algorithm
        )
    if (
        any(leaf.dtype == jnp.float64 for leaf in jax.tree.leaves(state))
        and request.dtype == "float32"
    ):
        raise InputError("start holds float64 arrays, but the run is float32; pass dtype='float64'")
    trained = Trained(state, np.full(inputs.limit.shape, NEVER, np.int32))
    fixed = {n: np.asarray(v) for n, v in program.baselines()(row, run, used).items()}

    seen, limit, t = Seen(request.schedule), inputs.limit.copy(), 0
    done, block, look = limit == 0, program.train(), functools.cache(program.look)
    for k, end in enumerate(records.tolist()):
        if end > t and not np.all(done):
            trained = _steps(block, row, run._replace(limit=limit), trained, used, t, end)
            done = (limit <= end) | (np.asarray(trained.diverged_at) != NEVER)
        t = end
        diverged = np.asarray(trained.diverged_at)
        late = (limit < t) | ((diverged != NEVER) & (diverged <= t))
        found = look("metrics", request.schedule.metrics_at(t))(row, run, trained.state, used)
        values = {
            n: _blank(_with_baselines(v, fixed.get(n)), late)
            for n, v in jax.device_get(found).items()
        }
        seen.put(k, values)
        if (stop := request.stop) is not None:
            stops = lambda recorded, rule=stop: bool(rule(recorded))
            for lane in zip(*np.nonzero(~done & ~late), strict=True):
                if tried("stop(metrics)", stops, {n: v[lane][0] for n, v in values.items()}):
                    limit[lane], done[lane] = t, True
        tell(t)
    if t < limit.max():  # steps after the last record
        trained = _steps(block, row, run._replace(limit=limit), trained, used, t, int(limit.max()))
    diverged = np.asarray(trained.diverged_at)
    analyses = jax.device_get(look("analyses")(row, run, trained.state, used))
    analyses = {
        n: _blank(_with_baselines(v, fixed.get(n)), diverged != NEVER) for n, v in analyses.items()
    }
    predictions = (
        jax.device_get(program.predict(tuple(records.tolist()))(row, run, used)) if curves else {}
    )
    return Outcome(seen.values, analyses, predictions, diverged, trained.state, row.problem)


def _steps(
    block: Compiled,
    row: PerRow,
    run: PerRun,
    trained: Trained,
    used: np.int32,
    start: int,
    end: int,
) -> Trained:
    """Steps start..end-1 of every run; compiled on none of them, so that a first block is not
    counted as slow.
    """
    if not block.ready:
        block(row, run, trained, used, np.int32(start), np.int32(start))
    out: Trained = block(row, run, trained, used, np.int32(start), np.int32(end))
    return out


def _draw(
    request: Request, program: Program, inputs: Lanes
) -> tuple[Any, dict[str, np.ndarray], Any]:
    """The run keys, shared fields and problems of the rows [slot, row]; each distinct problem is
    drawn once, but for the last where it fills a slot.
    """
    count, (seeds, shared) = inputs.problem.size, inputs.distinct
    fill = lambda x: np.concatenate([x, np.repeat(x[-1:], count - len(seeds), axis=0)])
    keys, own = run_keys(request, (fill(seeds), inputs.seed))
    used = inputs.problem[: inputs.used].size if inputs.apart else len(seeds)
    drawn = program.draw(inputs.apart)(keys, jax.tree.map(fill, shared), np.int32(used))
    if not inputs.apart:
        drawn = jax.tree.map(lambda x: x[inputs.problem], drawn)
    return own, inputs.shared, drawn


def _same(a: Any, b: Any) -> bool:
    """Whether two pytrees have the same structure."""
    structures: list[Any] = [jax.tree.structure(tree) for tree in (a, b)]
    return bool(structures[0] == structures[1])


def _embed(start: Any, state: Any) -> Any:
    """start's leaves [row..., entries] laid into state's leaves [row..., entries up to capacity],
    zero beyond.
    """

    def lay(value: Any, like: Any) -> Any:
        value = jnp.asarray(value)
        if value.ndim != like.ndim or any(
            v > c for v, c in zip(value.shape, like.shape, strict=True)
        ):
            raise InputError(
                f"start: an array of shape {value.shape} does not fit the run's {like.shape}"
            )
        return jnp.pad(
            value, [(0, c - v) for v, c in zip(value.shape, like.shape, strict=True)]
        ).astype(like.dtype)

    return jax.tree.map(lay, start, state)


def _start_from(start: Any, state: Any, places: np.ndarray, n_seeds: int, name: str) -> Any:
    """The initial state replaced by `start`: a Run (its state where the structures agree, else its
    parameters) or a pytree of parameters.

    What is given has the structure of the state or of its field `params`. A pytree of parameters
    has the leading axis seed, a Run does not. `places` [slot, row] are places on that axis.
    """
    if isinstance(start, Run):
        whole = _same(start.state, state) and [x.ndim for x in jax.tree.leaves(start.state)] == [
            x.ndim - 3 for x in jax.tree.leaves(state)
        ]
        given = jax.tree.map(
            lambda x: np.broadcast_to(x, (n_seeds, *np.shape(x))),
            start.state if whole else start.params,
        )
    else:
        given = start
    if any(np.ndim(x) == 0 or np.shape(x)[0] != n_seeds for x in jax.tree.leaves(given)):
        raise InputError(f"start: parameters need the leading axis seed, here of length {n_seeds}")
    direct = _same(state, given)
    target = state if direct else getattr(state, "params", None)
    if target is None or not _same(target, given):
        raise InputError(
            f"start: algorithm {name!r} trains "
            f"{type(target if target is not None else state).__name__}, got {type(given).__name__}"
        )
    runs = jax.tree.leaves(state)[0].shape[2]
    lanes = jax.tree.map(
        lambda x: jnp.repeat(jnp.asarray(x)[places][:, :, None], runs, axis=2), given
    )
    laid = _embed(lanes, target)
    return laid if direct else state._replace(params=laid)


def _with_baselines(value: np.ndarray, fixed: np.ndarray | None) -> np.ndarray:
    """Entries that training does not change, appended along the last axis."""
    if fixed is None:
        return value
    return np.concatenate(
        [value, np.broadcast_to(fixed, (*value.shape[:-1], fixed.shape[-1]))], axis=-1
    )


def _blank(value: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    """NaN in the given lanes [slot, row, run] of [slot, row, run, value, ...]."""
    if not lanes.any():
        return value
    value = np.array(value, dtype=np.result_type(value.dtype, np.float32))
    value[lanes] = np.nan
    return value
