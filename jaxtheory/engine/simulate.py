"""Train one run, as a chunk with a single lane."""

import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp

from jaxtheory.code import traces
from jaxtheory.code.keys import host
from jaxtheory.core.config import canonical
from jaxtheory.core.theory import C, Theory, TheoryModule, W
from jaxtheory.engine.compute.training import draw_problem, train_chunk
from jaxtheory.engine.planning.buckets import group, lanes
from jaxtheory.engine.records import NEVER, Chunk, Run
from jaxtheory.engine.request.request import read
from jaxtheory.engine.request.settings import numerics
from jaxtheory.engine.resume import equal_trees, going_on, prepend_records, resumed_lane
from jaxtheory.ops import draws
from jaxtheory.system.backend import computes
from jaxtheory.texts.errors import InputError, tried

_REDRAWN = (
    "start: this run trains on another problem than the run it starts from, because the problem is "
    "drawn from the key and config; time restarts at 0, and a key that was used before draws the "
    "same batches again; pass problem=run.problem to keep the data"
)


@computes
def simulate(
    theory: Theory[C, Any, Any, W] | TheoryModule[C, W] | ModuleType | str | Path,
    config: C,
    key: jax.Array,
    steps: int,
    *,
    algorithm: str | None = None,
    record: Any = None,
    start: Any = None,
    stop: Callable[[dict], bool] | None = None,
    problem: Any = None,
    dtype: Any = None,
    resume: Run | None = None,
) -> Run[W, C]:
    """Train one run with one algorithm of a theory.

    `resume` continues a run: time, keys and batches continue, and the result equals the longer
    run that was never interrupted, bit for bit. `start` is where the parameters begin, not a
    continuation: the problem is drawn from `key`, time restarts at 0 (schedules and stages begin
    again), and the same key draws the same batches again. Pass the run's own `problem` to continue
    with its data under another key.

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
        resume: A Run of the same theory, config, key, algorithm and dtype with fewer steps, which
            continues until `steps`. Its records are kept; the steps of `record` up to its end must
            be among them. With record=None, records at its own steps are followed by those of a run
            of `steps` steps.

    Returns:
        A Run: config, recorded steps, metrics, analyses, parameters, state, problem, and the steps
        at which it diverged or stopped.

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
        start = tried("start", jax.tree.map, lambda x: host(x)[None], start)
    if resume is not None and start is not None:
        raise InputError("resume and start: pass one of the two; a resumed run has its own state")
    if resume is not None and not isinstance(resume, Run):
        raise InputError(
            f"resume is a {type(resume).__name__}, expected a Run of jaxtheory.simulate"
        )
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
    numbers = numerics(request.dtype, request.partitionable)
    with traces.under(request.code), numbers as float_dtype:
        if resume is not None:
            request = going_on(request, resume, record is None)
        chunk = Chunk(group(request)[0], 0, 1)
        inputs, resumed = lanes(request, chunk), None
        if resume is not None:
            resumed = resumed_lane(request, resume, draw_problem(request, chunk, inputs))
        out = train_chunk(request, chunk, inputs, lambda *_: None, False, resumed)

        def first(tree: Any, depth: int) -> Any:
            return jax.tree.map(lambda x: host(x)[(0,) * depth], tree)

        state, run_problem = first(out.state, 3), first(out.problem, 2)
        used: Any = canonical(request.config, float_dtype)
        params = request.theory.algorithms[request.algorithm].params(
            *jax.tree.map(jnp.asarray, (state, run_problem)), used
        )
    if isinstance(start, Run) and not equal_trees(start.problem, run_problem):
        warnings.warn(_REDRAWN, stacklevel=2)
    diverged, stopped = int(out.diverged_at[0, 0, 0]), int(out.stopped_at[0, 0, 0])
    metrics = first(out.metrics, 4)
    if resume is not None:
        metrics = prepend_records(metrics, request, resume)
    return Run(
        used,
        request.schedule.records,
        metrics,
        first(out.analyses, 4),
        jax.tree.map(host, params),
        state,
        run_problem,
        None if diverged == NEVER else diverged,
        None if stopped == NEVER else stopped,
    )
