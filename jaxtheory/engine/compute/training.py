"""Training of one chunk.

It makes the steps and metrics from record to record, baselines, predictions and analyses.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.code.keys import is_key
from jaxtheory.core.contract import same_structure
from jaxtheory.core.theory import Algorithm
from jaxtheory.engine.compute.compiled import Compiled
from jaxtheory.engine.compute.precompile import precompile
from jaxtheory.engine.compute.program import (
    Names,
    PerRow,
    PerRun,
    Program,
    Trained,
    Turns,
    run_keys,
)
from jaxtheory.engine.records import NEVER, TURNS, Chunk, Lanes, Outcome, Resumed, Run
from jaxtheory.engine.request.request import Request, Schedule
from jaxtheory.engine.request.values import stops
from jaxtheory.texts.errors import InputError, require_present, tried

# called at each record with the step, and the metrics there as arrays [slot, row, run, value, ...]
TellRecord = Callable[[int, dict[str, np.ndarray]], None]
_LOOK = 0.1  # seconds


class _Recorded:
    """Values of the metrics, filled in record by record."""

    def __init__(self, schedule: Schedule):
        self.schedule = schedule
        self.values: dict[str, np.ndarray] = {}

    def put(self, record: int, values: dict[str, np.ndarray]) -> None:
        """Keep the values [slot, row, run, value, ...] of one record.

        A metric is NaN at records where it is not evaluated.
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
    request: Request,
    chunk: Chunk,
    inputs: Lanes,
    tell: TellRecord,
    curves: bool = True,
    resumed: Resumed | None = None,
) -> Outcome:
    """Train the runs of a chunk, with metrics at the recorded steps and analyses at the end.

    tell(step, values) is called after each record. Without `curves` the theory's predictions are
    left out. Runs that are resumed have no metrics before their step, and at it as evaluated again.
    """
    bucket = chunk.bucket
    program = Program(
        request.theory, request.theory.algorithms[bucket.algorithm], bucket.template, bucket.layout
    )
    with precompile(request, program, inputs, _sets(request.schedule), curves):
        return _trained_lanes(request, chunk, program, inputs, tell, curves, resumed)


def _sets(schedule: Schedule) -> tuple[Names, ...]:
    """The distinct sets of metrics that are recorded together."""
    return tuple(dict.fromkeys(map(schedule.metrics_at, schedule.records.tolist())))


def draw_problem(request: Request, chunk: Chunk, inputs: Lanes) -> Any:
    """Return the problems [slot, row] of a chunk."""
    bucket = chunk.bucket
    program = Program(
        request.theory, request.theory.algorithms[bucket.algorithm], bucket.template, bucket.layout
    )
    return _draw(request, program, inputs)[2]


