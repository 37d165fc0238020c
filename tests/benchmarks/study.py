"""A sweep to be timed, and the same by hand: one jitted loop between records, vmapped over seeds
and values, on the theory's own functions.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import jaxtheory
from jaxtheory.core.config import canonical
from jaxtheory.engine.request.request import read_schedule
from jaxtheory.ops import draws


class Study(NamedTuple):
    """Every value of a field that the problem does not depend on, times seeds 0 .. seeds - 1, for
    so many steps.
    """

    theory: jaxtheory.Theory
    config: Any
    field: str
    values: tuple[float, ...]
    seeds: int
    steps: int

    @property
    def runs(self) -> int:
        return len(self.values) * self.seeds

    def sweep(self, **options: Any) -> Any:
        """The dataset, in JAX's float type."""
        return jaxtheory.sweep(
            self.theory,
            self.config,
            vary={self.field: self.values},
            seeds=self.seeds,
            steps=self.steps,
            **options,
        )

    def ends(self) -> Any:
        """The dataset with records at the first and last step alone."""
        return self.sweep(record=[0, self.steps])

    def at(self, value: Any) -> Any:
        """The config with a value of the field."""
        leaves = jax.tree.map(jnp.asarray, canonical(self.config, jnp.result_type(float)))
        return leaves.replace(**{self.field: jnp.asarray(value, float)})

    def points(self) -> list[Any]:
        """The config of every value."""
        return [self.config.replace(**{self.field: value}) for value in self.values]

    def problems(self) -> list[Any]:
        """The problem of every seed, as the sweep draws it."""
        config = self.at(self.values[0])
        draw = jax.jit(
            lambda key: self.theory.problem(jax.random.fold_in(key, draws.PROBLEM), config)
        )
        return [draw(draws.run_key(0, seed)) for seed in range(self.seeds)]

    def over(self, train: Callable[[Any, Any, int], Any]) -> Callable[[], Any]:
        """train(problem, config, steps) for all points and seeds, one after the other."""
        problems = self.problems()
        return lambda: [
            jax.block_until_ready(train(problem, config, self.steps))
            for config in self.points()
            for problem in problems
        ]

    def one(self, train: Callable[[Any, Any, int], Any], steps: int) -> Callable[[], Any]:
        """train for so many steps of the first run."""
        problem, config = self.problems()[0], self.points()[0]
        return lambda: jax.block_until_ready(train(problem, config, steps))


class ByHand:
    """The sweep as one would write it by hand: problems and batches once per seed, all runs side by
    side, metrics between blocks of steps, and at the end what the sweep gives beside them.
    """

    def __init__(self, study: Study, algorithm: str | None = None):
        self.study, self.theory = study, study.theory
        self.algorithm = study.theory.algorithms[algorithm or next(iter(study.theory.algorithms))]
        self.values = jnp.asarray(study.values, float)
        self.keys = jnp.stack([draws.run_key(0, seed) for seed in range(study.seeds)])
        self.records = read_schedule(None, [study.steps]).records
        self.begin, self.block = jax.jit(self._begin), jax.jit(self._block)
        self.look, self.end = jax.jit(self._look), jax.jit(self._end)

    def each(self, function: Callable, *of_runs: Any) -> Any:
        """function(key, problem, config, *leaves) of all runs [seed, value]."""
        return jax.vmap(
            lambda key, problem, *own: jax.vmap(
                lambda value, *x: function(key, problem, self.study.at(value), *x)
            )(self.values, *own)
        )(self.keys, *of_runs)

    def _begin(self, keys: Any) -> Any:
        config = self.study.at(self.study.values[0])
        problem = jax.vmap(
            lambda key: self.theory.problem(jax.random.fold_in(key, draws.PROBLEM), config)
        )(keys)
        start = lambda key, problem, config: self.algorithm.init(
            jax.random.fold_in(key, draws.INIT), problem, config
        )
        return problem, self.each(start, problem)

    def _block(self, problem: Any, state: Any, start: Any, end: Any) -> Any:
        sample = self.algorithm.sample or self.theory.sample
        first = self.study.at(self.study.values[0])

        def of_seed(t: Any, key: Any, problem: Any, state: Any) -> Any:
            key = jax.random.fold_in(jax.random.fold_in(key, draws.STEPS), t)
            batch = sample(jax.random.fold_in(key, 0), problem, first)
            own = jax.random.fold_in(key, 1)
            step = lambda value, old: jax.tree.map(
                lambda new, old: new.astype(old.dtype),
                self.algorithm.step(own, t, old, batch, problem, self.study.at(value)),
                old,
            )
            return jax.vmap(step)(self.values, state)

        step = lambda t, state: jax.vmap(lambda *x: of_seed(t, *x))(self.keys, problem, state)
        return jax.lax.fori_loop(start, end, step, state)

    def _look(self, problem: Any, state: Any) -> Any:
        found = lambda _key, problem, config, state: self.theory.metrics(
            self.algorithm.params(state, problem, config), problem, config
        )
        return self.each(found, problem, state)

    def _end(self, problem: Any, state: Any) -> Any:
        def found(_key: Any, problem: Any, config: Any, state: Any) -> Any:
            params = self.algorithm.params(state, problem, config)
            curves = self.theory.predict(problem, config, self.records)
            return self.theory.analyses(params, problem, config), curves

        config = self.study.at(self.study.values[0])
        baselines = jax.vmap(lambda problem: self.theory.baselines(problem, config))(problem)
        return self.each(found, problem, state), baselines

    def whole(self) -> tuple[list[Any], Any]:
        """The metrics at every record, on the host, and what comes at the end."""
        problem, state = self.begin(self.keys)
        seen, t = [], 0
        for record in self.records.tolist():
            state, t = self.block(problem, state, t, record), record
            seen.append(jax.device_get(self.look(problem, state)))
        return seen, jax.device_get(self.end(problem, state))

    def training(self) -> Callable[[], Any]:
        """All steps in one loop, and nothing else: problems and start are given."""
        problem, state = self.begin(self.keys)
        return lambda: jax.block_until_ready(self.block(problem, state, 0, self.study.steps))
