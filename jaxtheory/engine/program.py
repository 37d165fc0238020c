"""What is compiled for one bucket of a sweep: problem, init, blocks of training steps, metrics, analyses, baselines, predictions.

Arrays have the leading axes [slot, row, run, value]: a *row* is one problem with the *runs* that share it and its batches; each run is
looked at with several evaluation *values*. Rows lie side by side (vmapped, spread over devices); *slots* follow each other in a loop
whose length is not compiled in, so that one program serves any number of rows.
"""

import functools
import gc
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as Spec

from jaxtheory.core import draws
from jaxtheory.core.config import Config, Size, fields
from jaxtheory.core.theory import Theory

NEVER = -1  # diverged_at of a run that stayed finite


class Layout(NamedTuple):
    """Shape of a compiled program: slots in sequence, rows side by side over `devices`, runs per row, values per run.

    `width` runs are vmapped at once (the rest by lax.map); `common` says that all runs of a row share their evaluation values.
    """

    slots: int = 1
    rows: int = 1
    runs: int = 1
    values: int = 1
    width: int = 1
    devices: int = 1
    common: bool = True


def with_leaves(template: Config, leaves: Mapping[str, Any]) -> Config:
    """The config with some traced leaves replaced; for size fields the leaf is the value."""
    new = {
        name: Size(getattr(template, name).cap, leaf) if isinstance(getattr(template, name), Size) else leaf
        for name, leaf in leaves.items()
    }
    return template.replace(**new)


def leaf_names(template: Config) -> list[str]:
    """The fields that are leaves: traced and evaluation fields, and sizes that carry a value."""
    kinds = {name: field.kind for name, field in fields(type(template)).items()}
    return [
        n for n, kind in kinds.items() if kind in ("traced", "evaluation") or (kind == "size" and getattr(template, n).value is not None)
    ]


def batched(function: Callable, n: int, width: int | None = None) -> Callable:
    """function over the leading axis of all arguments: nothing to do for n = 1, else vmap, or lax.map in pieces of `width`."""
    if n == 1:

        def one(*args: Any) -> Any:
            return jax.tree.map(lambda y: y[None], function(*jax.tree.map(lambda x: x[0], args)))

        return one
    if width is None or width >= n:
        return jax.vmap(function)
    return lambda *args: jax.lax.map(lambda xs: function(*xs), args, batch_size=None if width == 1 else width)


def in_slots(function: Callable, slots: int, used: Any, *xs: Any) -> Any:
    """function over the first `used` (traced) entries of the leading axis, one after the other; the rest of the result is zero."""
    if slots == 1:
        return batched(function, 1)(*xs)
    at = lambda i: jax.tree.map(lambda x: jax.lax.dynamic_index_in_dim(x, i, keepdims=False), xs)  # noqa: E731
    shapes = jax.eval_shape(lambda: function(*at(0)))
    out = jax.tree.map(lambda s: jnp.zeros((slots, *s.shape), s.dtype), shapes)

    def body(i: Any, out: Any) -> Any:
        return jax.tree.map(lambda o, y: jax.lax.dynamic_update_index_in_dim(o, y, i, 0), out, function(*at(i)))

    return jax.lax.fori_loop(0, used, body, out)


def over_values(function: Callable, n: int, values: dict) -> Any:
    """function over the leading axis of the evaluation values; without any, a leading axis of length n = 1."""
    if not values:
        return jax.tree.map(lambda y: jnp.asarray(y)[None], function(values))
    return batched(function, n)(values)


