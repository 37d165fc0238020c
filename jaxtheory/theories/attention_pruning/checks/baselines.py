"""Checks of the pruners that the mask is compared with."""

import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core import linalg
from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.attention_pruning.analyses import baselines
from jaxtheory.theories.attention_pruning.checks import literal, material
from jaxtheory.theories.attention_pruning.model import Config


def wanda_by_comparison(key: Array, config: Config) -> Compared:
    """Scores from norms of the stacked inputs."""
    problem, *_ = material.setting(key, config)
    flat = problem.inputs.reshape(-1, problem.inputs.shape[-1])
    norms = jnp.sqrt(jnp.sum(flat**2, axis=0))
    kept = literal.kept_by_comparison(jnp.abs(problem.query) * norms[:, None], config)
    return baselines.wanda(problem.query, flat.T @ flat, config), problem.query * kept


def magnitude_by_comparison(key: Array, config: Config) -> Compared:
    """Over the whole matrix."""
    problem, *_ = material.setting(key, config)
    W = problem.weights
    kept = literal.kept_by_comparison(jnp.abs(W).ravel(), config).reshape(W.shape)
    return baselines.magnitude(W, config), W * kept


def sparsegpt_by_inverses(key: Array, config: Config) -> Compared:
    """The optimal brain surgeon with an explicit inverse of the trailing H at every input, on the
    mask of its own scores.
    """
    problem, *_ = material.setting(key, config)
    flat = problem.inputs.reshape(-1, problem.inputs.shape[-1])
    d = flat.shape[-1]
    gram = flat.T @ flat
    H = gram + 0.01 * jnp.mean(jnp.diagonal(gram)) * jnp.eye(d)
    inverses = [linalg.inv(H[j:, j:]) for j in range(d)]
    W = problem.query
    scores = jnp.stack([W[j] ** 2 / inverses[j][0, 0] for j in range(d)])
    kept = literal.kept_by_comparison(scores.ravel(), config).reshape(W.shape)
    for j, inverse in enumerate(inverses):
        removed = W[j] * (1 - kept[j])
        W = W.at[j:].add(-inverse[:, 0][:, None] * (removed / inverse[0, 0])[None, :])
        W = W.at[j].set(W[j] * kept[j])
    return baselines.sparsegpt(problem.query, gram, config), W


CHECKS = (
    Check(
        "wanda: all pairs of each column compared", "Sun et al. 2024", "equal", wanda_by_comparison
    ),
    Check("magnitude: all pairs compared", "section 6.1", "equal", magnitude_by_comparison),
    Check(
        "sparsegpt: optimal brain surgeon with explicit inverses",
        "Frantar and Alistarh 2023",
        "equal",
        sparsegpt_by_inverses,
    ),
)
