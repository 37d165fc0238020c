"""Levels of the loss for predictors that count, and the first gradient of long prompts.

Source: derived, for the model of arXiv 2402.14735; uniform, unigram and bigram levels as named in
the abstract of 2402.11004.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxtheory.core.config import Size
from jaxtheory.ops.positions import indices
from jaxtheory.theories.causal_graph import model
from jaxtheory.theories.causal_graph.model import Batch, Config, Data, Problem


class Levels(NamedTuple):
    """Losses of predictors on a batch, in the units of L: with f_k + eps in the logarithm."""

    uniform: Float[Array, ""]  # f_k = 1/S
    unigram: Float[Array, ""]  # the share of state k among all tokens: the model at A2 = 0
    bigram: Float[Array, ""]  # the share of k among the children of s_T; unigram if it has none
    bayes: Float[Array, ""]  # the posterior mean of pi(k|s_T)
    entropy: Float[Array, ""]  # pi(k|s_T) itself


def after_query(batch: Batch, p: Int[Array, " T"]) -> Bool[Array, "P T"]:
    """True for the tokens whose parent has the state s_T."""
    parent = jnp.take(batch.s, jnp.maximum(p - 1, 0), axis=1)
    return (p > 0)[None, :] & (parent == batch.query[:, None])


def counts(batch: Batch, p: Int[Array, " T"], config: Data) -> Float[Array, "P S"]:
    """The number of tokens of state k whose parent has the state s_T."""
    after = after_query(batch, p).astype(batch.target.dtype)
    return model.by_state(after.T, batch.s.T, Size.wrap(config.num_states)).T


def posterior(batch: Batch, p: Int[Array, " T"], config: Data) -> Float[Array, "P S"]:
    """The posterior mean (n_k + alpha) / (sum n + S alpha) of pi(k|s_T), n of `counts`.

    It is the Bayes predictor for first = uniform; a stationary first token tells more.
    """
    n, alpha = counts(batch, p, config), jnp.asarray(config.concentration, float)
    states = jnp.asarray(Size.wrap(config.num_states).real, float)
    return (n + alpha) / (jnp.sum(n, axis=1, keepdims=True) + states * alpha)


def levels(batch: Batch, p: Int[Array, " T"], config: Config) -> Levels:
    """The losses on a batch of predictors that know s, and of pi itself.

    An output f with sum 1 has, in expectation, at least the level `bayes`: (f + eps) / (1 + S eps)
    is a law, and `posterior` the best one for first = uniform.
    """
    S, T = Size.wrap(config.num_states), Size.wrap(config.length)
    n = counts(batch, p, config)
    states = jnp.asarray(S.real, float)
    total = jnp.sum(n, axis=1, keepdims=True)
    among = jnp.broadcast_to(T.weights()[:, None], batch.s.T.shape)
    unigram = model.by_state(among, batch.s.T, S).T
    bigram = jnp.where(total > 0, n / jnp.maximum(total, 1), unigram)
    bayes = posterior(batch, p, config)
    scale = 1 + states * jnp.asarray(config.epsilon, float)

    def by_law(q: Float[Array, "P S"]) -> Float[Array, ""]:
        logs = jnp.log(jnp.where(q > 0, q, 1))
        return -jnp.sum(batch.weight * jnp.sum(batch.target * logs, axis=1)) - jnp.log(scale)

    by_output = lambda f: model.cross_entropy(f, batch, config)
    uniform = jnp.broadcast_to(S.weights()[None, :], n.shape)
    return Levels(
        by_output(uniform),
        by_output(unigram),
        by_output(bigram),
        by_law(bayes),
        by_law(batch.target),
    )


def first_slope(problem: Problem, config: Config) -> Float[Array, "T T"]:
    """-dL/dA1 at A1 = 0 for long prompts, a small beta0 and a uniform query:

    (beta0 / (T S i)) (G_ij - (1/i) sum_{j <= i} G_ij)

    with the overlap G of `data.information`, which equals the chi-squared information at the
    parent. Derived: of the source only the abstract was read, which has no formula. The relative
    error is of order 1 / T.
    """
    S, T = (jnp.asarray(Size.wrap(n).real, float) for n in (config.num_states, config.length))
    size = Size.wrap(config.length)
    row = 1 + indices(size.cap).astype(float)
    return config.initial_strength / (T * S) * centered(problem.overlap, size) / row[:, None]


def centered(x: Float[Array, "T T"], length: Size) -> Float[Array, "T T"]:
    """x_ij - (1/i) sum_{j <= i} x_ij for j <= i, and 0 elsewhere."""
    row = 1 + indices(length.cap).astype(float)
    mean = jnp.sum(x, axis=1) / row
    return jnp.where(model.causal(length), x - mean[:, None], 0)
