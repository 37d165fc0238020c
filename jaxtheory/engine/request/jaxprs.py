"""What the engine reads off a jaxpr, and one pass over it.

`factorizes`: programs that hand several matrices at once to LAPACK run one at a time on a CPU.
jaxlib spreads the matrices of such a call over the thread pool on which the call itself may run,
and waits for them: as many such calls at a time as the pool has threads wait for each other for
ever. Calls of one program do not.

`cse`: common-subexpression elimination. XLA's own runs after loop-invariant code motion: constants
such as the iota of a mask have left the loop by then, each under another name, so that duplicates
in the body of a loop survive. Which equations are merged decides the bits of a result.

`reads`: the fields of a config on which the result of a function depends.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal, Primitive, Var, jaxpr_as_fun

from jaxtheory.core.config import Config, Size, with_leaves

_FACTORISATIONS = frozenset(p for p in vars(jax.lax.linalg).values() if isinstance(p, Primitive))
alone = threading.Lock()  # held while such a program runs


def factorizes(jaxpr: Any) -> bool:
    """Whether a jaxpr, or what it calls, hands several matrices at once to LAPACK."""
    return any(
        (eqn.primitive in _FACTORISATIONS and any(x.aval.ndim > 2 for x in eqn.invars))
        or any(map(factorizes, called(eqn)))
        for eqn in jaxpr.eqns
    )


def called(eqn: Any) -> list[Any]:
    """The jaxprs that an equation calls: of a loop its body and condition, of a choice all."""
    given = (p for v in eqn.params.values() for p in (v if isinstance(v, tuple | list) else [v]))
    return [inner for p in given if hasattr(inner := getattr(p, "jaxpr", p), "eqns")]


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


def cse(function: Callable[[], Any]) -> Any:
    """function(), equal equations of it merged: same primitive, same operands, same parameters.
    What is called within counts as one equation; equations with effects stay.
    """
    closed, shapes = jax.make_jaxpr(function, return_shape=True)()
    return jax.tree.unflatten(jax.tree.structure(shapes), jaxpr_as_fun(_merged(closed))())


def _merged(closed: ClosedJaxpr) -> ClosedJaxpr:
    """A jaxpr without the equations that repeat an earlier one."""
    kept: list[Any] = []
    first: dict[Any, list[Var]] = {}  # what an equation computes -> the variables that hold it
    same: dict[Var, Var] = {}  # variable of an equation that is left out -> the one that is kept
    by_value: dict[Any, Var] = {}  # constants
    for var, value in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        same[var] = by_value.setdefault(id(value), var)
    current = lambda x: x if isinstance(x, Literal) else same.get(x, x)
    for eqn in closed.jaxpr.eqns:
        eqn = eqn.replace(invars=[current(x) for x in eqn.invars])
        try:
            known = None if eqn.effects else first.setdefault(_computed(eqn), eqn.outvars)
        except TypeError:  # a parameter without a hash
            known = None
        if known is None or known is eqn.outvars:
            kept.append(eqn)
        else:
            same.update(zip(eqn.outvars, known, strict=True))
    jaxpr = closed.jaxpr.replace(eqns=kept, outvars=[current(x) for x in closed.jaxpr.outvars])
    return ClosedJaxpr(jaxpr, closed.consts)


def _computed(eqn: Any) -> Any:
    """What an equation computes; equal where two compute the same."""
    operand = lambda x: (str(x.aval), np.asarray(x.val).tobytes()) if isinstance(x, Literal) else x
    results = tuple(str(v.aval) for v in eqn.outvars)
    params = tuple(sorted(eqn.params.items()))
    return eqn.primitive, tuple(map(operand, eqn.invars)), results, params
