"""A second floor: matrix products counted at what they take at their own sizes.

Small products are bound by latency, so that the rate of a large one says nothing about them. Each
product of a step that depends on the state is run alone in a jitted loop, batched as in the sweep,
with as many workers at once.
"""

import collections
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks import floor
from jax.extend.core import Var
from jax.interpreters import partial_eval as pe

from jaxtheory.engine.compute import program
from jaxtheory.engine.request.jaxprs import called


class Call(NamedTuple):
    """Calls of a training loop: the arguments of the first, the number of calls and of records, and
    of the steps of each slot.
    """

    args: tuple
    count: int
    turns: int
    steps: int


def time_call(function: Callable[[], Any]) -> float:
    """Seconds of a call while as many workers call it at once, divided by their number."""
    return 1 / floor.rate(lambda _: jax.block_until_ready(function()), 1, floor.cores())


def made_by(function: Any) -> program.Program:
    """The program of a compiled function."""
    owner: program.Program = function.function.__wrapped__.func.__self__
    return owner


def first(call: Call) -> Any:
    """Rows, runs and states of the first slot."""
    return jax.tree.map(lambda x: x[0], call.args[:3])


def products(function: Any, call: Call) -> collections.Counter:
    """The matrix products of a step of all runs of a slot that depend on the state: how often each
    pair of shapes, with its dimensions, is multiplied.
    """
    owner, (row, run, trained) = made_by(function), first(call)
    step = program._batched(functools.partial(owner._step, np.int32(0)), owner.layout.rows)
    closed = jax.make_jaxpr(lambda trained: step(row, run, trained))(trained)
    jaxpr, _ = pe.dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars))
    counts = collections.Counter()
    follow(jaxpr, set(jaxpr.invars), counts)
    return counts


def follow(jaxpr: Any, changing: set, counts: collections.Counter, times: int = 1) -> set:
    """Count matrix products of a jaxpr that depend on some of its variables; return the results
    that do. A loop or branch depends on all that it is given, and branches and loops of unknown
    length hold no products that count.
    """
    changing = set(changing)
    for eqn in jaxpr.eqns:
        into = [isinstance(v, Var) and v in changing for v in eqn.invars]
        if not any(into):
            continue
        out, inner = eqn.outvars, called(eqn)
        if eqn.primitive is jax.lax.dot_general_p:
            (a, b), dims = (v.aval for v in eqn.invars), eqn.params["dimension_numbers"]
            counts[a.shape, b.shape, str(a.dtype), dims] += times
        elif eqn.primitive.name == "scan":
            length = times * eqn.params["length"]
            follow(inner[0], set(inner[0].invars), counts, length)
        elif len(inner) == 1 and len(inner[0].invars) == len(into):
            inputs = {v for v, on in zip(inner[0].invars, into, strict=True) if on}
            ends = follow(inner[0], inputs, counts, times)
            pairs = zip(out, inner[0].outvars, strict=True)
            out = [v for v, end in pairs if isinstance(end, Var) and end in ends]
        changing.update(out)
    return changing & {v for v in jaxpr.outvars if isinstance(v, Var)}


@functools.cache
def product(a: tuple, b: tuple, dtype: str, dims: Any) -> float:
    """Seconds of a matrix product alone, as `time_call` counts them."""

    def again(_: Any, state: tuple) -> tuple:
        x, y, _ = jax.lax.optimization_barrier(state)
        return x, y, jax.lax.dot_general(x, y, dims, precision="highest")

    x, y = jnp.ones(a, dtype), jnp.ones(b, dtype)
    start = x, y, jax.lax.dot_general(x, y, dims)
    loop = jax.jit(lambda start: jax.lax.fori_loop(0, floor.LOOP, again, start))
    return time_call(lambda: loop(start)) / floor.LOOP


def seconds(work: floor.Work, calls: dict[Any, Call]) -> float:
    """The floor with matrix products as long as they take at their sizes."""
    small = sum(
        call.steps * count * product(*shapes)
        for function, call in calls.items()
        for shapes, count in products(function, call).items()
    )
    return max(floor.seconds(work), small + floor.seconds(work._replace(flops=0, moved=0)))
