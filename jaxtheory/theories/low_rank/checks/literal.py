"""The layer as the source writes it, token by token and neuron by neuron.

These are slow independent derivations for the checks.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.theories.low_rank.model import Batch, Config, Params, Problem


def queries(config: Config, L: int) -> Float[Array, " L"]:
    """1 on the positions that are read out, 0 elsewhere."""
    S = jnp.asarray(config.num_queries, jnp.int32)
    return ((jnp.arange(L, dtype=jnp.int32) < S) | (S == 0)).astype(float)


def attention(
    params: Params, X: Float[Array, "L d"], config: Config
) -> tuple[Float[Array, "ma L"], Float[Array, "H L L"]]:
    """W_V X softmax(..) of the last layer for one sample, and its attention.

    The first has columns v_l, the attention axes [head, query, key].
    """
    Z = X.T
    for layer in range(config.num_layers):
        rows = []
        out = jnp.zeros((params.value.shape[2], Z.shape[1]))
        for h in range(config.num_heads):
            scores = Z.T @ params.key[layer, h].T @ params.query[layer, h] @ Z  # column l: query l
            weights = jnp.exp(scores) / jnp.sum(jnp.exp(scores), axis=0, keepdims=True)
            rows.append(weights.T)
            out = out + params.value[layer, h] @ Z @ weights
        Z = Z + out if layer + 1 < config.num_layers else out
    return Z, jnp.stack(rows)


def neurons(
    params: Params, X: Float[Array, "L d"], problem: Problem, config: Config
) -> Float[Array, "K m"]:
    """f_ki, the part of neuron i in F_k, for one sample."""
    v, _ = attention(params, X, config)
    read = queries(config, len(X))
    active = jnp.maximum(params.output @ v, 0) * read[None, :]
    A = jnp.broadcast_to(problem.signs, (*problem.signs.shape[:2], len(X))) / jnp.sqrt(
        jnp.asarray(len(params.output), float)
    )
    return jnp.sum(A * active[None], axis=2) / jnp.sum(read)


def outputs(params: Params, batch: Batch, problem: Problem, config: Config) -> Float[Array, "n K"]:
    """The outputs F of each sample."""
    return jax.vmap(lambda X: jnp.sum(neurons(params, X, problem, config), axis=1))(batch.tokens)


def hinge(F: Float[Array, "n K"], batch: Batch, config: Config) -> Float[Array, ""]:
    """The hinge loss, averaged over the samples.

    It is max(0, 1 - y F), or max(0, 1 + F_k - F_y) for the worst k (k = y gives 0).
    """
    if config.task == "binary":
        y = jnp.where(batch.label == 0, 1.0, -1.0)
        return jnp.mean(jnp.maximum(0, 1 - y * F[:, 0]))
    y = jax.nn.one_hot(batch.label, F.shape[1])
    own = jnp.sum(y * F, axis=1, keepdims=True)
    return jnp.mean(jnp.max(1 - y + F - own, axis=1))


def loss(params: Params, batch: Batch, problem: Problem, config: Config) -> Float[Array, ""]:
    """The mean hinge loss."""
    return hinge(outputs(params, batch, problem, config), batch, config)


def without(params: Params, mask: Array) -> Params:
    """W_O with the neurons that a mask keeps, the others set to zero."""
    return params._replace(output=jnp.where(mask[:, None], params.output, 0))


def places(keys: Array) -> Array:
    """The number of neurons before each one: those of smaller key, or of equal key and earlier."""
    i = jnp.arange(keys.shape[-1])
    earlier = (i[None, :] < i[:, None]).reshape((1,) * (keys.ndim - 1) + (i.size, i.size))
    before = (keys[..., None, :] < keys[..., :, None]) | (
        (keys[..., None, :] == keys[..., :, None]) & earlier
    )
    return jnp.sum(before, axis=-1)


def error(params: Params, problem: Problem, config: Config) -> Array:
    """The share of test samples for which another class has an output at least as large."""
    F, label = outputs(params, problem.test, problem, config), problem.test.label
    if config.task == "binary":
        return jnp.mean((F[:, 0] * jnp.where(label == 0, 1, -1).astype(float) <= 0).astype(float))
    own = jnp.sum(jax.nn.one_hot(label, F.shape[1]) * F, axis=1, keepdims=True)
    return jnp.mean((jnp.sum(own <= F, axis=1) > 1).astype(float))  # itself included


def attention_mass(weights: Array, batch: Batch, config: Config) -> tuple[Array, Array]:
    """Sums of attention query by query, as the mean over all queries and over relevant queries."""
    relevant = (batch.pattern < config.num_relevant_patterns.cap) & (
        batch.pattern % config.num_classes.cap == batch.label[:, None]
    )

    def one(weights: Array, relevant: Array) -> tuple[Array, Array]:
        """The sums of one sample: over all queries, over the relevant ones."""
        share = relevant.astype(float)
        per_query = jnp.mean(weights @ share, axis=0)
        return jnp.mean(per_query), per_query @ share / jnp.maximum(jnp.sum(share), 1)

    mass, relevant_mass = jax.vmap(one)(weights, relevant)
    return jnp.mean(mass), jnp.mean(relevant_mass)
