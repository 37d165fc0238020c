"""Positions and their sine encodings."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxtheory.core.config import Size


def indices(n: int) -> Int[Array, " n"]:
    """Return 0, ..., n - 1 as int32."""
    return jnp.arange(n, dtype=jnp.int32)


def sines(length: Size, dim: Size) -> Float[Array, "N M"]:
    """Return the sine encodings p_ik = sin(i k pi / (M + 1)) for i = 1..N and k = 1..M.

    For N <= M they are orthogonal: p_i^T p_j = rho 1[i = j] with rho = (M + 1) / 2. i k is taken
    modulo 2 (M + 1), so that large arguments lose no digits.

    Args:
        length: N, the number of positions.
        dim: M, the dimension of an encoding.

    Returns:
        An array (cap of N, cap of M), zero beyond N and M.
    """
    i, k = 1 + indices(length.cap), 1 + indices(dim.cap)
    turns = (i[:, None] * k[None, :]) % (2 * (dim.n + 1))
    waves = jnp.sin(turns.astype(float) * (jnp.pi / (dim.real + 1)))
    return jnp.where(length.mask()[:, None] & dim.mask()[None, :], waves, 0)
