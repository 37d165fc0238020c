"""Analysis of jaxprs, and one pass that transforms them.

`factorizes`: programs that pass a batch of matrices to LAPACK run one at a time on a CPU. jaxlib
distributes the matrices of such a call over the thread pool on which the call itself may run, and
waits for them. With as many concurrent calls as the pool has threads, they wait for each other
forever. So may two calls within one program that do not depend on each other; `linalg.unbatch`
prevents that.

`cse`: common-subexpression elimination. XLA's own pass runs after loop-invariant code motion:
constants such as the iota of a mask have been hoisted out of the loop under different names by
then, so that duplicates in the body of a loop survive. Which equations are merged decides the bits
of a result.

`keeps`: whether a state that is not finite at some step is not finite ever after.

`reads`: the fields of a config on which the result of a function depends. `draws_numbers`: whether
a function draws random numbers.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal, Primitive, Var, jaxpr_as_fun

from jaxtheory.core.config import Config, Size, with_leaves

_CALLS = frozenset({"jit", "pjit", "closed_call", "remat", "checkpoint", "custom_jvp_call"})
_FACTORIZATIONS = frozenset(p for p in vars(jax.lax.linalg).values() if isinstance(p, Primitive))
factorization_lock = threading.Lock()  # held while a program that factorizes is running


def factorizes(jaxpr: Any) -> bool:
    """Return True if a jaxpr, or a jaxpr that it calls, passes a batch of matrices to LAPACK."""
    return any(
        (eqn.primitive in _FACTORIZATIONS and any(x.aval.ndim > 2 for x in eqn.invars))
        or any(map(factorizes, called(eqn)))
        for eqn in jaxpr.eqns
    )


def called(eqn: Any) -> list[Any]:
    """Return the jaxprs that an equation calls, such as the body and condition of a loop."""
    params = (p for v in eqn.params.values() for p in (v if isinstance(v, tuple | list) else [v]))
    return [inner for p in params if hasattr(inner := getattr(p, "jaxpr", p), "eqns")]


def draws_numbers(jaxpr: Any) -> bool:
    """Return True if a jaxpr, or a jaxpr that it calls, draws random numbers."""
    return any(
        eqn.primitive.name.startswith(("random_", "threefry", "rng_"))
        or any(map(draws_numbers, called(eqn)))
        for eqn in jaxpr.eqns
    )


def keeps(function: Callable, old: Any) -> bool:
    """Return True if function(old) is not finite wherever the pytree `old` is not.

    This holds for an entry that is computed from the old one by sums, differences, products and
    quotients with anything, as in x - eta g, where inf and NaN stay inf or NaN. False if that is
    not known. A function with a loop that ends by a condition is excluded, since NaN may never
    fulfill it.
    """
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(old)
    structure: Any = jax.tree.structure(old)
    if structure != jax.tree.structure(shapes) or _waits(closed.jaxpr):
        return False
    places = [
        i for i, leaf in enumerate(jax.tree.leaves(old)) if jnp.issubdtype(leaf.dtype, jnp.inexact)
    ]
    return all(_carried(closed.jaxpr, {i})[i] for i in places)


def _waits(jaxpr: Any) -> bool:
    """True if a jaxpr, or one that it calls, has a loop that may not end if numbers are NaN."""
    return any(
        (eqn.primitive.name == "while" and not _counts(eqn)) or any(map(_waits, called(eqn)))
        for eqn in jaxpr.eqns
    )


def _counts(loop: Any) -> bool:
    """True if the condition of a loop reads only integers that are computed from integers."""
    test, body = loop.params["cond_jaxpr"].jaxpr, loop.params["body_jaxpr"].jaxpr
    skipped, start = loop.params["cond_nconsts"], loop.params["body_nconsts"]
    used = _behind(test, test.outvars)
    carried = {i for i, v in enumerate(test.invars[skipped:]) if v in used}
    while True:
        used |= (behind := _behind(body, [body.outvars[i] for i in carried]))
        more = {i for i, v in enumerate(body.invars[start:]) if v in behind} - carried
        if not more:
            return not any(map(_is_real, used))
        carried |= more


def _is_real(var: Any) -> bool:
    """True if a variable of a jaxpr holds numbers that may be inf or NaN."""
    return bool(jnp.issubdtype(var.aval.dtype, jnp.inexact))


def _behind(jaxpr: Any, outputs: Sequence[Any]) -> set[Var]:
    """The variables of a jaxpr on which some of its outputs depend, with themselves."""
    live = {v for v in outputs if not isinstance(v, Literal)}
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or not live.isdisjoint(eqn.outvars):
            live.update(v for v in eqn.invars if not isinstance(v, Literal))
    return live


_WHATEVER = frozenset({"add", "add_any", "sub", "mul", "neg", "convert_element_type", "copy"})
_MOVES = frozenset({"reshape", "transpose", "squeeze", "expand_dims", "rev", "broadcast_in_dim"})


def _carried(jaxpr: Any, places: set[int]) -> list[bool]:
    """Which outputs of a jaxpr are not finite if the inputs at these places are not.

    The inputs have the shapes of the outputs.
    """
    carriers = {v for i, v in enumerate(jaxpr.invars) if i in places}
    is_carrier = lambda x: not isinstance(x, Literal) and x in carriers
    for eqn in jaxpr.eqns:
        name, operands = eqn.primitive.name, list(map(is_carrier, eqn.invars))
        inner = called(eqn)
        if name in _WHATEVER or name in _MOVES:
            carries = [any(operands)]
        elif name == "div":
            carries = [operands[0]]
        elif name == "select_n":
            carries = [all(operands[1:])]
        elif len(inner) == 1 and len(inner[0].invars) == len(operands) and name in _CALLS:
            carries = _carried(inner[0], {i for i, carrier in enumerate(operands) if carrier})
        else:
            continue
        carriers.update(
            v for v, keep in zip(eqn.outvars, carries, strict=True) if keep and _is_real(v)
        )
    return list(map(is_carrier, jaxpr.outvars))


def reads(function: Callable, template: Config, names: Sequence[str], *args: Any) -> set[str]:
    """Return the named config leaves on which the result of function(*args, config) may depend.

    The set can be too large, but never too small.
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
    live = _behind(jaxpr, jaxpr.outvars)
    return {name for name, v in zip(leaves, jaxpr.invars, strict=False) if v in live}


