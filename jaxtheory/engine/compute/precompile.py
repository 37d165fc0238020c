"""Compile the functions of a chunk in parallel, before they are called.

The first seconds of a sweep are compilation, which uses one core per function.
"""

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxtheory.engine.compute.compiled import Compiled
from jaxtheory.engine.compute.program import (
    Names,
    PerRow,
    PerRun,
    Program,
    Trained,
    Turns,
    run_keys,
)
from jaxtheory.engine.records import TURNS, Lanes
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.request.settings import flag, numerics, settings, under
from jaxtheory.system.backend import backend, cores, workers


class Functions(NamedTuple):
    """The functions that a chunk calls; `predict` is None if no curves are computed."""

    draw: Compiled
    begin: Compiled
    train: Compiled
    baselines: Compiled
    analyses: Compiled
    predict: Compiled | None


@contextlib.contextmanager
def precompile(
    request: Request, program: Program, inputs: Lanes, names: tuple[Names, ...], curves: bool
) -> Iterator[None]:
    """Let threads compile the functions of a chunk that are not being compiled already.

    Errors of compilation are ignored here, because they occur again when the function is called.
    """
    records = request.schedule.records
    # one worker of an accelerator leaves the cores of the host free
    count = workers() if backend() == "cpu" else max(workers(), cores())
    functions = Functions(
        program.draw(inputs.has_distinct_problems),
        program.begin(),
        program.train(records, names),
        program.baselines(),
        program.evaluate("analyses"),
        program.predict(tuple(records.tolist())) if curves else None,
    )
    if count == 1 or all(function.begun for function in jax.tree.leaves(functions)):
        yield
        return
    caller, device = settings(), flag("jax_default_device")

    def under_same_settings(function: Callable[..., None], *args: Any) -> None:
        numbers = numerics(request.dtype, request.partitionable)
        with contextlib.suppress(Exception), under(caller, device), numbers:
            function(*args)

    def submit(function: Callable[..., None], *args: Any) -> None:
        pool.submit(under_same_settings, function, *args)

    pool = ThreadPoolExecutor(count, thread_name_prefix="jaxtheory-compile")
    try:
        pool.submit(under_same_settings, _everything, request, functions, inputs, submit)
        yield
    finally:
        pool.shutdown(cancel_futures=True)


def _everything(
    request: Request, functions: Functions, inputs: Lanes, submit: Callable[..., None]
) -> None:
    """Submit the compilation of each function, the largest ones first."""
    used, (_, shared) = np.int32(0), inputs.distinct
    like = lambda x, shape: jax.ShapeDtypeStruct(shape, x.dtype)
    key = jax.eval_shape(lambda: run_keys(request, inputs.seed))
    shape, count = inputs.problem.shape, inputs.problem.size
    flat = jax.tree.map(lambda x: like(x, (count, *x.shape[1:])), shared)
    drawn = like(key, (count,)), flat, used
    submit(functions.draw.precompile, *drawn)
    problem = functions.draw.shapes(*drawn)
    if not inputs.has_distinct_problems:
        problem = jax.tree.map(lambda x: like(x, (*shape, *x.shape[1:])), problem)
    row = PerRow(key, inputs.shared, problem)
    run = PerRun(inputs.run_fields, inputs.values, inputs.limit)
    state = functions.begin.shapes(row, run, used)
    trained = Trained(state, np.zeros(inputs.limit.shape, np.int32))
    zeros = np.zeros(TURNS, np.int32)
    submit(functions.train.precompile, row, run, trained, used, Turns(zeros, zeros, zeros, used))
    submit(functions.analyses.precompile, row, run, state, used)
    for function in (functions.predict, functions.baselines, functions.begin):
        if function is not None:
            submit(function.precompile, row, run, used)
