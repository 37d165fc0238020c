"""The layer token by token as the source writes it, and all paths of the walk.

Sizes are unpadded.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtheory.theories.random_walk.checks import material
from jaxtheory.theories.random_walk.model import Batch, Config, Literal

ENUMERABLE = 8  # paths of at most this many states are enumerated


def logits(W: Float[Array, "D D"], batch: Batch, config: Config) -> Float[Array, "B N"]:
    """The logits xt_j^T W xt_N from explicit one-hot tokens and sines.

    Tokens are normalized one by one where they are unit. Sizes must be unpadded.
    """
    K, N, M = config.num_states.cap, config.length.cap, config.encoding_dim.cap
    onehot = jax.nn.one_hot(batch.s, K).at[:, N - 1].set(0)
    sines = jnp.sin(
        jnp.arange(1.0, N + 1)[:, None] * jnp.arange(1.0, M + 1)[None, :] * jnp.pi / (M + 1)
    )
    X = jnp.concatenate([onehot, jnp.broadcast_to(sines[None], (batch.s.shape[0], N, M))], axis=2)
    if config.tokens == "unit":
        X = X / jnp.linalg.norm(X, axis=2, keepdims=True)
    return jnp.einsum("bjc,cd,bd->bj", X, W, X[:, N - 1])


def loss(params: Literal, batch: Batch, config: Config) -> Float[Array, ""]:
    """The loss as the source writes it, token by token."""
    S = jax.nn.softmax(logits(params.W, batch, config), axis=1)
    onehot = jax.nn.one_hot(batch.s, config.num_states.cap).at[:, config.length.cap - 1].set(0)
    hidden = jnp.einsum("bjk,bj,ik->bi", onehot, S, params.V)
    f = hidden if params.A is None else jnp.maximum(hidden, 0) @ params.A.T
    f_y = jnp.take_along_axis(f, batch.y[:, None], axis=1)[:, 0]
    if config.loss_function == "log":
        return -jnp.mean(jnp.log(f_y + config.epsilon))
    return (
        jnp.mean((f_y - 1) ** 2) / 2
        if config.loss_function == "square"
        else jnp.mean(jnp.maximum(1 - f_y, 0))
    )


def enumerable(config: Config) -> bool:
    """True where the paths are few enough to list.

    The hinge loss is left out, since two losses suffice.
    """
    small = config.length.cap <= ENUMERABLE and not material.padded(config)
    return small and material.circle(config) and config.loss_function != "hinge"


def paths(config: Config) -> Batch:
    """Every path of the walk with its probability: the exact population, where N is small.

    Sizes are unpadded.
    """
    K, N, p = config.num_states.cap, config.length.cap, config.clockwise_probability
    steps = np.array(list(itertools.product((1, -1), repeat=N - 1)))
    s = np.concatenate([np.zeros((len(steps), 1), int), np.cumsum(steps, axis=1)], axis=1)
    s = ((s[None] + np.arange(K)[:, None, None]) % K).reshape(-1, N)
    law = jnp.prod(jnp.where(jnp.asarray(steps) == 1, p, 1 - jnp.asarray(p)), axis=1) / K
    y, s[:, -1] = s[:, -1].copy(), 0
    return Batch(jnp.asarray(s, jnp.int32), jnp.asarray(y, jnp.int32), jnp.tile(law, K))
