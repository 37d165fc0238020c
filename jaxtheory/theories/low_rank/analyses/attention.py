"""Attention on relevant tokens, and the loss without heads or value dimensions."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxtheory.ops.positions import indices
from jaxtheory.theories.low_rank import data, model
from jaxtheory.theories.low_rank.analyses import pruning
from jaxtheory.theories.low_rank.model import Batch, Config, Params, Problem

VALUE_RATES = tuple(j / 10 for j in range(11))


def attention_mass(
    attention: Float[Array, "n H L L"], batch: Batch, config: Config
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Attention on relevant tokens: the means over all queries and over the relevant queries.

    Both are means over heads and samples, too. They are zero where there are no such queries.
    """
    is_relevant = data.relevant(batch, config)
    per_query = jnp.mean(
        jnp.einsum("bhlj,bj->bhl", attention, is_relevant.astype(attention.dtype)), axis=1
    )
    L = model.length(config)
    mass = jnp.sum(jnp.where(L.mask()[None, :], per_query, 0), axis=1) / L.real
    count = jnp.sum(is_relevant, axis=1).astype(attention.dtype)
    relevant_mass = jnp.sum(jnp.where(is_relevant, per_query, 0), axis=1) / jnp.maximum(count, 1)
    return jnp.sum(batch.weight * mass), jnp.sum(batch.weight * relevant_mass)


def evaluate(params: Params, problem: Problem, config: Config) -> tuple[Array, Array, Array, Array]:
    """Loss, error, and attention on relevant tokens, on the test set.

    The error is the share of margins <= 0. The attention is that of all queries and that of the
    relevant ones.
    """
    model.fit(params, problem.test, problem, config)
    forward = model.forward(params, problem.test.tokens, problem, config)
    wrong = model.margin(forward.F, problem.test.label, config) <= 0
    error = jnp.sum(jnp.where(wrong, problem.test.weight, 0))
    return (
        model.hinge(forward.F, problem.test, config),
        error,
        *attention_mass(forward.attention[-1], problem.test, config),
    )


def ranking(size: Float[Array, " n"], shown: Bool[Array, " n"]) -> Int[Array, " n"]:
    """The rank of each entry from the smallest on, ties in order; entries not shown come last."""
    return jnp.argsort(pruning.order(size, shown)).astype(jnp.int32)


def head_loss(params: Params, problem: Problem, config: Config) -> Float[Array, " heads"]:
    """The test loss without the 0, 1, .., H heads of smallest |W_V^h|, removed in all layers."""
    rank = ranking(jnp.sum(params.value**2, axis=(0, 2, 3)), jnp.ones(config.num_heads, bool))

    def without(n: Array) -> Array:
        value = jnp.where((rank < n)[None, :, None, None], 0, params.value)
        return evaluate(params._replace(value=value), problem, config)[0]

    return jax.lax.map(without, indices(config.num_heads + 1))


def value_loss(params: Params, problem: Problem, config: Config) -> Float[Array, " rate"]:
    """The test loss without a share of the value dimensions (columns of W_O).

    The rates are 0, 0.1, .., 1. Dimensions of smallest |column| times |row of W_V| go first.
    """
    m_a = config.value_dim
    size = jnp.sum(params.output**2, axis=0) * jnp.sum(params.value[-1] ** 2, axis=(0, 2))
    rank = ranking(size, m_a.mask())
    v = model.forward(params, problem.test.tokens, problem, config).values

    def without(n: Array) -> Array:
        hidden = jnp.where((rank < n)[None, None, :], 0, v) @ params.output.T
        return model.hinge(model.read_out(hidden, problem, config), problem.test, config)

    return jax.lax.map(without, (2 * indices(11) * m_a.n + 10) // 20)
