"""Masked softmax attention and its closed-form derivatives."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def softmax(
    logits: Float[Array, "*shape"], mask: Bool[Array, "..."] | None = None, axis: int = -1
) -> Float[Array, "*shape"]:
    """s_j = exp(z_j - max z) / sum_i exp(z_i - max z) over the unmasked entries along an axis;
    masked entries are exactly 0.

    Without unmasked entries s is zero, and so is its derivative. The maximum cancels, so autodiff
    does not see it: where XLA computes logits twice and rounds them differently, the derivative of
    a maximum is 0/0.
    """
    if mask is None:
        mask = jnp.ones((), bool)
    top = jax.lax.stop_gradient(
        jnp.max(jnp.where(mask, logits, -jnp.inf), axis=axis, keepdims=True)
    )
    top = jnp.where(jnp.isfinite(top), top, 0)
    # double where: the exponent of a masked entry is replaced before exp, so that neither value nor
    # gradient sees an overflow
    weights = jnp.where(mask, jnp.exp(jnp.where(mask, logits - top, 0)), 0)
    total = jnp.sum(weights, axis=axis, keepdims=True)
    return weights / jnp.where(total > 0, total, 1)


def softmax_vjp(s: Float[Array, "*rows n"], g: Float[Array, "*rows n"]) -> Float[Array, "*rows n"]:
    """(diag s - s s^T) g per row: the gradient in the logits of a function with gradient g in s =
    softmax(z).

    The matrix is symmetric, so this is the Jacobian-vector product too.
    """
    return s * (g - jnp.sum(s * g, axis=-1, keepdims=True))
