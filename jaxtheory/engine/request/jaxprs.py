"""Programs with LAPACK calls on several matrices, which on a CPU run one at a time.

jaxlib hands the matrices of such a call to the thread pool on which the call itself may run, and
waits for them: as many of them at a time as the pool has threads wait for each other for ever.
Those of one program do not.
"""

import threading
from typing import Any

import jax
from jax.extend.core import Primitive

FACTORISATIONS = frozenset(p for p in vars(jax.lax.linalg).values() if isinstance(p, Primitive))
alone = threading.Lock()  # held while such a program runs


def factorises(jaxpr: Any) -> bool:
    """Whether a jaxpr, or what it calls, hands several matrices at once to LAPACK."""
    return any(
        (eqn.primitive in FACTORISATIONS and any(x.aval.ndim > 2 for x in eqn.invars))
        or any(map(factorises, called(eqn)))
        for eqn in jaxpr.eqns
    )


def called(eqn: Any) -> list[Any]:
    """The jaxprs that an equation calls: of a loop its body and condition, of a choice all."""
    given = (p for v in eqn.params.values() for p in (v if isinstance(v, tuple | list) else [v]))
    return [inner for p in given if hasattr(inner := getattr(p, "jaxpr", p), "eqns")]
