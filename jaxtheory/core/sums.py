"""Several sums over one axis in one pass."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def sums(*terms: Float[Array, "*shape"], axis: int) -> tuple[Float[Array, "..."], ...]:
    """The sum of each term along an axis, entry after entry; all terms have one shape.

    XLA computes what goes into one reduction in its loop, so that what the terms share, such as
    exponentials, is computed once and never written to memory.
    """
    zeros = tuple(jnp.zeros((), term.dtype) for term in terms)
    added = lambda a, b: tuple(x + y for x, y in zip(a, b, strict=True))
    return tuple(jax.lax.reduce(terms, zeros, added, (axis % terms[0].ndim,)))
