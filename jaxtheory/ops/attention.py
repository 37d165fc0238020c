"""Masked softmax attention and its closed-form derivatives."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

__all__ = ["softmax", "softmax_vjp"]


def softmax(
    logits: Float[Array, "*shape"], mask: Bool[Array, "..."] | None = None, axis: int = -1
) -> Float[Array, "*shape"]:
    """Return the softmax over the unmasked entries along an axis; masked entries are exactly 0.

    s_j = exp(z_j - max z) / sum_i exp(z_i - max z). If no entry is unmasked, s and its derivative
    are zero. The maximum cancels and is therefore hidden from autodiff: if XLA computes the logits
    twice with different rounding, the derivative of the maximum is 0/0.

    Args:
        logits: z, of any shape.
        mask: True for the entries that count, of a shape that broadcasts to that of `logits`; None
            for all entries.
        axis: The axis along which the weights sum to 1.

    Returns:
        s, of the shape of `logits`, with entries in [0, 1].

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> mask = jnp.array([True, True, False])
        >>> jaxtheory.attention.softmax(jnp.array([1.0, 1.0, 5.0]), mask).tolist()
        [0.5, 0.5, 0.0]
    """
    if mask is not None:
        logits = jnp.where(mask, logits, -jnp.inf)
    # top is at least the least finite number, so that -inf - top = -inf where all are masked. A
    # test for a finite top would cost more: it keeps XLA from vectorizing exp.
    top = jnp.maximum(jnp.max(logits, axis=axis, keepdims=True), jnp.finfo(logits.dtype).min)
    # the axis of length 1 keeps XLA from computing exp in place, which on a CPU takes one number at
    # a time
    shifted = jnp.expand_dims(logits, -2) - jnp.expand_dims(jax.lax.stop_gradient(top), -2)
    weights = jnp.exp(shifted).squeeze(-2)
    total = _total(weights, axis)
    return weights / jnp.where(total > 0, total, 1)


def softmax_vjp(
    s: Float[Array, "*shape"], g: Float[Array, "*shape"], axis: int = -1
) -> Float[Array, "*shape"]:
    """Return (diag s - s s^T) g along an axis, the vector-Jacobian product of s = softmax(z).

    If a function of s has gradient g, this is its gradient with respect to the logits z. The matrix
    is symmetric, so this is also the Jacobian-vector product.

    Args:
        s: The softmax weights, of any shape.
        g: The gradient with respect to s, of the same shape.
        axis: The axis along which the weights sum to 1.

    Returns:
        The gradient with respect to z, of the same shape; it sums to 0 along the axis.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> jaxtheory.attention.softmax_vjp(jnp.array([0.5, 0.5]), jnp.array([1.0, 0.0])).tolist()
        [0.25, -0.25]
    """
    return s * (g - _total(s * g, axis))


def _total(x: Float[Array, "*shape"], axis: int) -> Float[Array, "..."]:
    """The sum along an axis, which stays; along the last as a product with ones.

    XLA adds the entries of a row in turn on a CPU, each addition waiting for the one before. A
    product adds several at once: softmax and its derivative took 1 to 1/3.7 of the CPU time for
    rows of 2 to 4096 float32 numbers, and 0.4 to 1.2 of it in float64 (longer from 64 on).
    """
    if axis != -1:
        return jnp.sum(x, axis=axis, keepdims=True)
    return jnp.matmul(x, jnp.ones((x.shape[-1], 1), x.dtype), precision="highest")


def __dir__() -> list[str]:
    return sorted(__all__)