def _trained_lanes(
    request: Request,
    chunk: Chunk,
    program: Program,
    inputs: Lanes,
    tell: TellRecord,
    curves: bool,
    resumed: Resumed | None,
) -> Outcome:
    """Train the runs of a chunk while its functions are compiled by other threads."""
    used, records, sets = np.int32(inputs.used), request.schedule.records, _sets(request.schedule)
    row = jax.device_put(PerRow(*_draw(request, program, inputs)))
    run = jax.device_put(PerRun(inputs.run_fields, inputs.values, inputs.limit))
    state = program.begin()(row, run, used)
    if request.start is not None:
        state = _start_from(
            request.start, state, inputs.place, len(request.seeds), chunk.bucket.algorithm
        )
    if (
        any(leaf.dtype == jnp.float64 for leaf in jax.tree.leaves(state))
        and request.dtype == "float32"
    ):
        raise InputError(
            "start: has float64 arrays, but the run is in float32; pass dtype='float64'"
        )
    trained = Trained(state, np.full(inputs.limit.shape, NEVER, np.int32))
    stopped, limit, t = np.full(inputs.limit.shape, NEVER, np.int32), inputs.limit.copy(), 0
    if resumed is not None:
        t, stopped = resumed.step, resumed.stopped_at.copy()
        trained = Trained(_like(resumed.state, state), resumed.diverged_at)
        limit = np.where(stopped == NEVER, limit, np.minimum(limit, stopped))
    fixed = {n: np.asarray(v) for n, v in program.baselines()(row, run, used).items()}

    recorded = _Recorded(request.schedule)
    done = (limit <= t) | (np.asarray(trained.diverged_at) != NEVER)
    train, pace = program.train(records, sets), _Pace(request.stop is not None)
    k = int(np.searchsorted(records, t))
    while k < len(records):
        ends = records[k : k + pace.turns]
        names = [sets.index(request.schedule.metrics_at(end)) for end in ends.tolist()]
        steps = np.minimum([t, *ends], t if np.all(done) else limit.max())
        with pace:
            lanes = row, run._replace(limit=limit), trained, used
            trained, metrics = _turn(train, lanes, steps, names)
        diverged = np.asarray(trained.diverged_at)
        done = (limit <= ends[-1]) | (diverged != NEVER)
        for turn, t in enumerate(ends.tolist()):
            late = (limit < t) | ((diverged != NEVER) & (diverged <= t))
            wanted = sets[names[turn]]
            values = {
                n: _blank(_with_baselines(v[:, turn], fixed.get(n)), late)
                for n, v in metrics.items()
                if wanted is None or n in wanted
            }
            recorded.put(k + turn, values)
            if (stop := request.stop) is not None:
                for lane in zip(*np.nonzero(~done & ~late), strict=True):
                    one = {n: v[lane][0] for n, v in values.items()}
                    if tried("stop(metrics)", stops, stop, one):
                        limit[lane], done[lane], stopped[lane] = t, True, t
            tell(t, values)
        k += len(ends)
    if t < limit.max():  # steps after the last record
        steps = np.array([t, limit.max()])
        trained, _ = _turn(train, (row, run._replace(limit=limit), trained, used), steps, [0])
    diverged = np.asarray(trained.diverged_at)
    analyses = jax.device_get(program.evaluate("analyses")(row, run, trained.state, used))
    analyses = {
        n: _blank(_with_baselines(v, fixed.get(n)), diverged != NEVER) for n, v in analyses.items()
    }
    predictions = (
        jax.device_get(program.predict(tuple(records.tolist()))(row, run, used)) if curves else {}
    )
    return Outcome(
        recorded.values, analyses, predictions, diverged, stopped, trained.state, row.problem
    )


def observe_chunk(
    request: Request, chunk: Chunk, inputs: Lanes, names: frozenset[str], params: Any
) -> dict[str, np.ndarray]:
    """Evaluate metrics with these names on parameters [slot, row, run, ...] of the runs of a chunk.

    The result has the leading axes [slot, row, run, value].
    """
    bucket = chunk.bucket
    trained = request.theory.algorithms[bucket.algorithm]
    shown = Algorithm(trained.init, trained.step, _itself)
    program = Program(request.theory, shown, bucket.template, bucket.layout)
    row = jax.device_put(PerRow(*_draw(request, program, inputs)))
    run = jax.device_put(PerRun(inputs.run_fields, inputs.values, inputs.limit))
    values = program.evaluate("metrics", names)(row, run, params, np.int32(inputs.used))
    return dict(jax.device_get(values))


def _itself(params: Any, _problem: Any, _config: Any) -> Any:
    """The parameters of an algorithm whose states are parameters."""
    return params


def _like(tree: Any, like: Any) -> Any:
    """Cast a pytree, or its leaves, to the structure and dtypes of another. Raises InputError."""
    if isinstance(tree, list) and len(tree) == len(jax.tree.leaves(like)):
        tree = jax.tree.unflatten(jax.tree.structure(like), tree)
    pairs = zip(jax.tree.leaves(tree), jax.tree.leaves(like), strict=False)
    if not same_structure(tree, like) or any(a.shape != b.shape for a, b in pairs):
        raise InputError(
            "resume: the state has another structure or other shapes than that of this algorithm; "
            "pass the algorithm that the run was trained with"
        )
    return jax.tree.map(lambda a, b: jnp.asarray(a, b.dtype), tree, like)


class _Pace:
    """The number of records that are made before the host looks.

    As many as take about `_LOOK` seconds, or one if it must look at each record.
    """

    def __init__(self, each_record: bool):
        self.most, self.turns, self.begun = 1 if each_record else TURNS, 1, 0.0

    def __enter__(self) -> None:
        self.begun = time.perf_counter()

    def __exit__(self, *_error: object) -> None:
        quick = time.perf_counter() - self.begun < _LOOK
        self.turns = min(2 * self.turns, self.most) if quick else 1


