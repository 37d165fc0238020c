"""Checks of the attention, and of the losses without heads and value dimensions."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.low_rank import model
from jaxtheory.theories.low_rank.analyses import attention
from jaxtheory.theories.low_rank.checks import literal, material
from jaxtheory.theories.low_rank.model import Config


@check("attention_mass: query by query", f"{material.PAPER}, figure 1", "equal")
def mass_literal(key: Array, config: Config) -> Compared:
    """Attention over all queries and over the relevant ones, on the examples with several heads."""
    if config.num_heads == 1:
        return None
    params, _, problem = material.setting(key, config)
    _, weights = jax.vmap(lambda X: literal.attention(params, X, config))(problem.test.tokens)
    forward = model.forward(params, problem.test.tokens, problem, config)
    return attention.attention_mass(
        forward.attention[-1], problem.test, config
    ), literal.attention_mass(weights, problem.test, config)


@check("head_loss: heads and value dimensions set to zero", "ours", "equal")
def heads_and_values_removed(key: Array, config: Config) -> Compared:
    """The loss token by token without some heads and value dimensions.

    Checked on the examples with several heads.
    """
    if config.num_heads == 1:
        return None
    params, _, problem = material.setting(key, config)
    heads = literal.places(jnp.sum(params.value**2, axis=(0, 2, 3)))
    m_a, H = config.value_dim.cap, config.num_heads
    size = jnp.sum(params.output**2, axis=0) * jnp.sum(params.value[-1] ** 2, axis=(0, 2))
    columns = literal.places(size)
    removals = jnp.asarray(
        [(n, 0) for n in range(H + 1)] + [(0, (2 * j * m_a + 10) // 20) for j in range(11)]
    )

    def without(n: Array) -> Array:
        value = jnp.where(heads[None, :, None, None] < n[0], 0, params.value)
        output = jnp.where(columns[None, :] < n[1], 0, params.output)
        cut = params._replace(value=value, output=output)
        return literal.loss(cut, problem.test, problem, config)

    losses = jax.lax.map(without, removals)
    return (
        attention.head_loss(params, problem, config),
        attention.value_loss(params, problem, config),
    ), (losses[: H + 1], losses[H + 1 :])
