"""Checks of the attention and of heads and value dimensions removed."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.low_rank import model
from jaxtheory.theories.low_rank.analyses import attention
from jaxtheory.theories.low_rank.checks import literal, material
from jaxtheory.theories.low_rank.model import Config


def mass_literal(key: Array, config: Config) -> Compared:
    """Over all queries and over the relevant ones."""
    params, _, made = material.setting(key, config)
    _, weights = jax.vmap(lambda X: literal.attention(params, X, config))(made.test.tokens)
    seen = model.forward(params, made.test.tokens, made, config)
    return attention.attention_mass(seen.attention[-1], made.test, config), literal.attention_mass(
        weights, made.test, config
    )


def heads_and_values_removed(key: Array, config: Config) -> Compared:
    """The loss token by token without them."""
    params, _, made = material.setting(key, config)
    of = lambda p: literal.loss(p, made.test, made, config)
    heads = jnp.argsort(jnp.sum(params.value**2, axis=(0, 2, 3)))
    cuts = (params.value.at[:, heads[:n]].set(0) for n in range(1, config.num_heads + 1))
    losses = [of(params), *(of(params._replace(value=value)) for value in cuts)]
    m_a = config.value_dim.cap
    size = jnp.sum(params.output**2, axis=0) * jnp.sum(params.value[-1] ** 2, axis=(0, 2))
    columns = jnp.argsort(size)
    cut = [
        of(params._replace(output=params.output.at[:, columns[: (2 * j * m_a + 10) // 20]].set(0)))
        for j in range(11)
    ]
    return (
        attention.head_loss(params, made, config),
        attention.value_loss(params, made, config),
    ), (jnp.stack(losses), jnp.stack(cut))


CHECKS = (
    Check("attention_mass: query by query", f"{material.PAPER}, figure 1", "equal", mass_literal),
    Check(
        "head_loss: heads and value dimensions set to zero",
        "ours",
        "equal",
        heads_and_values_removed,
    ),
)
