"""Checks of the pruners that the mask is compared with."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.ops import linalg
from jaxtheory.theories.attention_pruning.analyses import baselines
from jaxtheory.theories.attention_pruning.checks import literal, material
from jaxtheory.theories.attention_pruning.model import Config


@check("wanda: all pairs of each column compared", "Sun et al. 2024", "equal")
@material.where_long
def wanda_by_comparison(key: Array, config: Config) -> Compared:
    """Wanda's mask by comparing all pairs of scores, whose norms come from the stacked inputs."""
    problem, *_ = material.setting(key, config)
    flat = problem.inputs.reshape(-1, problem.inputs.shape[-1])
    norms = jnp.sqrt(jnp.sum(flat**2, axis=0))
    mask = literal.kept_by_comparison(jnp.abs(problem.query) * norms[:, None], config)
    return baselines.wanda(problem.query, flat.T @ flat, config), problem.query * mask


@check("magnitude: all pairs compared", "section 6.1", "equal")
@material.once
def magnitude_by_comparison(key: Array, config: Config) -> Compared:
    """The magnitude mask by comparing all pairs of weights of the whole matrix."""
    problem, *_ = material.setting(key, config)
    W = problem.weights
    mask = literal.kept_by_comparison(jnp.abs(W).ravel(), config).reshape(W.shape)
    return baselines.magnitude(W, config), W * mask


@check(
    "sparsegpt: optimal brain surgeon with explicit inverses", "Frantar and Alistarh 2023", "equal"
)
@material.where_long
def sparsegpt_by_inverses(key: Array, config: Config) -> Compared:
    """The optimal brain surgeon with an explicit inverse of the trailing H at every input.

    Its mask is that of its own scores.
    """
    problem, *_ = material.setting(key, config)
    flat = problem.inputs.reshape(-1, problem.inputs.shape[-1])
    d = flat.shape[-1]
    gram = flat.T @ flat
    H = gram + 0.01 * jnp.mean(jnp.diagonal(gram)) * jnp.eye(d)
    later = jnp.arange(d)[None, :] >= jnp.arange(d)[:, None]  # [j, i]: input i is not before j
    trailing = later[:, :, None] & later[:, None, :]
    inverses = linalg.inv(jnp.where(trailing, H[None], jnp.eye(d)[None]))
    columns = jnp.where(later, jnp.einsum("jij->ji", inverses), 0)  # (H_{j:,j:})^-1, column 0
    pivots, W = jnp.diagonal(columns), problem.query
    scores = W**2 / pivots[:, None]
    mask = literal.kept_by_comparison(scores.ravel(), config).reshape(W.shape)

    def remove(j: Array, W: Array) -> Array:
        return W - jnp.outer(columns[j], W[j] * (1 - mask[j]) / pivots[j])

    want = jax.lax.fori_loop(0, d, remove, W)
    return baselines.sparsegpt(problem.query, gram, config), want
