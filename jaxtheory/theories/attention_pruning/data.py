"""Data of a run: Gaussian inputs, low-rank weights and the attention mask.

Training uses the full batch.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from jaxtheory.core.config import Size
from jaxtheory.ops import draws
from jaxtheory.ops.linalg import truncate
from jaxtheory.theories.attention_pruning import model
from jaxtheory.theories.attention_pruning.model import Batch, Config, Problem

# logit_scale of the literal N(0, 1) data: the logits' standard deviation at d = 64, r = 4
LITERAL_SCALE = 100.0
HELDOUT = 4  # sequences kept for the error on fresh data
BLOCK = 4  # tokens per block of the block-wise attention mask


def problem(key: Array, config: Config) -> Problem:
    """Draw the problem: Gaussian inputs and low-rank weights.

    X ~ N(0, 1), and W_Q, W_K are the best rank-r approximations of independent N(0, 1) matrices,
    times sqrt(tau / 100).

    Source: section 6.1. With tau = 100 this is the literal data, whose attention is nearly one-hot.
    Draws are equal bit for bit under padding, except for the three weight matrices, which are
    factorized and so agree to rounding when d is padded.
    """
    d, L, S = config.dimension, config.length, config.num_sequences
    k_inputs, k_weights = jax.random.split(key)
    sequences = Size(HELDOUT + S.cap, None if S.value is None else HELDOUT + S.value)
    # one call for several arrays, since each call costs compilation time
    X = draws.normal(k_inputs, sequences, L, d)
    G = draws.normal(k_weights, 5, d, d)
    W_Q, W_K = jnp.sqrt(config.logit_scale / LITERAL_SCALE) * jax.vmap(truncate, (0, None))(
        G[:2], config.rank
    )
    uniform = jnp.where(model.entries(config)[None], jax.scipy.stats.norm.cdf(G[2:]), 0)
    return Problem(X[HELDOUT:], X[:HELDOUT], W_Q, W_K, W_Q @ W_K.T, attention_mask(config), uniform)


def attention_mask(config: Config) -> Bool[Array, "L L"]:
    """The attention mask Mc, False beyond L: causal, full or block.

    A causal mask is True for j <= i, a block mask for i and j in the same block of 4 tokens.
    Source: definition 3.1.
    """
    i, j = jnp.arange(config.length.cap)[:, None], jnp.arange(config.length.cap)[None, :]
    valid = config.length.mask()[:, None] & config.length.mask()[None, :]
    allowed = {"causal": j <= i, "full": jnp.ones_like(valid), "block": i // BLOCK == j // BLOCK}
    return allowed[config.attention] & valid


def sample(key: Array, problem: Problem, config: Config) -> Batch:
    """Return the calibration sequences, which are the full batch."""
    return Batch(problem.inputs)
