"""Checks of the layer and of its start."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.low_rank import model
from jaxtheory.theories.low_rank.checks import literal, material
from jaxtheory.theories.low_rank.model import Config


@check("initial: diagonal start", f"{material.PAPER}, II", "equal")
def start_diagonal(key: Array, config: Config) -> Compared:
    """The start W(0), for one head and for several.

    One head: delta I. Several heads: the rows of W_Q^h are delta times orthonormal ones, and
    sum_h W_V^h = rv delta I. W_O = xi times the normals.
    """
    _, _, problem = material.setting(key, config)
    W, delta = model.initial(problem, config), config.init_diagonal
    n, d, m_b, m_a = (
        config.num_layers,
        config.dimension.cap,
        config.query_dim.cap,
        config.value_dim.cap,
    )
    rows = W.query.reshape(n, m_b, d)
    value = jnp.broadcast_to(config.value_ratio * delta * jnp.eye(m_a, d)[None], (n, m_a, d))
    gram = jnp.broadcast_to(
        (delta**2 * jnp.diag((jnp.arange(m_b) < d).astype(float)))[None], (n, m_b, m_b)
    )
    query = (
        jnp.broadcast_to((delta * jnp.eye(m_b, d))[None], (n, m_b, d))
        if config.num_heads == 1
        else rows
    )
    return (rows @ rows.mT, jnp.sum(W.value, axis=1), rows, W.key, W.output), (
        gram,
        value,
        query,
        W.query,
        config.output_scale * problem.normal,
    )


@check("forward: token by token", f"{material.PAPER}, equation (1)", "equal")
def forward_literal(key: Array, config: Config) -> Compared:
    """F, values, attention and neurons of the last layer; input, queries and keys of the first."""
    params, batch, problem = material.setting(key, config)
    forward = model.forward(params, batch.tokens, problem, config)
    v, attention = jax.vmap(lambda X: literal.attention(params, X, config))(batch.tokens)
    last = (forward.F, forward.values, forward.attention[-1], forward.hidden)
    first = (forward.inputs[0], forward.queries[0], forward.keys[0])
    heads = lambda W: jax.vmap(lambda X: jax.vmap(lambda one: X @ one.T)(W[0]))(batch.tokens)
    return (*last, *first), (
        literal.outputs(params, batch, problem, config),
        v.mT,
        attention,
        jax.vmap(lambda values: values.T @ params.output.T)(v),
        batch.tokens,
        heads(params.query),
        heads(params.key),
    )


@check("loss: token by token", f"{material.PAPER}, equation (3)", "equal")
def loss_literal(key: Array, config: Config) -> Compared:
    """The mean hinge loss of a batch, with one a per position."""
    if config.output == "shared":
        return None
    params, batch, problem = material.setting(key, config)
    return model.loss(params, batch, problem, config), literal.loss(params, batch, problem, config)
