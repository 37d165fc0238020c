"""Train one run, as a chunk with a single lane."""

import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.config import Config, canonical
from jaxtheory.core.contract import same_structure
from jaxtheory.core.errors import InputError
from jaxtheory.core.theory import Theory
from jaxtheory.engine.compute.program import NEVER
from jaxtheory.engine.compute.training import Run, train_chunk
from jaxtheory.engine.planning.layout import Chunk, group, lanes
from jaxtheory.engine.request.request import read
from jaxtheory.engine.request.settings import numerics
from jaxtheory.ops import draws
from jaxtheory.system.backend import computes

_REDRAWN = (
    "start: this run trains on another problem than the run it starts from, because the problem is "
    "drawn from the key and config; time restarts at 0, and a key that was used before draws the "
    "same batches again; pass problem=run.problem to keep the data"
)


def _equal(one: Any, other: Any) -> bool:
    """True if two trees have equal structures and arrays."""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=False)
    return same_structure(one, other) and all(
        np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs
    )


@computes
def simulate(
    theory: Theory | ModuleType | str | Path,
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
    """Train one run with one algorithm of a theory.

    `start` is where the parameters begin, not a continuation: the problem is drawn from `key`, time
    restarts at 0 (schedules and stages begin again), and the same key draws the same batches again.
    Pass the run's own `problem` to go on with its data under another key.

    Args:
        theory: A theory as a record (`jaxtheory.Theory`), as a module that defines `THEORY`, by
            name, or as the path of a Python file.
        config: A config of this theory.
        key: The run key, `jaxtheory.run_key(k, seed)`. It determines the problem, the initial
            parameters and the batches: draws are bit for bit those of the same run in any sweep.
            Values computed from them may differ by rounding, because a single run is compiled as
            another program.
        steps: The number of steps.
        algorithm: The name of an algorithm, or None for the theory's first.
        record: Every n steps, a list of steps, or {metric: steps}. None: every 1, 2, 5, 10, 20, ...
            steps and the last, at most 51 records. Step 0 is before training.
        start: A Run or a pytree of parameters to begin from. Warns where it is a Run whose problem
            is not the one drawn from `key`.
        stop: `stop(metrics) -> bool`, evaluated at recorded steps; True ends the training.
        problem: Fixed data, as returned by `theory.given(...)`, or the problem of another run.
        dtype: "float32" or "float64"; None: JAX's setting.

    Returns:
        A Run: config, recorded steps, metrics, analyses, parameters, state, problem, and the step
        at which it diverged.

    Raises:
        InputError: An argument is invalid, or the algorithm was made for another loss, gradient,
            init, sample or problem than the theory holds (see `Theory.replace`).

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import random_walk
        >>> key = jaxtheory.run_key(0, 0)
        >>> run = jaxtheory.simulate(random_walk, random_walk.Config(), key, steps=5)
        >>> int(run.steps[-1])
        5
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
        out = train_chunk(request, chunk, lanes(request, chunk), lambda *_: None, curves=False)

        def first(tree: Any, depth: int) -> Any:
            return jax.tree.map(lambda x: np.asarray(x)[(0,) * depth], tree)

        state, run_problem, config = (
            first(out.state, 3),
            first(out.problem, 2),
            canonical(request.config, float_dtype),
        )
        params = request.theory.algorithms[request.algorithm].params(
            *jax.tree.map(jnp.asarray, (state, run_problem)), config
        )
    if isinstance(start, Run) and not _equal(start.problem, run_problem):
        warnings.warn(_REDRAWN, stacklevel=2)
    diverged = int(out.diverged_at[0, 0, 0])
    return Run(
        config,
        request.schedule.records,
        first(out.metrics, 4),
        first(out.analyses, 4),
        jax.tree.map(np.asarray, params),
        state,
        run_problem,
        None if diverged == NEVER else diverged,
    )
