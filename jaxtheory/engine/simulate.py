"""One run: compiled blocks of steps, metrics at recorded steps."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.config import Config, InputError, Size, canonical, fields, validate
from jaxtheory.core.theory import Theory, conform
from jaxtheory.engine.lanes import Lanes, Run, run_lanes
from jaxtheory.engine.program import NEVER, Layout, leaf_names, program
from jaxtheory.engine.request import check_record, check_type, checked_algorithm, checked_steps, numerics, schedule


def simulate(
    theory: Theory,
    config: Config,
    key: jax.Array,
    *,
    steps: int,
    algorithm: str | None = None,
    record: Any = None,
    start: Any = None,
    stop: Callable[[dict], bool] | None = None,
    dtype: Any = None,
) -> Run:
    """Train one run: `steps` steps of an algorithm (None: the theory's first) from the run key `jaxtheory.run_key(k, seed)`.

    record: every n steps, a list of steps, or {metric: steps}; None: at most 100 records with first and last; step 0 is before training.
    start: a Run or a pytree of parameters to begin from. stop(metrics) -> bool is tested at recorded steps. dtype: float32 or float64.
    The numbers are those of the same lane in any sweep. Raises InputError for invalid input.
    """
    conform(theory)
    name = checked_algorithm(theory, algorithm)
    steps = checked_steps(steps)
    check_type(theory, config)
    validate(config)
    if not (hasattr(key, "dtype") and jnp.issubdtype(key.dtype, jax.dtypes.prng_key) and key.ndim == 0):
        raise InputError("key must be one JAX key, for instance jaxtheory.run_key(0, seed)")
    records, which = schedule(record, [steps])
    with numerics(dtype) as float_dtype:
        config = canonical(config, float_dtype)
        check_record(theory, name, config, which)
        prog = program(theory, name, config, Layout())
        shared = {
            n: np.asarray(getattr(config, n).n if isinstance(getattr(config, n), Size) else getattr(config, n)) for n in leaf_names(config)
        }
        values = {n: shared.pop(n).reshape(1, 1, 1, 1) for n, f in fields(type(config)).items() if f.kind == "evaluation"}
        shared = {n: v.reshape(1, 1) for n, v in shared.items()}
        seed = np.zeros((1, 1), np.int32)
        distinct = (seed[0], {n: v[0] for n, v in shared.items()})
        lanes = Lanes(1, seed, shared, {}, values, np.full((1, 1, 1), steps), np.zeros((1, 1), int), distinct)
        if start is not None and not isinstance(start, Run):
            start = jax.tree.map(lambda x: np.asarray(x)[None], start)
        out = run_lanes(prog, lanes, key, records, which, start=start, stop=stop, predictions=False, name=name)
        first = lambda tree: jax.tree.map(lambda x: np.asarray(x)[0, 0], tree)  # noqa: E731
        state, problem = jax.tree.map(lambda x: x[0], first(out.state)), first(out.problem)
        params = jax.tree.map(
            np.asarray, prog.algorithm.params(jax.tree.map(jnp.asarray, state), jax.tree.map(jnp.asarray, problem), config)
        )
    diverged = int(out.diverged_at[0, 0, 0])
    return Run(
        config,
        records,
        {n: v[0, 0, 0, 0] for n, v in out.metrics.items()},
        {n: v[0, 0, 0, 0] for n, v in out.analyses.items()},
        params,
        state,
        problem,
        None if diverged == NEVER else diverged,
    )
