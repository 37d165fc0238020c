"""The two layers as the source writes them, on one-hot tokens, and sums over all prompts."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxtheory.theories.causal_graph.model import Params


def output(params: Params, s: Int[Array, " T"], S: int, T: int) -> Float[Array, " S"]:
    """f of one prompt."""
    X = jax.nn.one_hot(s, S)
    below = jnp.tril(jnp.ones((T, T), bool))
    W = jax.nn.softmax(jnp.where(below, params.A1, -jnp.inf), axis=1)
    z = (W @ X) @ params.A2 @ X[T - 1]
    return X.T @ jax.nn.softmax(z)


def joint(
    pi: Float[Array, "S S"], mu: Float[Array, " S"], parents: list[int], last_uniform: bool
) -> tuple[list[tuple[int, ...]], Float[Array, " n"]]:
    """All prompts with their probabilities; parents are counted from 1, and 0 is none."""
    S, T = len(mu), len(parents)
    prompts = list(itertools.product(range(S), repeat=T))
    s = np.array(prompts)
    weight = jnp.ones(len(prompts))
    for i, p in enumerate(parents):
        if last_uniform and i == T - 1:
            weight = weight / S
        else:
            weight = weight * (pi[s[:, p - 1], s[:, i]] if p else mu[s[:, i]])
    return prompts, weight
