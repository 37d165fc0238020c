"""The pruners that the fitted mask is compared with.

They are Wanda, SparseGPT, magnitude (on W and on its factors) and a random mask. Wanda and
SparseGPT prune W_Q and W_K separately, each at rate rho, as linear layers y = X W; the inputs i of
a layer are the rows of W.
"""

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from jaxtheory.theories.attention_pruning import model
from jaxtheory.theories.attention_pruning.analyses import linear, pruning
from jaxtheory.theories.attention_pruning.analyses.linear import Rule
from jaxtheory.theories.attention_pruning.model import Config, Problem

PRUNERS = ("wanda", "sparsegpt", "magnitude", "magnitude_factors", "random")


def pruned(problem: Problem, config: Config) -> Float[Array, "pruner d d"]:
    """The fused weights that each of PRUNERS leaves at pruning_ratio."""
    W_Q, W_K, W = problem.query, problem.key, problem.weights
    gram = jnp.einsum("sli,slj->ij", problem.inputs, problem.inputs)
    by_factors = lambda prune, *given: prune(W_Q, *given) @ prune(W_K, *given).T
    return jnp.stack(
        [
            by_factors(wanda, gram, config),
            by_factors(sparsegpt, gram, config),
            magnitude(W, config),
            by_factors(magnitude, config),
            pruning.prune(W, problem.uniform[2], config),
        ]
    )


def magnitude(weights: Float[ArrayLike, "d d"], config: Config) -> Float[Array, "d d"]:
    """Zero the floor(rho d^2) entries of smallest |W_ij|."""
    return linear.magnitude(weights, Rule(config.pruning_ratio), model.entries(config))


def wanda(
    weights: Float[ArrayLike, "d d"], gram: Float[ArrayLike, "d d"], config: Config
) -> Float[Array, "d d"]:
    """Zero, in each column, the floor(rho d) entries of smallest |W_ij| ||X_:i||_2."""
    return linear.wanda(
        weights, jnp.diagonal(gram), Rule(config.pruning_ratio), model.entries(config)
    )


def sparsegpt(
    weights: Float[ArrayLike, "d d"],
    gram: Float[ArrayLike, "d d"],
    config: Config,
    damping: float = linear.DAMPING,
    block_size: int = linear.BLOCK_SIZE,
) -> Float[Array, "d d"]:
    """`linear.sparsegpt` at pruning_ratio."""
    rule, valid = Rule(config.pruning_ratio), model.entries(config)
    return linear.sparsegpt(weights, gram, rule, valid, damping=damping, block_size=block_size)
