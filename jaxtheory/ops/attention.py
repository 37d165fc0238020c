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
    if mask is not None:
        logits = jnp.where(mask, logits, -jnp.inf)
    # at least the least number, so that -inf - top = -inf where all are masked; cheaper than asking
    # whether top is finite, which keeps XLA from vectorizing exp
    top = jnp.maximum(jnp.max(logits, axis=axis, keepdims=True), jnp.finfo(logits.dtype).min)
    weights = jnp.exp(logits - jax.lax.stop_gradient(top))
    total = jnp.sum(weights, axis=axis, keepdims=True)
    return weights / jnp.where(total > 0, total, 1)


def softmax_vjp(
    s: Float[Array, "*shape"], g: Float[Array, "*shape"], axis: int = -1
) -> Float[Array, "*shape"]:
    """(diag s - s s^T) g along an axis: the gradient in the logits of a function with gradient g in
    s = softmax(z).

    The matrix is symmetric, so this is the Jacobian-vector product too.
    """
    return s * (g - jnp.sum(s * g, axis=axis, keepdims=True))
