"""Checks of the attention, and of the losses without heads and value dimensions."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.low_rank import model
from jaxtheory.theories.low_rank.analyses import attention
from jaxtheory.theories.low_rank.checks import literal, material
from jaxtheory.theories.low_rank.model import Config


def mass_literal(key: Array, config: Config) -> Compared:
    """Attention over all queries and over the relevant ones, on the examples with several heads."""
    if config.num_heads == 1:
        return None
    params, _, made = material.setting(key, config)
    _, weights = jax.vmap(lambda X: literal.attention(params, X, config))(made.test.tokens)
    seen = model.forward(params, made.test.tokens, made, config)
    return attention.attention_mass(seen.attention[-1], made.test, config), literal.attention_mass(
        weights, made.test, config
    )


def heads_and_values_removed(key: Array, config: Config) -> Compared:
    """The loss token by token without some heads and value dimensions, on the examples with several
    heads.
    """
    if config.num_heads == 1:
        return None
    params, _, problem = material.setting(key, config)
    heads = literal.places(jnp.sum(params.value**2, axis=(0, 2, 3)))
    m_a, H = config.value_dim.cap, config.num_heads
    size = jnp.sum(params.output**2, axis=0) * jnp.sum(params.value[-1] ** 2, axis=(0, 2))
    columns = literal.places(size)
    gone = jnp.asarray(
        [(n, 0) for n in range(H + 1)] + [(0, (2 * j * m_a + 10) // 20) for j in range(11)]
    )

    def without(n: Array) -> Array:
        value = jnp.where(heads[None, :, None, None] < n[0], 0, params.value)
        output = jnp.where(columns[None, :] < n[1], 0, params.output)
        cut = params._replace(value=value, output=output)
        return literal.loss(cut, problem.test, problem, config)

    losses = jax.lax.map(without, gone)
    return (
        attention.head_loss(params, problem, config),
        attention.value_loss(params, problem, config),
    ), (losses[: H + 1], losses[H + 1 :])


CHECKS = (
    Check("attention_mass: query by query", f"{material.PAPER}, figure 1", "equal", mass_literal),
    Check(
        "head_loss: heads and value dimensions set to zero",
        "ours",
        "equal",
        heads_and_values_removed,
    ),
)
