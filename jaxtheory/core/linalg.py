"""Linear algebra shared by the theories."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def truncate(matrix: Float[Array, "m n"], rank: Int[Array, ""] | int) -> Float[Array, "m n"]:
    """The best approximation of given rank, U diag(s_1..s_rank, 0, ...) V^T; rank may be traced.

    Not unique where s_rank = s_(rank+1); compare products, never singular vectors.
    """
    u, s, vt = jnp.linalg.svd(matrix, full_matrices=False)
    return (u * jnp.where(jnp.arange(s.size) < jnp.asarray(rank, int), s, 0)[None, :]) @ vt


def quotient(a: Float[Array, "*shape"], b: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """a / b where b > 0, else 0; value and gradient stay finite."""
    return jnp.where(b > 0, a / jnp.where(b > 0, b, 1), 0)


def direction_error(a: Float[Array, "*shape"], b: Float[Array, "*shape"]) -> Float[Array, ""]:
    """|| a/||a|| - b/||b|| || in the Frobenius norm, in [0, 2]; a zero array has direction zero, which gives 1 against a nonzero one."""
    return jnp.linalg.norm(jnp.ravel(unit(a) - unit(b)))


def unit(a: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """a / ||a||_F, and zero for a = 0."""
    norm = jnp.linalg.norm(jnp.ravel(a))
    return a / jnp.where(norm > 0, norm, 1)