def cse(function: Callable[[], Any]) -> Any:
    """Call function() with equal equations merged.

    Equations are equal if they have the same primitive, operands and parameters. A call within
    counts as one equation. Equations with effects are kept.
    """
    closed, shapes = jax.make_jaxpr(function, return_shape=True)()
    return jax.tree.unflatten(jax.tree.structure(shapes), jaxpr_as_fun(_merged(closed))())


def _merged(closed: ClosedJaxpr) -> ClosedJaxpr:
    """A jaxpr without equations that repeat an earlier one."""
    remaining: list[Any] = []
    first: dict[Any, list[Var]] = {}  # what an equation computes -> the variables that hold it
    same: dict[Var, Var] = {}  # variable of a removed equation -> the equal one that remains
    by_value: dict[Any, Var] = {}  # constants
    for var, value in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        same[var] = by_value.setdefault(id(value), var)
    current = lambda x: x if isinstance(x, Literal) else same.get(x, x)
    for eqn in closed.jaxpr.eqns:
        eqn = eqn.replace(invars=[current(x) for x in eqn.invars])
        try:
            earlier = None if eqn.effects else first.setdefault(_computed(eqn), eqn.outvars)
        except TypeError:  # a parameter without a hash
            earlier = None
        if earlier is None or earlier is eqn.outvars:
            remaining.append(eqn)
        else:
            same.update(zip(eqn.outvars, earlier, strict=True))
    jaxpr = closed.jaxpr.replace(eqns=remaining, outvars=[current(x) for x in closed.jaxpr.outvars])
    return ClosedJaxpr(jaxpr, closed.consts)


def _computed(eqn: Any) -> Any:
    """A key that is equal for equations that compute the same."""
    operand = lambda x: (str(x.aval), np.asarray(x.val).tobytes()) if isinstance(x, Literal) else x
    results = tuple(str(v.aval) for v in eqn.outvars)
    params = tuple(sorted(eqn.params.items()))
    return eqn.primitive, tuple(map(operand, eqn.invars)), results, params
