"""A loss whose softmax normalizers are constants under differentiation.

Its gradient has diag(s) in place of the softmax's Jacobian diag(s) - s s^T, which is the most
common mistake of derivations by hand.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun

_INLINE = {"jit": "jaxpr", "pjit": "jaxpr", "custom_jvp_call": "call_jaxpr"}
_SHAPING = {"select_n", "convert_element_type", "reshape", "broadcast_in_dim", "squeeze"}


class TrackedArray(NamedTuple):
    """An array with a mark if its entries are exponentials, as the numerators of a softmax are."""

    array: Any
    exponential: bool = False


def hold_normalizers(loss: Callable) -> Callable:
    """Return the same loss, in whose derivative every sum of exponentials is a constant."""

    def same(params: Any) -> Any:
        closed = jax.make_jaxpr(loss)(params)
        (value,) = _evaluated(closed, [TrackedArray(x) for x in jax.tree.leaves(params)])
        return value.array

    return same


def _evaluated(closed: ClosedJaxpr, arguments: Sequence[TrackedArray]) -> list[TrackedArray]:
    """Evaluate a jaxpr with a `stop_gradient` after each sum of exponentials."""
    program = closed.jaxpr
    environment = dict(zip(program.invars, arguments, strict=True))
    constants = zip(program.constvars, closed.consts, strict=True)
    environment |= {v: TrackedArray(c) for v, c in constants}
    read = lambda x: TrackedArray(x.val) if isinstance(x, Literal) else environment[x]
    for eqn in program.eqns:
        name, values = eqn.primitive.name, [read(x) for x in eqn.invars]
        exponential = name == "exp" or (name in _SHAPING and any(v.exponential for v in values))
        if name in _INLINE:
            results = _evaluated(eqn.params[_INLINE[name]], values)
        else:
            single = program.replace(
                eqns=[eqn],
                constvars=[],
                invars=[x for x in eqn.invars if not isinstance(x, Literal)],
                outvars=eqn.outvars,
            )
            inputs = [
                v.array for x, v in zip(eqn.invars, values, strict=True) if x in single.invars
            ]
            arrays = jaxpr_as_fun(ClosedJaxpr(single, []))(*inputs)
            if name == "reduce_sum" and values[0].exponential:
                arrays = jax.tree.map(jax.lax.stop_gradient, arrays)
            results = [TrackedArray(array, exponential) for array in arrays]
        environment.update(zip(eqn.outvars, results, strict=True))
    return [read(x) for x in program.outvars]
