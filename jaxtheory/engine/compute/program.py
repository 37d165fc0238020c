"""The compiled functions of a bucket: problem, init, blocks of training steps, metrics, analyses,
baselines and predictions.

Arrays have the leading axes [slot, row, run, value], which `layout` explains. Slots run one after
the other in a loop whose length is not compiled in, so that one program serves any number of rows.
`PerRow` holds the data that the runs of a row share, and `PerRun` the data of each run.

Each compiled function is cached under the functions of the theory that it calls and a hash of their
code, and no others, so that theories that differ in a metric share training.
"""

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core import traces
from jaxtheory.core.config import Config, with_leaves
from jaxtheory.core.extended import Extended
from jaxtheory.core.theory import Algorithm, Theory
from jaxtheory.engine.records import NEVER, Layout
from jaxtheory.engine.request.fixed_problem import Given
from jaxtheory.engine.request.jaxprs import alone, cse, factorizes
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.request.settings import compiler_options
from jaxtheory.ops import draws
from jaxtheory.system.backend import backend

# compiled functions that are cached: each holds about 100 memory maps, and Linux allows a process
# 65530, beyond which jaxlib crashes
_LIVE = 48


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


class Compiled:
    """A jitted function that one thread compiles while others wait for it.

    LLVM's level 2 takes half of the compilation time of level 3, and the code runs as fast
    (docs/decisions/0015). A function that factorizes matrices runs alone, see
    `jaxprs.factorizes`.

    It is traced and called under the code of the theory that came first, see `core.traces`; other
    theories that share it have the same code where it calls them.
    """

    def __init__(self, function: Callable, code: str):
        self.function: Any = jax.jit(function, compiler_options=compiler_options(level=2))
        self.code = traces.present() or code
        self.lock = threading.Lock()
        self.begun = False
        self.ready = False
        self.alone = False

    def precompile(self, *shapes: Any) -> None:
        """Compile for arguments of these shapes, unless compilation has begun already."""
        with self.lock, traces.under(self.code):
            if not self.begun:
                self.begun = True
                self.function.lower(*shapes).compile()

    def shapes(self, *args: Any) -> Any:
        """Return the shapes of the result for arguments of these shapes."""
        with traces.under(self.code):
            return self.function.eval_shape(*args)

    def __call__(self, *args: Any) -> Any:
        if self.ready:
            return self.run(*args)
        with self.lock, traces.under(self.code):
            self.begun = True
            if jax.default_backend() == "cpu":
                self.alone = factorizes(self.function.trace(*args).jaxpr.jaxpr)
            out = jax.block_until_ready(self.run(*args))
            self.ready = True
        return out

    def run(self, *args: Any) -> Any:
        """Call the function; if it factorizes, wait until no other such function is running."""
        with traces.under(self.code):
            if not self.alone:
                return self.function(*args)
            with alone:
                return jax.block_until_ready(self.function(*args))


_compiled: dict[Any, Compiled] = {}  # in the order of their last use
_lock = threading.Lock()


