"""What a step of training costs, counted from its jaxpr, and which config fields a
function reads.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import Literal

from jaxtheory.core.config import Config, Size, with_leaves
from jaxtheory.core.theory import Theory

BYTES_PER_SECOND, FLOPS_PER_SECOND = 2e9, 2e10  # of one core of a small machine; for estimates only


class Work(NamedTuple):
    """Of one step: bytes written by all operations, floating-point operations of matrix products,
    bytes of the largest array.
    """

    bytes: float
    flops: float
    largest: int

    @property
    def seconds(self) -> float:
        return self.bytes / BYTES_PER_SECOND + self.flops / FLOPS_PER_SECOND


def work(jaxpr: Any) -> Work:
    """Count the work of a jaxpr; loops times their length where it is known."""
    total, flops, largest = 0.0, 0.0, 0
    for eqn in jaxpr.eqns:
        inner = [
            getattr(p, "jaxpr", p)
            for v in eqn.params.values()
            for p in (v if isinstance(v, tuple | list) else [v])
            if hasattr(getattr(p, "jaxpr", p), "eqns")
        ]
        times = eqn.params.get("length", 1) if eqn.primitive.name == "scan" else 1
        for part in map(work, inner):
            total, flops, largest = (
                total + times * part.bytes,
                flops + times * part.flops,
                max(largest, part.largest),
            )
        if not inner:
            sizes = [
                math.prod(v.aval.shape) * v.aval.dtype.itemsize
                for v in eqn.outvars
                if hasattr(v.aval, "shape") and hasattr(v.aval.dtype, "itemsize")
            ]
            total, largest = total + sum(sizes), max([largest, *sizes])
            if eqn.primitive.name == "dot_general":
                (contract, _), _ = eqn.params["dimension_numbers"]
                depth = math.prod(eqn.invars[0].aval.shape[d] for d in contract)
                flops += 2 * depth * math.prod(eqn.outvars[0].aval.shape)
    return Work(total, flops, largest)


def step_work(theory: Theory, algorithm: str, config: Config) -> tuple[Work, int, int]:
    """The work of one step, the bytes of a problem, the bytes of a state."""
    alg = theory.algorithms[algorithm]
    key = jax.random.key(0, impl="threefry2x32")
    problem = jax.eval_shape(theory.problem, key, config)
    state = jax.eval_shape(alg.init, key, problem, config)

    def step(key: Any, state: Any, problem: Any, config: Config) -> Any:
        batch = (alg.sample or theory.sample)(key, problem, config)
        return alg.step(key, jnp.int32(0), state, batch, problem, config)

    size = lambda tree: sum(
        math.prod(x.shape) * getattr(x.dtype, "itemsize", 8) for x in jax.tree.leaves(tree)
    )
    return work(jax.make_jaxpr(step)(key, state, problem, config).jaxpr), size(problem), size(state)


def reads(function: Callable, template: Config, names: Sequence[str], *args: Any) -> set[str]:
    """Which of the named config leaves the result of function(*args, config) depends on (never too
    few).
    """
    leaves = {
        n: getattr(template, n).n
        if isinstance(getattr(template, n), Size)
        else getattr(template, n)
        for n in sorted(names)
    }
    jaxpr = jax.make_jaxpr(lambda leaves, *args: function(*args, with_leaves(template, leaves)))(
        leaves, *args
    ).jaxpr
    live = {v for v in jaxpr.outvars if not isinstance(v, Literal)}
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or not live.isdisjoint(eqn.outvars):
            live.update(v for v in eqn.invars if not isinstance(v, Literal))
    return {name for name, v in zip(leaves, jaxpr.invars, strict=False) if v in live}
