"""Compiling what a chunk will call before it is called, side by side: the first seconds of a sweep
are compilation, which takes one core a function.
"""

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np

from jaxtheory.engine.layout import Lanes
from jaxtheory.engine.program import PerRow, PerRun, Program, Trained
from jaxtheory.engine.request import Request, flag, numerics
from jaxtheory.engine.threads import settings, under, workers

Names = frozenset[str] | None  # of metrics; None: all


@contextlib.contextmanager
def ahead(
    request: Request, program: Program, inputs: Lanes, names: set[Names], curves: bool
) -> Iterator[None]:
    """Within: threads compile what a chunk calls and nobody has begun to compile. What cannot be
    compiled says so when it is called.
    """
    count = workers()
    if count == 1 or program.draw().begun:
        yield
        return
    mine, device = settings(), flag("jax_default_device")

    def alike(function: Callable[..., None], *args: Any) -> None:
        numbers = numerics(request.dtype, request.partitionable)
        with contextlib.suppress(Exception), under(mine, device), numbers:
            function(*args)

    def submit(function: Callable[..., None], *args: Any) -> None:
        pool.submit(alike, function, *args)

    pool = ThreadPoolExecutor(count, thread_name_prefix="jaxtheory-compile")
    try:
        pool.submit(alike, everything, request, program, inputs, names, curves, submit)
        yield
    finally:
        pool.shutdown(cancel_futures=True)


def everything(
    request: Request,
    program: Program,
    inputs: Lanes,
    names: set[Names],
    curves: bool,
    submit: Callable[..., None],
) -> None:
    """Submit the compilation of each function, the largest first as a rule."""
    used, (_, shared) = np.int32(0), inputs.distinct
    like = lambda x, shape: jax.ShapeDtypeStruct(shape, x.dtype)
    key = jax.eval_shape(lambda: jax.random.key(0, impl="threefry2x32"))
    if not isinstance(request.key, int):
        key = jax.eval_shape(lambda: request.key)
    slots, rows = inputs.seed.shape
    flat = jax.tree.map(lambda x: like(x, (slots * rows, *x.shape[1:])), shared)
    drawn = like(key, (slots * rows,)), flat, used
    submit(program.draw().ahead, *drawn)
    problem = program.draw().function.eval_shape(*drawn)
    folded = jax.tree.map(lambda x: like(x, (slots, rows, *x.shape[1:])), problem)
    row = PerRow(like(key, (slots, rows)), inputs.shared, folded)
    run = PerRun(inputs.own, inputs.values, inputs.limit)
    state = program.begin().function.eval_shape(row, run, used)
    trained = Trained(state, np.zeros(inputs.limit.shape, np.int32))
    submit(program.look("analyses").ahead, row, run, state, used)
    submit(program.baselines().ahead, row, run, used)
    for some in names:
        submit(program.look("metrics", some).ahead, row, run, state, used)
    submit(program.train().ahead, row, run, trained, used, used, used)
    if curves:
        records = tuple(request.schedule.records.tolist())
        submit(program.predict(records).ahead, row, run, used)
    submit(program.begin().ahead, row, run, used)
