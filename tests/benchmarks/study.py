"""A sweep to be timed, and the same by hand: one jitted loop between records, vmapped over seeds
and values, on the theory's own functions.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxtheory
from jaxtheory.core.config import canonical
from jaxtheory.engine.compute import training
from jaxtheory.engine.compute.program import PerRow, PerRun, Program, Trained, Turns
from jaxtheory.engine.planning.buckets import lanes
from jaxtheory.engine.planning.planner import plan_request
from jaxtheory.engine.records import NEVER
from jaxtheory.engine.request.request import read, read_schedule
from jaxtheory.ops import draws
from jaxtheory.system.backend import workers


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

    def steps_alone(self) -> Callable[[], Any]:
        """Our training of all runs and nothing else: problems and states are given."""
        request = read(
            self.theory,
            self.config,
            vary={self.field: self.values},
            seeds=self.seeds,
            steps=self.steps,
            record=[0, self.steps],
        )
        turns = Turns(*np.array([[0], [self.steps], [0]], np.int32), np.int32(1))
        prepared = []
        for chunk in plan_request(request).chunks:
            inputs, bucket = lanes(request, chunk), chunk.bucket
            algorithm = self.theory.algorithms[bucket.algorithm]
            program = Program(self.theory, algorithm, bucket.template, bucket.layout)
            row = jax.device_put(PerRow(*training._draw(request, program, inputs)))
            run = jax.device_put(PerRun(inputs.run_fields, inputs.values, inputs.limit))
            used = np.int32(inputs.used)
            state = program.begin()(row, run, used)
            trained = Trained(state, np.full(inputs.limit.shape, NEVER, np.int32))
            train = program.train(request.schedule.records, (frozenset(),))
            prepared.append((train, row, run, trained, used, turns))
        pool = ThreadPoolExecutor(workers())
        one = lambda train, *args: jax.block_until_ready(train(*args))
        return lambda: list(pool.map(lambda call: one(*call), prepared))

    def vmapped(self, train: Callable[[Any, Any, int], Any]) -> Callable[[Any], Any]:
        """train(problem, config, steps) of all runs, a jitted function of the problems [seed]."""
        values, dtype = jnp.asarray(self.values, float), jnp.result_type(float)

        def run(problem: Any, value: Any) -> Any:
            config = canonical(self.config, dtype).replace(**{self.field: value})
            return train(problem, config, self.steps)

        map_runs = jax.vmap(jax.vmap(run, (None, 0)), (0, None))
        return jax.jit(lambda problems: map_runs(problems, values))

    def at_once(self, train: Callable[[Any, Any, int], Any]) -> Callable[[], Any]:
        """All runs vmapped in one program, on problems that are given."""
        problems, runs = self.drawn(), self.vmapped(train)
        return lambda: jax.block_until_ready(runs(problems))

    def script(self, train: Callable[[Any, Any, int], Any]) -> Callable[[], Any]:
        """The same with the data: what a script does."""
        draw, runs = jax.jit(self.drawn), self.vmapped(train)
        return lambda: jax.block_until_ready(runs(draw()))

    def drawn(self) -> Any:
        """The problems [seed], side by side."""
        config = self.at(self.values[0])
        keys = jnp.stack([draws.run_key(0, seed) for seed in range(self.seeds)])
        return jax.vmap(
            lambda key: self.theory.problem(jax.random.fold_in(key, draws.PROBLEM), config)
        )(keys)

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

    def map_runs(self, function: Callable, *of_runs: Any) -> Any:
        """function(key, problem, config, *leaves) of all runs [seed, value]."""
        return jax.vmap(
            lambda key, problem, *leaves: jax.vmap(
                lambda value, *x: function(key, problem, self.study.at(value), *x)
            )(self.values, *leaves)
        )(self.keys, *of_runs)

    def _begin(self, keys: Any) -> Any:
        config = self.study.at(self.study.values[0])
        problem = jax.vmap(
            lambda key: self.theory.problem(jax.random.fold_in(key, draws.PROBLEM), config)
        )(keys)
        start = lambda key, problem, config: self.algorithm.init(
            jax.random.fold_in(key, draws.INIT), problem, config
        )
        return problem, self.map_runs(start, problem)

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
        evaluate = lambda _key, problem, config, state: self.theory.metrics(
            self.algorithm.params(state, problem, config), problem, config
        )
        return self.map_runs(evaluate, problem, state)

    def _end(self, problem: Any, state: Any) -> Any:
        def analyze(_key: Any, problem: Any, config: Any, state: Any) -> Any:
            params = self.algorithm.params(state, problem, config)
            curves = self.theory.predict(problem, config, self.records)
            return self.theory.analyses(params, problem, config), curves

        config = self.study.at(self.study.values[0])
        baselines = jax.vmap(lambda problem: self.theory.baselines(problem, config))(problem)
        return self.map_runs(analyze, problem, state), baselines

    def run(self) -> tuple[list[Any], Any]:
        """The metrics at every record, on the host, and what comes at the end."""
        problem, state = self.begin(self.keys)
        metrics, t = [], 0
        for record in self.records.tolist():
            state, t = self.block(problem, state, t, record), record
            metrics.append(jax.device_get(self.look(problem, state)))
        return metrics, jax.device_get(self.end(problem, state))

    def training(self) -> Callable[[], Any]:
        """All steps in one loop, and nothing else: problems and start are given."""
        problem, state = self.begin(self.keys)
        return lambda: jax.block_until_ready(self.block(problem, state, 0, self.study.steps))
