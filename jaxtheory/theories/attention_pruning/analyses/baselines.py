"""What the fitted mask is compared with: Wanda, SparseGPT, magnitude (on W and on its factors) and
a random mask.

Wanda and SparseGPT prune W_Q and W_K separately, each at rate rho, as linear layers y = X W; the
inputs i of a layer are the rows of W.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from jaxtheory.core import linalg
from jaxtheory.core.config import InputError, concretely
from jaxtheory.theories.attention_pruning import model
from jaxtheory.theories.attention_pruning.analyses import pruning
from jaxtheory.theories.attention_pruning.model import Config, Problem

PRUNERS = ("wanda", "sparsegpt", "magnitude", "magnitude_factors", "random")
BLOCK_SIZE = 128  # inputs whose mask SparseGPT chooses at once
DAMPING = 0.01  # share of the mean diagonal that SparseGPT adds to H


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
    return pruning.prune(weights, jnp.abs(weights), config)


def wanda(
    weights: Float[ArrayLike, "d d"], gram: Float[ArrayLike, "d d"], config: Config
) -> Float[Array, "d d"]:
    """Zero, in each column, the floor(rho d) entries of smallest |W_ij| ||X_:i||_2; gram = X^T X.
    Kept weights stay.

    Source: Sun et al. 2024 (public definition); the comparison group is one output.
    """
    scores = jnp.abs(weights) * jnp.sqrt(jnp.diagonal(gram))[:, None]
    return jnp.where(pruning.binarise_columns(scores, config.pruning_ratio, config), weights, 0)


def inverse_factor(
    gram: Float[ArrayLike, "d d"], config: Config, damping: float = DAMPING
) -> Float[Array, "d d"]:
    """Upper U with H^-1 = U^T U for H = X^T X + damping mean(diag) I, H_ii = 1 first where input i
    is dead (X_:i = 0).

    From a Cholesky factor of H in reversed order, H = R R^T with R upper, U = R^-1. NaN where H is
    singular to rounding; outside jit that raises InputError.
    """
    diagonal = jnp.diagonal(gram)
    raised = jnp.where(diagonal == 0, 1, diagonal)
    damp = damping * jnp.sum(jnp.where(config.dimension.mask(), raised, 0)) / config.dimension.real
    H = gram + jnp.diag(raised - diagonal + damp)
    R = linalg.cholesky(H[::-1, ::-1])[::-1, ::-1]
    pivots = jnp.diagonal(R) ** 2
    regular = jnp.min(pivots) > pivots.size * jnp.finfo(H.dtype).eps * jnp.max(
        jnp.diagonal(H)
    )  # False for NaN
    if concretely(np.logical_not, regular):
        raise InputError(
            f"SparseGPT: the Cholesky factor of X^T X fails with damping = {damping:g}; raise "
            "damping (L < d needs damping > 0)"
        )
    U = solve_triangular(R, jnp.eye(diagonal.size, dtype=H.dtype), lower=False)
    return jnp.where(regular, U, jnp.nan)


def sparsegpt(
    weights: Float[ArrayLike, "d d"],
    gram: Float[ArrayLike, "d d"],
    config: Config,
    damping: float = DAMPING,
    block_size: int = BLOCK_SIZE,
) -> Float[Array, "d d"]:
    """Zero weights input by input and let the later inputs make up for each: with U from
    `inverse_factor`, j = 1, 2, ...

    e = (w_j - q_j) / U_jj,   w_i <- w_i - U_ji e for i >= j,   q_j the masked row w_j.

    The mask of a block of inputs is chosen when the block is reached: the floor(rho size) smallest
    of w_ji^2 / U_jj^2 over the whole block, all outputs together (the reference code prunes one
    more). Dead inputs get zero weights. Source: Frantar and Alistarh 2023.
    """
    U = inverse_factor(gram, config, damping)
    W = jnp.where(jnp.diagonal(gram)[:, None] == 0, 0, weights)
    done = []
    for start in range(0, U.shape[0], block_size):
        block = slice(start, start + block_size)
        U_in, U_out = U[block, block], U[block, block.stop :]
        W_in, W = W[:block_size], W[block_size:]
        scores = (W_in / jnp.diagonal(U_in)[:, None]) ** 2
        kept = pruning.binarise(scores, config.pruning_ratio, model.entries(config)[block])

        def prune_input(errors: Array, row: tuple) -> tuple[Array, Array]:
            j, w, u, kept_j = row
            w = w - u @ errors  # the updates of the inputs before j
            q = jnp.where(kept_j, w, 0)
            return errors.at[j].set((w - q) / u[j]), q

        errors, W_in = jax.lax.scan(
            prune_input, jnp.zeros_like(W_in), (jnp.arange(len(W_in)), W_in, U_in.T, kept)
        )
        W = W - U_out.T @ errors
        done.append(W_in)
    return jnp.concatenate(done)
