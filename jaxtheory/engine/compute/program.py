"""The compiled functions of a bucket.

They are the problem, init, training with its records, analyses, baselines and predictions.

Arrays have the leading axes [slot, row, run, value], which `layout` explains. Slots run one after
the other in a loop whose length is not compiled in, so that one program serves any number of rows.
`PerRow` holds the data that the runs of a row share, and `PerRun` the data of each run.

Each is cached under the functions of the theory that it calls and a hash of their code, and no
others, so that theories that differ in an analysis share training.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.code import traces
from jaxtheory.core.config import Config, with_leaves
from jaxtheory.core.extended import Extended
from jaxtheory.core.theory import Algorithm, Theory
from jaxtheory.engine.compute.compiled import Compiled, compiled
from jaxtheory.engine.records import NEVER, Layout
from jaxtheory.engine.request.fixed_problem import FixedProblem
from jaxtheory.engine.request.jaxprs import cse, factorizes, keeps
from jaxtheory.engine.request.request import Request
from jaxtheory.ops import draws
from jaxtheory.system.backend import backend

Names = frozenset[str] | None  # names of metrics; None: all


class PerRow(NamedTuple):
    """Data that the runs of a row share, with the leading axes [slot, row].

    key: the run key. fields: the config fields that the problem reads. problem: the problem.
    """

    key: Any
    fields: Any
    problem: Any


class PerRun(NamedTuple):
    """Data of each run, with the leading axes [slot, row, run].

    fields: its other config fields. values: its evaluation values [..., value]. limit: its number
    of steps.
    """

    fields: Any
    values: Any
    limit: Any


class Turns(NamedTuple):
    """The work of one call of the training program: arrays [turn], and the number of turns.

    start, end: the steps start..end-1 are made. names: index of the set of metrics evaluated then.
    """

    start: Any
    end: Any
    names: Any
    count: Any


class Trained(NamedTuple):
    """State of each run during training, with the leading axes [slot, row, run].

    diverged_at: the step after which the run was not finite, or NEVER.
    """

    state: Any
    diverged_at: Any


def _batched(function: Callable, n: int, width: int | None = None) -> Callable:
    """Map a function over the leading axis, of length n, of all arguments.

    For n = 1 it is called once. Otherwise it is vmapped, or mapped by lax.map in batches of
    `width`.
    """
    if n == 1:

        def one(*args: Any) -> Any:
            return jax.tree.map(lambda y: y[None], function(*jax.tree.map(lambda x: x[0], args)))

        return one
    if width is None or width >= n:
        return jax.vmap(function)
    return lambda *args: jax.lax.map(
        lambda xs: function(*xs), args, batch_size=None if width == 1 else width
    )


def _in_slots(function: Callable, slots: int, used: Any, *xs: Any) -> Any:
    """Call a function on the first `used` entries of the leading axis, one after the other.

    `used` may be traced. The rest of the result is zero.
    """
    if slots == 1:
        return _batched(function, 1)(*xs)
    at = lambda i: jax.tree.map(lambda x: jax.lax.dynamic_index_in_dim(x, i, keepdims=False), xs)
    shapes = jax.eval_shape(lambda: function(*at(0)))
    out = jax.tree.map(lambda s: jnp.zeros((slots, *s.shape), s.dtype), shapes)

    def body(i: Any, out: Any) -> Any:
        return jax.tree.map(
            lambda o, y: jax.lax.dynamic_update_index_in_dim(o, y, i, 0), out, function(*at(i))
        )

    return jax.lax.fori_loop(0, used, body, out)


def _over_values(function: Callable, n: int, values: dict) -> Any:
    """Map a function over the leading axis of the evaluation values.

    Without such values the result gets a leading axis of length 1.
    """
    if not values:
        return jax.tree.map(lambda y: jnp.asarray(y)[None], function(values))
    return _batched(function, n)(values)


def _finite(tree: Any) -> jax.Array:
    """True where every floating-point entry of a pytree is finite."""
    leaves = [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    return functools.reduce(
        jnp.logical_and, [jnp.all(jnp.isfinite(leaf)) for leaf in leaves], jnp.ones((), bool)
    )


class Program(NamedTuple):
    """The compiled functions of an algorithm of a theory.

    template: a config with the static fields and capacities. layout: the shape of the arrays.
    """

    theory: Theory
    algorithm: Algorithm
    template: Config
    layout: Layout

    def cached(self, method: Any, slots: tuple, *options: Any) -> Compiled:
        """Return a method as a compiled function, cached under the theory's functions it uses.

        They are distinguished as objects, and by their code and that of the records that they get.
        """
        shape = (jax.tree.structure(self.template), self.layout, jnp.result_type(float))
        key = (method.__func__, slots, options, *shape)
        records = self.theory.problem, self.algorithm.init, self.theory.Config
        code = traces.digest((*map(_code_of, slots), *map(_code_of, records)))
        return compiled(key, functools.partial(method, *options), code)

    def config(self, *leaves: Mapping[str, Any]) -> Config:
        return with_leaves(self.template, functools.reduce(lambda a, b: {**a, **b}, leaves, {}))

    @property
    def sample(self) -> Callable:
        return self.algorithm.sample or self.theory.sample

    def draw(self, per_row: bool) -> Compiled:
        """Function (keys, shared fields, count) -> the first `count` problems.

        They are drawn one after the other. Their leading axes are [slot, row] if each row has a
        problem of its own (`Lanes.has_distinct_problems`), else [problem].
        """
        return self.cached(self._draw, (self.theory.problem,), per_row)

    def begin(self) -> Compiled:
        """Function (row, run, used) -> the state of every run before training."""
        return self.cached(self._begin, (self.algorithm.init,))

    def train(self, records: np.ndarray, names: tuple[Names, ...]) -> Compiled:
        """Function (row, run, trained, used, turns) -> trained, and the metrics recorded.

        A turn makes the steps start..end-1 of each run, and then evaluates the metrics of its set
        of names, as arrays [slot, turn, row, run, value]. records: the recorded steps, for which
        `block_length` chooses the length of an inner loop. names: the sets of metrics.
        """
        slots = (self.algorithm.step, self.sample, self.theory.metrics, self.algorithm.params)
        return self.cached(self._train, slots, block_length(records), names)

    def evaluate(self, slot: str, names: Names = None) -> Compiled:
        """Function (row, run, state, used) -> metrics or analyses of every run and value.

        slot: "metrics" or "analyses". names: the entries to compute, None for all.
        """
        functions = (getattr(self.theory, slot), self.algorithm.params)
        return self.cached(self._evaluate, functions, slot, names)

    def baselines(self) -> Compiled:
        """Function (row, run, used) -> baselines [slot, row, run, value].

        The axis run has length 1 if all runs of a row share their evaluation values.
        """
        return self.cached(self._baselines, (self.theory.baselines,))

    def predict(self, steps: tuple[int, ...]) -> Compiled:
        """Function (row, run, used) -> the theory's curves at these steps."""
        return self.cached(self._predict, (self.theory.predict,), steps)

    def _draw(self, per_row: bool, keys: Any, shared: dict, count: Any) -> Any:
        one = lambda key, shared: cse(
            lambda: self.theory.problem(jax.random.fold_in(key, draws.PROBLEM), self.config(shared))
        )
        slots, rows = self.layout.slots, self.layout.rows
        out = self._over_rows(one, count, keys, shared)
        return jax.tree.map(lambda x: x.reshape(slots, rows, *x.shape[1:]), out) if per_row else out

    def _over_rows(self, function: Callable, used: Any, *xs: Any) -> Any:
        """Call a function on the first `used` entries of the leading axis [slot * row].

        They follow each other, because a vmapped factorization may round differently. On an
        accelerator the rows of a slot run side by side, unless the function factorizes a matrix.
        """
        slots, rows = self.layout.slots, self.layout.rows
        laid = jax.tree.map(lambda x: x.reshape(slots, rows, *x.shape[1:]), xs)
        map_rows = _batched(function, rows)
        if backend() == "cpu" or factorizes(jax.make_jaxpr(map_rows)(*_first(laid)).jaxpr):
            return _in_slots(function, slots * rows, used, *xs)
        out = _in_slots(map_rows, slots, -(-used // rows), *laid)
        return jax.tree.map(lambda x: x.reshape(slots * rows, *x.shape[2:]), out)

    def _begin(self, row: PerRow, run: PerRun, used: Any) -> Any:
        def of_row(row: PerRow, run: PerRun) -> Any:
            key = jax.random.fold_in(row.key, draws.INIT)
            one = lambda run: cse(
                lambda: self.algorithm.init(
                    key, row.problem, self.config(row.fields, run.fields, _first(run.values))
                )
            )
            return _batched(one, self.layout.runs, self.layout.width)(run)

        flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (row, run))
        out = self._over_rows(of_row, used * self.layout.rows, *flat)
        return jax.tree.map(
            lambda x: x.reshape(self.layout.slots, self.layout.rows, *x.shape[1:]), out
        )

    def _train(
        self,
        length: int | None,
        names: tuple[Names, ...],
        row: PerRow,
        run: PerRun,
        trained: Trained,
        used: Any,
        turns: Turns,
    ) -> tuple[Trained, dict[str, jax.Array]]:
        def slot(row: PerRow, run: PerRun, trained: Trained) -> Any:
            def turn(k: Any, carry: Any) -> Any:
                trained, metrics = carry
                trained = self._steps(length, row, run, trained, turns.start[k], turns.end[k])
                puts = [functools.partial(put, k, trained.state, one) for one in seers]
                return trained, jax.lax.switch(turns.names[k], puts, metrics)

            def put(k: Any, state: Any, one: Callable, metrics: dict) -> dict:
                new = one(row, run, state)
                at = lambda o, v: jax.lax.dynamic_update_index_in_dim(o, v, k, 0)
                return metrics | {name: at(metrics[name], new[name]) for name in new}

            shapes: dict = {}
            for one in seers:
                shapes |= jax.eval_shape(one, row, run, trained.state)
            new = lambda s: jnp.zeros((*turns.end.shape, *s.shape), s.dtype)
            return jax.lax.fori_loop(0, turns.count, turn, (trained, jax.tree.map(new, shapes)))

        # jitted, so that each is traced once
        seers = [
            jax.jit(functools.partial(self._measure, "metrics", subset), inline=True)
            for subset in names
        ]
        out: tuple[Trained, dict[str, jax.Array]] = _in_slots(
            slot, self.layout.slots, used, row, run, trained
        )
        return out

    def _steps(
        self, length: int | None, row: PerRow, run: PerRun, trained: Trained, start: Any, end: Any
    ) -> Trained:
        """Make the steps start..end-1 of the runs of a slot."""

        def step(guard: bool, run: PerRun, t: Any, trained: Trained) -> Trained:
            one = functools.partial(self._step, guard, t)
            out: Trained = _batched(one, self.layout.rows)(row, run, trained)
            return out

        if length is None:
            return jax.lax.fori_loop(start, end, functools.partial(step, True, run), trained)
        run = run._replace(limit=jnp.minimum(run.limit, end))  # no run steps beyond the end
        if self._stays_infinite(row, run, trained.state):
            return self._blocks(length, functools.partial(step, False), run, trained, start, end)

        def block(k: Any, trained: Trained) -> Trained:
            first = start + k * length
            return jax.lax.fori_loop(
                0, length, lambda i, old: step(True, run, first + i, old), trained
            )

        return jax.lax.fori_loop(0, -((start - end) // length), block, trained)

    def _blocks(
        self, length: int, step: Callable, run: PerRun, trained: Trained, start: Any, end: Any
    ) -> Trained:
        """Make steps in blocks, and check only after each whether the states are finite.

        If one is not, the block is repeated from its start with half as many steps for that run,
        until its last finite step is found by bisection. The others repeat their steps, with the
        same bits.
        """
        no_failure = jnp.full_like(run.limit, length + 1)

        def attempt(carry: Any) -> Any:
            first, old, low, high = carry  # finite after `low` steps of the block, not after `high`
            tried = jnp.where(high > length, length, (low + high) // 2)
            now = run._replace(limit=jnp.minimum(run.limit, first + tried))
            new = jax.lax.fori_loop(0, length, lambda i, old: step(now, first + i, old), old)
            good = jax.vmap(jax.vmap(_finite))(new.state) | (old.diverged_at != NEVER)
            low, high = jnp.where(good, tried, low), jnp.where(good, high, tried)
            done = jnp.all(good & (high - low <= 1))
            at = jnp.where(high <= length, first + high, old.diverged_at)
            choose = functools.partial(jnp.where, done)
            old = jax.tree.map(choose, Trained(new.state, at), old)
            return choose(first + length, first), old, choose(0, low), choose(no_failure, high)

        begun = (start, trained, jnp.zeros_like(no_failure), no_failure)
        out: Trained = jax.lax.while_loop(lambda carry: carry[0] < end, attempt, begun)[1]
        return out

    def _stays_infinite(self, row: PerRow, run: PerRun, state: Any) -> bool:
        """True if a state that is not finite is not finite after any further step."""
        row, run, state = _first(row), _first(_first(run)), _first(_first(state))
        config = self.config(row.fields, run.fields, _first(run.values))

        def step(state: Any) -> Any:
            batch = self.sample(row.key, row.problem, config)
            return self.algorithm.step(row.key, jnp.int32(0), state, batch, row.problem, config)

        return keeps(step, state)

    def _step(self, guard: bool, t: Any, row: PerRow, run: PerRun, trained: Trained) -> Trained:
        """Make one step of all runs of a row on one batch.

        A run beyond its limit, or one that diverged, keeps its state. guard: whether one that
        would not be finite after this step keeps it, too.
        """
        key = jax.random.fold_in(jax.random.fold_in(row.key, draws.STEPS), t)
        # problem and sample do not read the fields that differ between the runs of a row
        any_run = _first(run)
        batch = cse(
            lambda: self.sample(
                jax.random.fold_in(key, 0),
                row.problem,
                self.config(row.fields, any_run.fields, _first(any_run.values)),
            )
        )

        def one(run: PerRun, old: Trained) -> Trained:
            # training does not read the evaluation values
            config = self.config(row.fields, run.fields, _first(run.values))
            new = cse(
                lambda: self.algorithm.step(
                    jax.random.fold_in(key, 1), t, old.state, batch, row.problem, config
                )
            )
            active = (t < run.limit) & (old.diverged_at == NEVER)
            good = _finite(new) if guard else jnp.ones((), bool)
            state = jax.tree.map(
                lambda n, o: jnp.where(active & good, n.astype(o.dtype), o), new, old.state
            )
            return Trained(state, jnp.where(active & ~good, t + 1, old.diverged_at))

        out: Trained = _batched(one, self.layout.runs, self.layout.width)(run, trained)
        return out

    def _evaluate(
        self, slot: str, names: Names, row: PerRow, run: PerRun, state: Any, used: Any
    ) -> Any:
        return _in_slots(
            functools.partial(self._measure, slot, names), self.layout.slots, used, row, run, state
        )

    def _measure(self, slot: str, names: Names, row: PerRow, run: PerRun, state: Any) -> Any:
        """Metrics or analyses of the runs of a slot."""
        function = getattr(self.theory, slot)
        keyed = isinstance(function, Extended)

        def of_row(row: PerRow, run: PerRun, state: Any) -> Any:
            def one(run: PerRun, state: Any) -> Any:
                def value(values: dict) -> Any:
                    config = self.config(row.fields, run.fields, values)
                    out = cse(
                        lambda: function(
                            self.algorithm.params(state, row.problem, config),
                            row.problem,
                            config,
                            *((row.key,) if keyed else ()),
                        )
                    )
                    return {
                        name: jnp.asarray(entry)
                        for name, entry in out.items()
                        if names is None or name in names
                    }

                return _over_values(value, self.layout.values, run.values)

            return _batched(one, self.layout.runs, self.layout.width)(run, state)

        return _batched(of_row, self.layout.rows)(row, run, state)

    def _baselines(self, row: PerRow, run: PerRun, used: Any) -> Any:
        def of_row(row: PerRow, run: PerRun) -> Any:
            def value(values: dict) -> Any:
                config = self.config(row.fields, values)
                entries = cse(lambda: self.theory.baselines(row.problem, config))
                return {name: jnp.asarray(entry) for name, entry in entries.items()}

            runs = 1 if self.layout.common else self.layout.runs
            first = jax.tree.map(lambda x: x[:runs], run)
            return _batched(
                lambda run: _over_values(value, self.layout.values, run.values),
                runs,
                self.layout.width,
            )(first)

        return _in_slots(_batched(of_row, self.layout.rows), self.layout.slots, used, row, run)

    def _predict(self, steps: tuple[int, ...], row: PerRow, run: PerRun, used: Any) -> Any:
        def of_row(row: PerRow, run: PerRun) -> Any:
            def one(run: PerRun) -> Any:
                at = np.array(steps, np.int32)
                curves = lambda values: cse(
                    lambda: self.theory.predict(
                        row.problem, self.config(row.fields, run.fields, values), at
                    )
                )
                return _over_values(curves, self.layout.values, run.values)

            return _batched(one, self.layout.runs, self.layout.width)(run)

        return _in_slots(_batched(of_row, self.layout.rows), self.layout.slots, used, row, run)


def _code_of(slot: Any) -> Any:
    """The code of a slot; that of a fixed problem is its class."""
    return type(slot.problem) if isinstance(slot, FixedProblem) else slot


def _first(tree: Any) -> Any:
    """First entry of each array of a pytree."""
    return jax.tree.map(lambda x: x[0], tree)


def block_length(records: np.ndarray) -> int | None:
    """Return how many steps between records are made in a loop whose length is compiled in.

    After each turn of a loop of unknown length a GPU waits for the host, about as long as a step
    takes. So an outer loop makes blocks of 16, 4 or 1 steps, of which those beyond a record change
    nothing. None on CPU, which does not wait: the steps are not made in blocks.
    """
    if backend() == "cpu":
        return None
    steps = np.diff(records, prepend=0)
    return min((1, 4, 16), key=lambda n: int(np.sum(-(-steps // n) * (n + 1))))


def run_keys(request: Request, seeds: Any) -> Any:
    """Return fold_in(key(k), seed) for each seed of a pytree of arrays.

    If the request has the key of one run, every seed gets that key.
    """
    key = request.key
    if not isinstance(key, int):
        return jax.tree.map(lambda x: jnp.broadcast_to(key, x.shape), seeds)
    with traces.under(""):  # as no code of a theory is called, one program serves all theories
        return _folded(draws.base_key(key), seeds)


@jax.jit
def _folded(key: jax.Array, seeds: Any) -> Any:
    """fold_in(key, seed) for each seed."""
    fold = jax.vmap(lambda seed: jax.random.fold_in(key, seed))
    return jax.tree.map(lambda x: fold(x.ravel()).reshape(x.shape), seeds)
