"""Restriction of a symmetric matrix to a Krylov space, by Lanczos with full reorthogonalization."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.ops.linalg import unit


def restricted(
    product: Callable, like: Float[Array, " n"], size: int
) -> tuple[Float[Array, "size n"], Float[Array, "size size"]]:
    """Return orthonormal rows V of a Krylov space of a symmetric matrix H, and V H V^T.

    Args:
        product: v -> H v for vectors of length n.
        like: A vector of length n, of which only the length and the dtype are read.
        size: The number of rows, in [1, n]; n rows make V H V^T similar to H.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxtheory.ops.lanczos import restricted
        >>> H = jnp.diag(jnp.array([1.0, -1.0, 0.0]))
        >>> V, restriction = restricted(lambda v: H @ v, jnp.zeros(3), 3)
        >>> jnp.linalg.eigvalsh(restriction).round(3).tolist()
        [-1.0, 0.0, 1.0]
    """
    places = jnp.arange(like.size, dtype=like.dtype)
    direction = lambda k: jnp.cos(1.0 + (places + k) ** 2)  # fixed directions without a pattern

    def step(k: Array, at: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        V, products, w = at
        v = _orthogonalize(V, w)
        # a space that H maps into itself is extended by another direction
        v = jnp.where(jnp.any(v), v, _orthogonalize(V, direction(k)))
        V = V.at[k].set(v)
        w = product(v)
        return V, products.at[k].set(V @ w), w

    zeros = jnp.zeros((size, like.size), like.dtype)
    start = zeros, jnp.zeros((size, size), like.dtype), direction(0)
    V, products, _ = jax.lax.fori_loop(0, size, step, start)
    return V, products + jnp.tril(products, -1).T


def _orthogonalize(V: Float[Array, "size n"], w: Float[Array, " n"]) -> Float[Array, " n"]:
    """Unit vector along what w has orthogonally to the rows of V; 0 if that is rounding."""
    residual = w
    for _ in range(2):  # the second time removes what rounding leaves
        residual = residual - (V @ residual) @ V
    size, scale = jnp.linalg.norm(residual), jnp.linalg.norm(w)
    return jnp.where(size > 100 * jnp.finfo(w.dtype).eps * scale, unit(residual), 0)