def finite(tree: Any) -> jax.Array:
    """Whether every floating entry of a pytree is finite."""
    leaves = [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    return functools.reduce(jnp.logical_and, [jnp.all(jnp.isfinite(leaf)) for leaf in leaves], jnp.ones((), bool))


class Program:
    """The compiled functions of one (theory, algorithm, static fields and capacities, dtype, layout)."""

    def __init__(self, theory: Theory, algorithm: str, template: Config, layout: Layout):
        self.theory, self.algorithm, self.template, self.layout = theory, theory.algorithms[algorithm], template, layout
        self.sample = self.algorithm.sample or theory.sample
        self.devices = layout.devices if layout.devices <= jax.local_device_count() else 1
        self.mesh = Mesh(np.array(jax.local_devices()[: self.devices]), ("lanes",)) if self.devices > 1 else None
        self.problem = jax.jit(self._problem)
        self.init = jax.jit(self._init)
        self.train_block = jax.jit(self._spread(self._train_block, 8, 3))
        self.baselines = jax.jit(self._spread(self._baselines, 3, 1))
        self.analyses = jax.jit(self._spread(functools.partial(self._measure, "analyses", None), 5, 1))
        self._metrics: dict[frozenset[str] | None, Callable] = {}
        self._curves: dict[tuple[int, ...], Callable] = {}

    def metrics(self, names: frozenset[str] | None) -> Callable:
        """The metrics program of some names (None: all)."""
        if names not in self._metrics:
            self._metrics[names] = jax.jit(self._spread(functools.partial(self._measure, "metrics", names), 5, 1))
        return self._metrics[names]

    def predict(self, steps: tuple[int, ...]) -> Callable:
        """The program of the theory's curves at some steps."""
        if steps not in self._curves:
            self._curves[steps] = jax.jit(self._spread(functools.partial(self._predict, np.array(steps, np.int32)), 4, 1))
        return self._curves[steps]

    def _spread(self, function: Callable, arrays: int, scalars: int) -> Callable:
        """Give each device its rows: the first `arrays` arguments are split along the row axis, the others are common."""
        if self.mesh is None:
            return function
        rows = Spec(None, "lanes")
        specs = (rows,) * arrays + (Spec(),) * scalars
        return jax.shard_map(function, mesh=self.mesh, in_specs=specs, out_specs=rows, check_vma=False)

    def place(self, tree: Any) -> Any:
        """Put [slot, row, ...] arrays on their devices."""
        if self.mesh is None:
            return jax.tree.map(jnp.asarray, tree)
        return jax.device_put(tree, NamedSharding(self.mesh, Spec(None, "lanes")))

    @property
    def rows(self) -> int:
        """Rows side by side on one device."""
        return self.layout.rows // self.devices

    def config(self, *leaves: Mapping[str, Any]) -> Config:
        return with_leaves(self.template, functools.reduce(lambda a, b: {**a, **b}, leaves, {}))

    def _problem(self, key: jax.Array, shared: dict, count: Any) -> Any:
        one = lambda key, shared: self.theory.problem(jax.random.fold_in(key, draws.PROBLEM), self.config(shared))  # noqa: E731
        return in_slots(one, self.layout.slots * self.layout.rows, count, key, shared)

    def _init(self, key: jax.Array, problem: Any, shared: dict, own: dict, limit: Any, count: Any) -> Any:
        def row(key: Any, problem: Any, shared: dict, own: dict, _limit: Any) -> Any:
            key = jax.random.fold_in(key, draws.INIT)
            one = lambda own, _limit: self.algorithm.init(key, problem, self.config(shared, own))  # noqa: E731
            return batched(one, self.layout.runs, self.layout.width)(own, _limit)

        return in_slots(row, self.layout.slots * self.layout.rows, count, key, problem, shared, own, limit)

    def _train_block(
        self,
        key: Any,
        problem: Any,
        shared: dict,
        own: dict,
        values: dict,
        limit: Any,
        state: Any,
        diverged_at: Any,
        used: Any,
        start: Any,
        end: Any,
    ) -> Any:
        """Steps start..end-1 of every run; returns (state, diverged_at)."""
        fixed = {name: value[:, :, :, 0] for name, value in values.items()}  # training does not read them

        def slot(key: Any, problem: Any, shared: dict, own: dict, fixed: dict, limit: Any, state: Any, diverged_at: Any) -> Any:
            def step(t: Any, carry: Any) -> Any:
                return batched(functools.partial(self._row_step, t), self.rows)(key, problem, shared, own, fixed, limit, *carry)

            return jax.lax.fori_loop(start, end, step, (state, diverged_at))

        return in_slots(slot, self.layout.slots, used, key, problem, shared, own, fixed, limit, state, diverged_at)

    def _row_step(
        self, t: Any, key: Any, problem: Any, shared: dict, own: dict, fixed: dict, limit: Any, state: Any, diverged_at: Any
    ) -> Any:
        """One step of a row: one batch, every run. A run past its limit, or diverged, keeps its state."""
        key = jax.random.fold_in(jax.random.fold_in(key, draws.STEPS), t)
        first = jax.tree.map(lambda x: x[0], (own, fixed))  # problem and sample do not read what differs between the runs of a row
        batch = self.sample(jax.random.fold_in(key, 0), problem, self.config(shared, *first))

        def run(own: dict, fixed: dict, limit: Any, old: Any, diverged_at: Any) -> Any:
            new = self.algorithm.step(jax.random.fold_in(key, 1), t, old, batch, problem, self.config(shared, own, fixed))
            active = (t < limit) & (diverged_at == NEVER)
            good = finite(new)
            state = jax.tree.map(lambda n, o: jnp.where(active & good, n.astype(o.dtype), o), new, old)
            return state, jnp.where(active & ~good, t + 1, diverged_at)

        return batched(run, self.layout.runs, self.layout.width)(own, fixed, limit, state, diverged_at)

    def _measure(self, slot_name: str, names: Any, problem: Any, shared: dict, own: dict, values: dict, state: Any, used: Any) -> Any:
        """Metrics or analyses of every run and evaluation value."""
        function = getattr(self.theory, slot_name)

        def row(problem: Any, shared: dict, own: dict, values: dict, state: Any) -> Any:
            def run(own: dict, values: dict, state: Any) -> Any:
                def value(values: dict) -> Any:
                    config = self.config(shared, own, values)
                    out = function(self.algorithm.params(state, problem, config), problem, config)
                    return {name: jnp.asarray(entry) for name, entry in out.items() if names is None or name in names}

                return over_values(value, self.layout.values, values)

            return batched(run, self.layout.runs, self.layout.width)(own, values, state)

        return in_slots(batched(row, self.rows), self.layout.slots, used, problem, shared, own, values, state)

    def _baselines(self, problem: Any, shared: dict, values: dict, used: Any) -> Any:
        """Baselines [slot, row, run, value]; over one run where all runs of a row share their evaluation values."""

        def row(problem: Any, shared: dict, values: dict) -> Any:
            def value(values: dict) -> Any:
                return {name: jnp.asarray(entry) for name, entry in self.theory.baselines(problem, self.config(shared, values)).items()}

            runs = 1 if self.layout.common else self.layout.runs
            values = {name: value[:runs] for name, value in values.items()}
            return batched(lambda v, _: over_values(value, self.layout.values, v), runs, self.layout.width)(values, jnp.zeros(runs))

        return in_slots(batched(row, self.rows), self.layout.slots, used, problem, shared, values)

    def _predict(self, steps: np.ndarray, problem: Any, shared: dict, own: dict, values: dict, used: Any) -> Any:
        def row(problem: Any, shared: dict, own: dict, values: dict) -> Any:
            def run(own: dict, values: dict, _: Any) -> Any:
                one = lambda values: self.theory.predict(problem, self.config(shared, own, values), steps)  # noqa: E731
                return over_values(one, self.layout.values, values)

            return batched(run, self.layout.runs, self.layout.width)(own, values, jnp.zeros(self.layout.runs))

        return in_slots(batched(row, self.rows), self.layout.slots, used, problem, shared, own, values)


LIVE = 32  # programs kept; each holds about 800 memory maps, of which Linux gives a process 65530 (beyond, jaxlib crashes)
_programs: dict[Any, Program] = {}  # the last used last


def program(theory: Theory, algorithm: str, template: Config, layout: Layout) -> Program:
    """The program of these arguments, built once: a second call with other values of the leaves compiles nothing."""
    structure = jax.tree.structure(template)
    key = (
        id(theory.problem),
        id(theory.metrics),
        theory.name,
        algorithm,
        theory.algorithms[algorithm],
        structure,
        layout,
        jnp.result_type(float),
    )
    found = _programs.pop(key, None)
    if found is None or found.theory is not theory:
        found = Program(theory, algorithm, template, layout)
    _programs[key] = found
    if len(_programs) > LIVE:
        del _programs[next(iter(_programs))]
        gc.collect()  # a program refers to itself
    return found
