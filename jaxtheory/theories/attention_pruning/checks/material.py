"""Random problems with masks that compile fast, and small helpers that checks share."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.theory import Compared
from jaxtheory.theories.attention_pruning import data, laws
from jaxtheory.theories.attention_pruning.model import (
    Batch,
    Config,
    FactorMasks,
    FusedMask,
    Problem,
)


def setting(key: Array, config: Config) -> tuple[Problem, Batch, FusedMask, FactorMasks]:
    """A random problem of rank r, its batch, and random masks with entries N(1/2, 1).

    All are cut from one draw, which compiles fast.
    """
    d, L, S = config.dimension.cap, config.length.cap, config.num_sequences.cap
    shapes = (S, L, d), (data.HELDOUT, L, d), (2, d, d), (2, d, d), (3, d, d), (3, d, d)
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    draws = jnp.split(jax.random.normal(key, (int(ends[-1]),)), ends[:-1])
    X, heldout, left_factors, right_factors, uniform, masks = (
        x.reshape(shape) for x, shape in zip(draws, shapes, strict=True)
    )
    in_rank = (jnp.arange(d) < jnp.asarray(config.rank, int)).astype(left_factors.dtype)
    W_Q, W_K = (
        jnp.sqrt(config.logit_scale / data.LITERAL_SCALE / d)
        * (left_factors * in_rank[None, None, :])
        @ right_factors
    )
    problem = Problem(
        X, heldout, W_Q, W_K, W_Q @ W_K.T, data.attention_mask(config), jax.nn.sigmoid(uniform)
    )
    return problem, Batch(X), FusedMask(0.5 + masks[0]), FactorMasks(0.5 + masks[1], 0.5 + masks[2])


Function = Callable[[Array, Config], Compared]


def where(applies: Callable[[Config], bool]) -> Callable[[Function], Function]:
    """Restrict a check to the examples on which it is informative."""

    def limit(check: Function) -> Function:
        return lambda key, config: check(key, config) if applies(config) else None

    return limit


once = where(lambda config: config.num_sequences.cap == 3)  # the first example
where_rows = where(lambda config: config.length.cap > 1)  # else attention is constant
where_long = where(lambda config: config.length.cap > 3)  # several causal sequences, and blocks
# 1 < S L <= d; elsewhere the Polyak-Lojasiewicz chain is vacuous
where_short = where(
    lambda config: 1 < config.num_sequences.cap * config.length.cap <= config.dimension.cap
)


def excess(measured: Array, bound: Array) -> Array:
    """The share by which numbers exceed their bound, 0 where they do not."""
    return jnp.maximum(measured - bound, 0) / jnp.abs(bound)


def built(
    inputs: Array, weights: Array, config: Config
) -> tuple[Problem, Batch, FusedMask, FusedMask, Config]:
    """A problem of given inputs (S, L, d) and weights under full attention, with its batch.

    The masks of zeros and of ones, and its config, come with it.
    """
    S, L, d = inputs.shape
    config = config.replace(dimension=d, length=L, num_sequences=S, attention="full")
    problem = Problem(
        inputs,
        jnp.zeros((data.HELDOUT, L, d)),
        weights,
        jnp.eye(d),
        weights,
        data.attention_mask(config),
        jnp.zeros((3, d, d)),
    )
    zero = FusedMask(jnp.zeros_like(weights))
    return problem, Batch(inputs), zero, FusedMask(jnp.ones_like(weights)), config


def opposite(config: Config) -> tuple[Problem, Batch, FusedMask, FusedMask, Config]:
    """Tokens e_1 and -e_1, twice, and the single weight W_11 = sqrt 2.

    At M = 0 each matrix norm is the product of its factors' norms.
    """
    X = jnp.broadcast_to(jnp.asarray([[1.0, 0.0], [-1.0, 0.0]]), (2, 2, 2))
    return built(X, jnp.zeros((2, 2)).at[0, 0].set(2**0.5), config)


def orthogonal(config: Config) -> tuple[Problem, Batch, FusedMask, FusedMask, Config]:
    """Two sequences of two tokens, all orthogonal and of square 3, and |W_ij| = 0.7.

    At M = 0 every link of the Polyak-Lojasiewicz chain is an equality.
    """
    sign = jnp.asarray([1.0, -1.0, -1.0, 1.0])
    return built(3**0.5 * jnp.eye(4).reshape(2, 2, 4), 0.7 * jnp.outer(sign, sign), config)


def smooth(batch: Batch, problem: Problem, config: Config) -> Config:
    """Plain gradient descent with eta = 1/L_g."""
    eta = 1 / laws.lipschitz(batch, problem, config).gradient
    return config.replace(step_scale=eta * config.regularization, momentum=0.0, clip=False)