def _turn(
    train: Compiled,
    lanes: tuple[PerRow, PerRun, Trained, np.int32],
    steps: np.ndarray,
    names: list[int],
) -> tuple[Trained, dict[str, np.ndarray]]:
    """Train every run from the first of `steps` to each other one.

    Returns the metrics [slot, turn, ...] there as well.

    A first call makes no step, so that the time of compilation does not count as time of a record.
    """
    fill = lambda x: np.append(x, np.zeros(TURNS - len(x))).astype(np.int32)
    turns = Turns(fill(steps[:-1]), fill(steps[1:]), fill(names), np.int32(len(names)))
    if not train.ready:
        train(*lanes, turns._replace(count=np.int32(0)))
    trained, metrics = train(*lanes, turns)
    return trained, jax.device_get(metrics)


def _draw(
    request: Request, program: Program, inputs: Lanes
) -> tuple[Any, dict[str, np.ndarray], Any]:
    """Run keys, shared fields and problems of the rows [slot, row].

    Each distinct problem is drawn once, apart from copies of the last one that fill a slot.
    """
    count, (seeds, shared) = inputs.problem.size, inputs.distinct
    fill = lambda x: np.concatenate([x, np.repeat(x[-1:], count - len(seeds), axis=0)])
    keys, row_keys = run_keys(request, (fill(seeds), inputs.seed))
    used = inputs.problem[: inputs.used].size if inputs.has_distinct_problems else len(seeds)
    drawn = program.draw(inputs.has_distinct_problems)(
        keys, jax.tree.map(fill, shared), np.int32(used)
    )
    if not inputs.has_distinct_problems:
        drawn = jax.tree.map(lambda x: x[inputs.problem], drawn)
    return row_keys, inputs.shared, drawn


def _embed(start: Any, state: Any) -> Any:
    """Leaves of `start` [row..., entries], padded with zeros to the shape of those of `state`."""

    def lay(value: Any, like: Any) -> Any:
        value = jnp.asarray(value)
        if value.ndim != like.ndim or any(
            v > c for v, c in zip(value.shape, like.shape, strict=True)
        ):
            raise InputError(
                f"start: an array has shape {value.shape}, but this run needs {like.shape}"
            )
        beyond = [(0, c - v) for v, c in zip(value.shape, like.shape, strict=True)]
        if is_key(value):
            words = jnp.pad(jax.random.key_data(value), [*beyond, (0, 0)])
            return jax.random.wrap_key_data(words, impl=jax.random.key_impl(value))
        return jnp.pad(value, beyond).astype(like.dtype)

    return jax.tree.map(lay, start, state)


def _start_from(start: Any, state: Any, places: np.ndarray, n_seeds: int, name: str) -> Any:
    """The initial state, replaced by `start`.

    A Run gives its state if the structures agree, else its parameters. A pytree of parameters has
    the structure of the state or of its field `params`, and the leading axis seed; `places`
    [slot, row] are indices on that axis.
    """
    if isinstance(start, Run):
        fits = same_structure(start.state, state) and [
            x.ndim for x in jax.tree.leaves(start.state)
        ] == [x.ndim - 3 for x in jax.tree.leaves(state)]
        values = jax.tree.map(
            lambda x: jnp.broadcast_to(x, (n_seeds, *np.shape(x))),
            start.state if fits else start.params,
        )
    else:
        values = start
    if any(np.ndim(x) == 0 or np.shape(x)[0] != n_seeds for x in jax.tree.leaves(values)):
        raise InputError(f"start: parameters must have the leading axis seed of length {n_seeds}")
    direct = same_structure(state, values)
    target = state if direct else getattr(state, "params", None)
    if target is None or not same_structure(target, values):
        require_present("start", type(values), type(state if target is None else target))
        raise InputError(
            f"start: algorithm {name!r} trains "
            f"{type(target if target is not None else state).__name__}, got {type(values).__name__}"
        )
    runs = jax.tree.leaves(state)[0].shape[2]
    lanes = jax.tree.map(
        lambda x: jnp.repeat(jnp.asarray(x)[places][:, :, None], runs, axis=2), values
    )
    laid = _embed(lanes, target)
    return laid if direct else state._replace(params=laid)


def _with_baselines(value: np.ndarray, fixed: np.ndarray | None) -> np.ndarray:
    """Append the baselines, which training does not change, along the last axis."""
    if fixed is None:
        return value
    return np.concatenate(
        [value, np.broadcast_to(fixed, (*value.shape[:-1], fixed.shape[-1]))], axis=-1
    )


def _blank(value: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    """Set values [slot, row, run, value, ...] to NaN in the marked lanes [slot, row, run]."""
    if not lanes.any():
        return value
    value = np.array(value, dtype=np.result_type(value.dtype, np.float32))
    value[lanes] = np.nan
    return value
