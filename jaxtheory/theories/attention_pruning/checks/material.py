"""What the checks share: random problems with their masks that compile fast, and small helpers."""

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
    """A random problem of rank r, its batch and random masks, entries N(1/2, 1), all cut from one
    draw, which compiles fast.
    """
    d, L, S = config.dimension.cap, config.length.cap, config.num_sequences.cap
    shapes = (S, L, d), (data.HELDOUT, L, d), (2, d, d), (2, d, d), (3, d, d), (3, d, d)
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    draws = jnp.split(jax.random.normal(key, (int(ends[-1]),)), ends[:-1])
    X, heldout, left, right, uniform, masks = (
        x.reshape(shape) for x, shape in zip(draws, shapes, strict=True)
    )
    shown = (jnp.arange(d) < jnp.asarray(config.rank, int)).astype(left.dtype)
    W_Q, W_K = (
        jnp.sqrt(config.logit_scale / data.LITERAL_SCALE / d)
        * (left * shown[None, None, :])
        @ right
    )
    problem = Problem(
        X, heldout, W_Q, W_K, W_Q @ W_K.T, data.attention_mask(config), jax.nn.sigmoid(uniform)
    )
    return problem, Batch(X), FusedMask(0.5 + masks[0]), FactorMasks(0.5 + masks[1], 0.5 + masks[2])


def where_short(check: Callable[[Array, Config], Compared]) -> Callable[[Array, Config], Compared]:
    """The check where S L <= d; elsewhere the Polyak-Lojasiewicz chain says nothing."""
    short = lambda config: config.num_sequences.cap * config.length.cap <= config.dimension.cap
    return lambda key, config: check(key, config) if short(config) else None


def smooth(batch: Batch, problem: Problem, config: Config) -> Config:
    """Plain gradient descent with eta = 1/L_g."""
    eta = 1 / laws.lipschitz(batch, problem, config).gradient
    return config.replace(step_scale=eta * config.regularization, momentum=0.0, clip=False)
