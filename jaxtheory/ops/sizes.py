"""Sums, means and identity matrices over axes that may be padded: what lies beyond a `Size`'s value
does not count.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from jaxtheory.core.config import Size
from jaxtheory.ops.draws import masked


def eye(size: Size) -> Float[Array, "n n"]:
    """The identity on the n valid entries, zero beyond."""
    return jnp.diag(jnp.asarray(size.mask(), float))


def total(values: Num[Array, "..."], *axes: Size) -> Num[Array, "..."]:
    """Sum over the leading axes, which have these sizes."""
    return jnp.sum(masked(values, *axes), axis=tuple(range(len(axes))))


def mean(values: Float[Array, "..."], *axes: Size) -> Float[Array, "..."]:
    """Mean over the leading axes, which have these sizes."""
    count = jnp.ones((), values.dtype)
    for axis in axes:
        count = count * jnp.asarray(axis.real, values.dtype)
    return total(values, *axes) / count
