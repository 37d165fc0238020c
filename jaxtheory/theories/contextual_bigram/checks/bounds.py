"""Checks of what threshold and rounding cost."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.contextual_bigram import calculus
from jaxtheory.theories.contextual_bigram.laws import bounds, population
from jaxtheory.theories.contextual_bigram.model import Config, Params, Problem


def near_line(key: Array, problem: Problem, params: Params) -> Array:
    """A near its line with all attended entries well above the others."""
    noise = params.attention - 1 / len(params.attention)
    alpha = 0.6 + 0.8 * jax.random.uniform(key)
    return alpha * problem.context + (1 - alpha) / len(noise) + 0.05 * noise


def threshold_bound(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """A cut below its least attended entry."""
    A = near_line(key, problem, params)
    least = jnp.min(jnp.where(problem.context > 0, A / jnp.max(A, axis=0, keepdims=True), 1))
    cut = Params(calculus.thresholded(A, least * (1 - 1e-9), config), problem.transition)
    before = population.alignment(cut._replace(attention=A), problem, config).attention
    after = population.alignment(cut, problem, config).attention
    off = population.residual(cut, problem, config).attention
    got = jnp.stack([population.norm(off, problem.stationary), jnp.abs(after - before)])
    return got, jnp.stack(bounds.threshold_bounds(A, problem, config))


def rounding_bounded(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The support kept, over its sum."""
    A = near_line(key, problem, params)
    kept = jnp.where(problem.context > 0, A, 0)
    error = kept / jnp.sum(kept, axis=0, keepdims=True) - problem.context
    return population.norm(error, problem.stationary), bounds.rounding_bound(A, problem, config)


CHECKS = (
    Check(
        "threshold_bounds: thresholded matrices near the line",
        "lemma E.2",
        "bound",
        threshold_bound,
    ),
    Check("rounding_bound: rounded matrices near the line", "lemma F.1", "bound", rounding_bounded),
)
