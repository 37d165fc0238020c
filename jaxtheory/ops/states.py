"""Entries of a vector at the states of a sequence, where both have further axes."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

FEW = 12  # up to so many states a chain of selects is faster than a gather (measured on 2 cores)


def at_state(x: Float[Array, "..."], s: Int[Array, "*shape"], axis: int) -> Float[Array, "*shape"]:
    """x at the state of each position: chosen among few states, else gathered.

    `axis` counts states in x and positions in s; the other axes are the same.
    """
    states = x.shape[axis]
    if states > FEW:
        return jnp.take_along_axis(x, s, axis=axis)
    select = lambda k: jax.lax.slice_in_dim(x, k, k + 1, axis=axis)
    choose = lambda result, k: jnp.where(s == k, select(k), result)
    return functools.reduce(choose, range(1, states), jnp.broadcast_to(select(0), s.shape))
