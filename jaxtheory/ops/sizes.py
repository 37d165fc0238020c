"""Sums, means and identity matrices over axes that may be padded: what lies beyond a `Size`'s value
does not count.
"""

import jax
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


def sums(*terms: Float[Array, "*shape"], axis: int) -> tuple[Float[Array, "..."], ...]:
    """The sum of each term along an axis, entry after entry; all terms have one shape.

    XLA computes what goes into one reduction in its loop, so that what the terms share, such as
    exponentials, is computed once and never written to memory.
    """
    zeros = tuple(jnp.zeros((), term.dtype) for term in terms)
    added = lambda a, b: tuple(x + y for x, y in zip(a, b, strict=True))
    return tuple(jax.lax.reduce(terms, zeros, added, (axis % terms[0].ndim,)))
