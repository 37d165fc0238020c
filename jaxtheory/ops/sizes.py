"""Sums, means and identity matrices over padded axes; entries beyond a size do not count."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from jaxtheory.core.config import Size
from jaxtheory.ops.draws import masked

__all__ = ["eye", "mean", "sums", "total"]

# terms that XLA's reduction along columns holds on a GPU: a tile of each, of 8320 bytes in float32
# and 8448 in float64, must fit into the 48 KiB of shared memory of a block of threads
_AT_ONCE = 5


def eye(size: Size) -> Float[Array, "n n"]:
    """Return the identity matrix on the n valid entries.

    Args:
        size: The size of both axes.

    Returns:
        An array (cap, cap) in the default float dtype, zero beyond n.

    Example:
        >>> import jaxtheory
        >>> jaxtheory.sizes.eye(jaxtheory.Size(3, 2)).tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    return jnp.diag(jnp.asarray(size.mask(), float))


def total(values: Num[Array, "..."], *axes: Size) -> Num[Array, "..."]:
    """Return the sum over the valid entries of the leading axes.

    Args:
        values: An array of shape (cap_1, ..., cap_m, ...).
        *axes: The m sizes of the leading axes.

    Returns:
        An array of the shape of the remaining axes.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> float(jaxtheory.sizes.total(jnp.array([1.0, 2.0, 9.0]), jaxtheory.Size(3, 2)))
        3.0
    """
    return jnp.sum(masked(values, *axes), axis=tuple(range(len(axes))))


def mean(values: Float[Array, "..."], *axes: Size) -> Float[Array, "..."]:
    """Return the mean over the valid entries of the leading axes.

    Args:
        values: An array of shape (cap_1, ..., cap_m, ...).
        *axes: The m sizes of the leading axes.

    Returns:
        An array of the shape of the remaining axes: the sum divided by n_1 ... n_m.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> float(jaxtheory.sizes.mean(jnp.array([1.0, 2.0, 9.0]), jaxtheory.Size(3, 2)))
        1.5
    """
    count = jnp.ones((), values.dtype)
    for axis in axes:
        count = count * jnp.asarray(axis.real, values.dtype)
    return total(values, *axes) / count


def sums(*terms: Float[Array, "*shape"], axis: int) -> tuple[Float[Array, "..."], ...]:
    """Return the sum of each term along an axis, all in one reduction.

    XLA computes the inputs of a reduction within its loop. What the terms share, such as
    exponentials, is therefore computed once and never written to memory. On an accelerator, where
    more of them exceed the shared memory of a kernel, five terms are reduced at a time.

    Args:
        *terms: Arrays of the same shape.
        axis: The axis to sum over.

    Returns:
        A tuple with the sum of each term, without that axis.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> x = jnp.array([1.0, 2.0])
        >>> [float(s) for s in jaxtheory.sizes.sums(x, x**2, axis=0)]
        [3.0, 5.0]
    """

    def reduced(*terms: Array) -> tuple[Array, ...]:
        zeros = tuple(jnp.zeros((), term.dtype) for term in terms)
        added = lambda a, b: tuple(x + y for x, y in zip(a, b, strict=True))
        return tuple(jax.lax.reduce(terms, zeros, added, (axis % terms[0].ndim,)))

    def in_groups(*terms: Array) -> tuple[Array, ...]:
        groups = (terms[i : i + _AT_ONCE] for i in range(0, len(terms), _AT_ONCE))
        return tuple(total for group in groups for total in reduced(*group))

    if len(terms) <= _AT_ONCE:
        return reduced(*terms)
    out: tuple[Array, ...] = jax.lax.platform_dependent(*terms, cpu=reduced, default=in_groups)
    return out


def __dir__() -> list[str]:
    return sorted(__all__)
