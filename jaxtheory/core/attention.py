"""Masked softmax attention and its closed-form derivatives, row by row along the last axis."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def softmax(logits: Float[Array, "*rows n"], mask: Bool[Array, "..."] | None = None) -> Float[Array, "*rows n"]:
    """s_j = exp(z_j - max z) / sum_i exp(z_i - max z) over the unmasked entries of each row; masked entries are exactly 0.

    A row without unmasked entries is all zeros, and its derivative is zero.
    """
    if mask is None:
        mask = jnp.ones((), bool)
    shown = jnp.where(mask, logits, -jnp.inf)
    top = jnp.max(shown, axis=-1, keepdims=True)
    top = jnp.where(jnp.isfinite(top), top, 0)
    # double where: the exponent of a masked entry is replaced before exp, so that neither value nor gradient sees an overflow
    weights = jnp.where(mask, jnp.exp(jnp.where(mask, logits - top, 0)), 0)
    total = jnp.sum(weights, axis=-1, keepdims=True)
    return weights / jnp.where(total > 0, total, 1)


def softmax_vjp(s: Float[Array, "*rows n"], g: Float[Array, "*rows n"]) -> Float[Array, "*rows n"]:
    """(diag s - s s^T) g per row: the gradient in the logits of a function with gradient g in s = softmax(z).

    The matrix is symmetric, so this is the Jacobian-vector product too.
    """
    return s * (g - jnp.sum(s * g, axis=-1, keepdims=True))
