"""Softmax rows and counts of zeros, written out in the simplest form."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.theories.attention_pruning.model import Config


def rows(key: Array) -> tuple[Array, Array, Array]:
    """Logits, target attention and a direction, each (4, 6), with the first token hidden."""
    z, z_star, s = 2.0 * jax.random.normal(key, (3, 4, 6))
    return z, shown_softmax(z_star), s


def shown_softmax(z: Float[Array, "*rows n"]) -> Float[Array, "*rows n"]:
    """Softmax without the first token."""
    return jax.nn.softmax(z.at[..., 0].set(-jnp.inf), axis=-1)


def row_loss(z: Array, f_star: Array) -> Array:
    """(1/2) ||softmax(z) - f*||^2."""
    return jnp.sum((shown_softmax(z) - f_star) ** 2) / 2


def kept_by_comparison(scores: Array, config: Config) -> Array:
    """1 where at least floor(rho n) of the n entries of the first axis are smaller.

    Equal and earlier entries count as smaller. All pairs are compared.
    """
    before = jnp.tril(jnp.ones((len(scores), len(scores)), bool), -1)
    before = before.reshape(before.shape + (1,) * (scores.ndim - 1))
    smaller = (scores[None, :] < scores[:, None]) | ((scores[None, :] == scores[:, None]) & before)
    return (jnp.sum(smaller, axis=1) >= zeros_of(config, len(scores))).astype(float)


def zeros_of(config: Config, n: int) -> Array:
    """floor(rho n), counted one by one."""
    return jnp.sum(jnp.arange(1.0, n + 1.0) <= config.pruning_ratio * n + 1e-9)
