"""Training one chunk of lanes: blocks of steps between records, metrics at records, baselines, predictions and analyses."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.config import Config, InputError
from jaxtheory.engine.program import NEVER, Program


class Run(NamedTuple):
    """One run. `metrics[name]` has the leading axis `steps`; NaN after the run stopped or diverged. Arrays are NumPy."""

    config: Config
    steps: np.ndarray
    metrics: dict[str, np.ndarray]
    analyses: dict[str, np.ndarray]
    params: Any
    state: Any
    problem: Any
    diverged_at: int | None


class Lanes(NamedTuple):
    """The inputs of one chunk: NumPy arrays, leading axes as in `Layout`. `used` counts the slots that hold rows.

    seed, shared: [slot, row]; own: [slot, row, run]; values: [slot, row, run, value]; limit: [slot, row, run] steps of each run
    (0 for filling). problem: the row's place among the chunk's distinct problems, whose seeds and fields are `distinct`.
    """

    used: int
    seed: np.ndarray
    shared: dict[str, np.ndarray]
    own: dict[str, np.ndarray]
    values: dict[str, np.ndarray]
    limit: np.ndarray
    problem: np.ndarray
    distinct: tuple[np.ndarray, dict[str, np.ndarray]]


class Outcome(NamedTuple):
    """What a chunk of lanes gave: arrays of leading axes [slot, row, run, value] (metrics and predictions: then record)."""

    metrics: dict[str, np.ndarray]
    analyses: dict[str, np.ndarray]
    predictions: dict[str, np.ndarray]
    diverged_at: np.ndarray
    state: Any
    problem: Any


def same(a: Any, b: Any) -> bool:
    """Whether two pytrees have the same structure."""
    structures: list[Any] = [jax.tree.structure(tree) for tree in (a, b)]
    return bool(structures[0] == structures[1])


def embed(start: Any, state: Any) -> Any:
    """start's leaves [row..., entries] laid into state's leaves [row..., entries up to capacity], zero beyond."""

    def lay(value: Any, like: Any) -> Any:
        value = jnp.asarray(value)
        if value.ndim != like.ndim or any(v > c for v, c in zip(value.shape, like.shape, strict=True)):
            raise InputError(f"start: an array of shape {value.shape} does not fit the run's {like.shape}")
        return jnp.pad(value, [(0, c - v) for v, c in zip(value.shape, like.shape, strict=True)]).astype(like.dtype)

    return jax.tree.map(lay, start, state)


def begin(state: Any, start: Any, seeds: np.ndarray, n_seeds: int, name: str) -> Any:
    """The initial state replaced by `start`: a Run (its state where the structures agree, else its parameters) or a pytree of parameters.

    What is given has the structure of the state or of its field `params`. A pytree of parameters has the leading axis seed, a Run does
    not. `seeds` [slot, row] are places on that axis.
    """
    if isinstance(start, Run):
        whole = same(start.state, state) and [x.ndim for x in jax.tree.leaves(start.state)] == [x.ndim - 3 for x in jax.tree.leaves(state)]
        given = jax.tree.map(lambda x: np.broadcast_to(x, (n_seeds, *np.shape(x))), start.state if whole else start.params)
    else:
        given = start
    if any(np.ndim(x) == 0 or np.shape(x)[0] != n_seeds for x in jax.tree.leaves(given)):
        raise InputError(f"start: parameters need the leading axis seed, here of length {n_seeds}")
    direct = same(state, given)
    target = state if direct else getattr(state, "params", None)
    if target is None or not same(target, given):
        raise InputError(
            f"start: algorithm {name!r} trains {type(target if target is not None else state).__name__}, got {type(given).__name__}"
        )
    runs = jax.tree.leaves(state)[0].shape[2]
    lanes = jax.tree.map(lambda x: jnp.repeat(jnp.asarray(x)[seeds][:, :, None], runs, axis=2), given)
    laid = embed(lanes, target)
    return laid if direct else state._replace(params=laid)


def run_lanes(
    program: Program,
    lanes: Lanes,
    key: jax.Array | int,
    records: np.ndarray,
    which: dict[str, set[int]] | None = None,
    *,
    start: Any = None,
    seed_places: np.ndarray | None = None,
    n_seeds: int = 1,
    stop: Callable | None = None,
    progress: Callable[[int], None] = lambda step: None,
    predictions: bool = True,
    name: str = "",
) -> Outcome:
    """Train one chunk of lanes and look at it at the recorded steps. `key`: the base key number, or the run key itself (one lane)."""
    layout, used = program.layout, np.int32(lanes.used)
    make_keys = jax.vmap(lambda s: jax.random.fold_in(jax.random.key(key, impl="threefry2x32"), s) if isinstance(key, int) else key)
    count = layout.slots * layout.rows
    distinct_seeds, distinct_shared = lanes.distinct
    n_distinct = len(distinct_seeds)
    fill = lambda x: np.concatenate([x, np.repeat(x[-1:], count - n_distinct, axis=0)])  # noqa: E731
    flat = lambda tree: jax.tree.map(lambda x: jnp.reshape(x, (count, *x.shape[2:])), tree)  # noqa: E731
    fold = lambda tree: jax.tree.map(lambda x: jnp.reshape(x, (layout.slots, layout.rows, *x.shape[1:])), tree)  # noqa: E731

    drawn = program.problem(make_keys(fill(distinct_seeds)), jax.tree.map(fill, distinct_shared), np.int32(n_distinct))
    place = lanes.problem.reshape(-1)
    if not np.array_equal(place, np.arange(count)):
        drawn = jax.tree.map(lambda x: x[place], drawn)
    problem = fold(drawn)
    keys = make_keys(lanes.seed.reshape(-1))
    rows_used = np.int32(lanes.used * layout.rows)
    fields_flat = {**lanes.own, **{n: v[:, :, :, 0] for n, v in lanes.values.items()}}
    state = fold(program.init(keys, drawn, flat(lanes.shared), flat(fields_flat), flat(lanes.limit), rows_used))
    if start is not None:
        places = np.zeros((layout.slots, layout.rows), int) if seed_places is None else seed_places
        state = begin(state, start, places, n_seeds, name)

    data = program.place((fold(keys), problem, lanes.shared, lanes.own, lanes.values))
    keys_, problem_, shared_, own_, values_ = data
    limit = lanes.limit.astype(np.int32)
    state, diverged = program.place((state, np.full(limit.shape, NEVER, np.int32)))
    if any(leaf.dtype == jnp.float64 for leaf in jax.tree.leaves(state)) and jnp.result_type(float) != jnp.float64:
        raise InputError("start holds float64 arrays, but the run is float32; pass dtype='float64'")

    fixed = {n: np.asarray(v) for n, v in program.baselines(problem_, shared_, values_, used).items()}
    seen: dict[str, list] = {}
    done, t = limit == 0, 0
    for end in records:
        if end > t and not np.all(done):
            state, diverged = program.train_block(
                keys_, problem_, shared_, own_, values_, program.place(limit), state, diverged, used, np.int32(t), np.int32(end)
            )
            done = (limit <= end) | (np.asarray(diverged) != NEVER)
        t = int(end)
        names = None if which is None else frozenset(name for name, steps in which.items() if t in steps)
        late = (limit < t) | ((np.asarray(diverged) != NEVER) & (np.asarray(diverged) <= t))
        values = jax.device_get(program.metrics(names)(problem_, shared_, own_, values_, state, used))
        values = {n: blank(with_baselines(v, fixed.get(n)), late) for n, v in values.items()}
        for n, v in values.items():
            seen.setdefault(n, []).append((t, v))
        if stop is not None:
            for lane in zip(*np.nonzero(~done & ~late), strict=True):
                if stop({n: v[lane][0] for n, v in values.items()}):
                    limit[lane], done[lane] = t, True
        progress(t)
    if t < limit.max():  # steps after the last record
        state, diverged = program.train_block(
            keys_, problem_, shared_, own_, values_, program.place(limit), state, diverged, used, np.int32(t), np.int32(limit.max())
        )
    diverged = np.asarray(diverged)
    bad = diverged != NEVER
    analyses = jax.device_get(program.analyses(problem_, shared_, own_, values_, state, used))
    analyses = {n: blank(with_baselines(v, fixed.get(n)), bad) for n, v in analyses.items()}
    curves = jax.device_get(program.predict(tuple(records.tolist()))(problem_, shared_, own_, values_, used)) if predictions else {}
    return Outcome({n: stack(v, records) for n, v in seen.items()}, analyses, curves, diverged, state, problem)


def with_baselines(value: np.ndarray, fixed: np.ndarray | None) -> np.ndarray:
    """Entries that training does not change, appended along the last axis."""
    if fixed is None:
        return value
    return np.concatenate([value, np.broadcast_to(fixed, (*value.shape[:-1], fixed.shape[-1]))], axis=-1)


def blank(value: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    """NaN in the given lanes [slot, row, run] of [slot, row, run, value, ...]."""
    if not lanes.any():
        return value
    value = np.array(value, dtype=np.result_type(value.dtype, np.float32))
    value[lanes] = np.nan
    return value


def stack(seen: list[tuple[int, np.ndarray]], records: np.ndarray) -> np.ndarray:
    """[slot, row, run, value, record, ...] from the records a metric was taken at; NaN at the others."""
    at = dict(seen)
    first = seen[0][1]
    missing = np.full(first.shape, np.nan, np.result_type(first.dtype, np.float32)) if len(at) < len(records) else first
    return np.stack([at.get(int(t), missing) for t in records], axis=4)
