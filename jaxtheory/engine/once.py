"""Equal parts of a function are computed once.

XLA merges equal parts of a program too, but not in the body of a loop: what does not change there,
such as the iota of each mask, has left it before, each under a name of its own, and what is made of
those is then computed as often as it was written.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal, Var, jaxpr_as_fun


def once(function: Callable[[], Any]) -> Any:
    """function(), equal equations of it merged: same primitive, same operands, same parameters.
    What is called within counts as one equation; equations with effects stay.
    """
    closed, shapes = jax.make_jaxpr(function, return_shape=True)()
    return jax.tree.unflatten(jax.tree.structure(shapes), jaxpr_as_fun(merged(closed))())


def merged(closed: ClosedJaxpr) -> ClosedJaxpr:
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
            known = None if eqn.effects else first.setdefault(computes(eqn), eqn.outvars)
        except TypeError:  # a parameter without a hash
            known = None
        if known is None or known is eqn.outvars:
            kept.append(eqn)
        else:
            same.update(zip(eqn.outvars, known, strict=True))
    jaxpr = closed.jaxpr.replace(eqns=kept, outvars=[current(x) for x in closed.jaxpr.outvars])
    return ClosedJaxpr(jaxpr, closed.consts)


def computes(eqn: Any) -> Any:
    """What an equation computes; equal where two compute the same."""
    operand = lambda x: (str(x.aval), np.asarray(x.val).tobytes()) if isinstance(x, Literal) else x
    results = tuple(str(v.aval) for v in eqn.outvars)
    params = tuple(sorted(eqn.params.items()))
    return eqn.primitive, tuple(map(operand, eqn.invars)), results, params
