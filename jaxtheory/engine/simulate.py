"""One run: the lanes of one row."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core import draws
from jaxtheory.core.backend import computes
from jaxtheory.core.config import Config, canonical
from jaxtheory.core.errors import InputError
from jaxtheory.core.theory import Theory
from jaxtheory.engine.lanes import Run, train_chunk
from jaxtheory.engine.layout import Chunk, group, lanes
from jaxtheory.engine.program import NEVER
from jaxtheory.engine.request import numerics, read


@computes
def simulate(
    theory: Theory,
    config: Config,
    key: jax.Array,
    steps: int,
    *,
    algorithm: str | None = None,
    record: Any = None,
    start: Any = None,
    stop: Callable[[dict], bool] | None = None,
    problem: Any = None,
    dtype: Any = None,
) -> Run:
    """Train one run: `steps` steps of an algorithm (None: the theory's first) from the run key
    `jaxtheory.run_key(k, seed)`.

    record: every n steps, a list of steps, or {metric: steps}; None: every 1, 2, 5, 10, 20, ...
    steps and the last, at most 51 records; step 0 is before training.
    start: a Run or a pytree of parameters to begin from. stop(metrics) -> bool is tested at
    recorded steps. problem: your own data, as `theory.given(...)` makes them of arrays. dtype:
    float32 or float64. The numbers are those of the same lane in any sweep.
    Raises InputError for invalid input.
    """
    if draws.integer(key) is not None or not hasattr(key, "dtype"):
        raise InputError("key must be one JAX key, for instance jaxtheory.run_key(0, seed)")
    if start is not None and not isinstance(start, Run):
        start = jax.tree.map(lambda x: np.asarray(x)[None], start)
    request = read(
        theory,
        config,
        key=key,
        steps=steps,
        algorithm=algorithm,
        record=record,
        start=start,
        stop=stop,
        problem=problem,
        dtype=dtype,
    )
    with numerics(request.dtype, request.partitionable) as float_dtype:
        chunk = Chunk(group(request)[0], 0, 1)
        out = train_chunk(request, chunk, lanes(request, chunk), lambda step: None, curves=False)

        def first(tree: Any, depth: int) -> Any:
            return jax.tree.map(lambda x: np.asarray(x)[(0,) * depth], tree)

        state, run_problem, config = (
            first(out.state, 3),
            first(out.problem, 2),
            canonical(request.config, float_dtype),
        )
        shown = theory.algorithms[request.algorithm].params(
            *jax.tree.map(jnp.asarray, (state, run_problem)), config
        )
    diverged = int(out.diverged_at[0, 0, 0])
    return Run(
        config,
        request.schedule.records,
        first(out.metrics, 4),
        first(out.analyses, 4),
        jax.tree.map(np.asarray, shown),
        state,
        run_problem,
        None if diverged == NEVER else diverged,
    )