def compiled(key: Any, function: Callable, code: str = "") -> Compiled:
    """Return the compiled function cached under a key and a hash of the code that it calls.

    It is made from `function` at first use.
    """
    with _lock:
        entry = _compiled.pop((key, code), None) or Compiled(function, code)
        _compiled[key, code] = entry
        if len(_compiled) > _LIVE:
            _compiled.pop(next(iter(_compiled))).function.clear_cache()
    return entry


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

        They are told apart as objects and by their code, with that of the records that they get.
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

    def draw(self, apart: bool) -> Compiled:
        """Function (keys, shared fields, count) -> the first `count` problems.

        They are drawn one after the other. Their leading axes are [slot, row] if each row has a
        problem of its own (`Lanes.apart`), else [problem].
        """
        return self.cached(self._draw, (self.theory.problem,), apart)

    def begin(self) -> Compiled:
        """Function (row, run, used) -> the state of every run before training."""
        return self.cached(self._begin, (self.algorithm.init,))

    def train(self, records: np.ndarray) -> Compiled:
        """Function (row, run, trained, used, start, end) -> trained after steps start..end-1.

        records: the recorded steps, for which `block_length` chooses the length of an inner loop.
        """
        slots = (self.algorithm.step, self.sample)
        return self.cached(self._train_block, slots, block_length(records))

    def evaluate(self, slot: str, names: frozenset[str] | None = None) -> Compiled:
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

    def _draw(self, apart: bool, keys: Any, shared: dict, count: Any) -> Any:
        one = lambda key, shared: cse(
            lambda: self.theory.problem(jax.random.fold_in(key, draws.PROBLEM), self.config(shared))
        )
        slots, rows = self.layout.slots, self.layout.rows
        out = self._over_rows(one, count, keys, shared)
        return jax.tree.map(lambda x: x.reshape(slots, rows, *x.shape[1:]), out) if apart else out

    def _over_rows(self, function: Callable, used: Any, *xs: Any) -> Any:
        """Call a function on the first `used` entries of the leading axis [slot * row].

        They follow each other, because a vmapped factorization may round differently. On an
        accelerator the rows of a slot run side by side, unless the function factorizes a matrix.
        """
        slots, rows = self.layout.slots, self.layout.rows
        laid = jax.tree.map(lambda x: x.reshape(slots, rows, *x.shape[1:]), xs)
        each = _batched(function, rows)
        if backend() == "cpu" or factorizes(jax.make_jaxpr(each)(*_first(laid)).jaxpr):
            return _in_slots(function, slots * rows, used, *xs)
        out = _in_slots(each, slots, -(-used // rows), *laid)
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

    def _train_block(
        self,
        length: int,
        row: PerRow,
        run: PerRun,
        trained: Trained,
        used: Any,
        start: Any,
        end: Any,
    ) -> Trained:
        def slot(row: PerRow, run: PerRun, trained: Trained) -> Trained:
            def step(t: Any, trained: Trained) -> Trained:
                out: Trained = _batched(functools.partial(self._step, t), self.layout.rows)(
                    row, run, trained
                )
                return out

            if length == 1:
                return jax.lax.fori_loop(start, end, step, trained)
            run = run._replace(limit=jnp.minimum(run.limit, end))  # no run steps beyond the end

            def block(k: Any, trained: Trained) -> Trained:
                first = start + k * length
                return jax.lax.fori_loop(0, length, lambda i, old: step(first + i, old), trained)

            return jax.lax.fori_loop(0, -((start - end) // length), block, trained)

        return _in_slots(slot, self.layout.slots, used, row, run, trained)

    def _step(self, t: Any, row: PerRow, run: PerRun, trained: Trained) -> Trained:
        """Make one step of all runs of a row on one batch.

        A run beyond its limit, or one that diverged, keeps its state.
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
            good = _finite(new)
            state = jax.tree.map(
                lambda n, o: jnp.where(active & good, n.astype(o.dtype), o), new, old.state
            )
            return Trained(state, jnp.where(active & ~good, t + 1, old.diverged_at))

        out: Trained = _batched(one, self.layout.runs, self.layout.width)(run, trained)
        return out

    def _evaluate(
        self,
        slot: str,
        names: frozenset[str] | None,
        row: PerRow,
        run: PerRun,
        state: Any,
        used: Any,
    ) -> Any:
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

        return _in_slots(
            _batched(of_row, self.layout.rows), self.layout.slots, used, row, run, state
        )

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
    return type(slot.problem) if isinstance(slot, Given) else slot


def _first(tree: Any) -> Any:
    """First entry of each array of a pytree."""
    return jax.tree.map(lambda x: x[0], tree)


def block_length(records: np.ndarray) -> int:
    """Return how many steps between records are made in a loop whose length is compiled in.

    After each turn of a loop of unknown length a GPU waits for the host, about as long as a step
    takes. So an outer loop makes blocks of 16, 4 or 1 steps, of which those beyond a record change
    nothing. On CPU, which does not wait, it is always 1.
    """
    if backend() == "cpu":
        return 1
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
    each = jax.vmap(lambda seed: jax.random.fold_in(key, seed))
    return jax.tree.map(lambda x: each(x.ravel()).reshape(x.shape), seeds)
