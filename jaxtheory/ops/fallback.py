"""A value that is dear to compute where a cheap one does not do, which is seldom."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

T = TypeVar("T")


def unless(good: Bool[Array, ""], value: T, function: Callable[..., T], *args: object) -> T:
    """`value` where good, else function(*args), of the same structure, shapes and dtypes; function
    is not called where no lane needs it.

    Under vmap `lax.cond` would call it for every lane. A loop of at most one pass is entered if any
    lane needs it and kept for those alone, so that no lane's bits depend on its neighbors. `args`
    are pytrees of arrays, fetched within the loop by an optimization barrier; what function makes
    of other arrays XLA may compute before the loop, always. Derivatives are forward only.
    """

    def once(carry: tuple) -> tuple:
        _, given = jax.lax.optimization_barrier((carry[0], args))
        return jnp.ones((), bool), function(*given)

    found: T = jax.lax.while_loop(lambda carry: ~carry[0], once, (good, value))[1]
    return found
