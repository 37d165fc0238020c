"""Evaluate an expensive fallback only when some vmapped run needs it."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

T = TypeVar("T")


def fallback(good: Bool[Array, ""], value: T, function: Callable[..., T], *args: object) -> T:
    """Return `value` where `good`, else function(*args), which is computed only if a run needs it.

    Under vmap, `lax.cond` would call the function for every run. Here a loop of at most one pass is
    entered if any of the vmapped runs needs the function, and its result is kept for those runs
    alone, so that no run's bits depend on the other runs. Only forward-mode derivatives exist.

    Args:
        good: True if `value` is to be returned.
        value: A pytree of arrays.
        function: A function of `args` that returns a pytree of the structure, shapes and dtypes of
            `value`.
        *args: Pytrees of arrays. An optimization barrier reads them within the loop; XLA may
            always compute before the loop what the function makes of other arrays.

    Returns:
        A pytree like `value`.
    """

    def once(carry: tuple) -> tuple:
        _, inside = jax.lax.optimization_barrier((carry[0], args))
        return jnp.ones((), bool), function(*inside)

    result: T = jax.lax.while_loop(lambda carry: ~carry[0], once, (good, value))[1]
    return result
