"""Checks of what threshold and rounding cost."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.contextual_bigram import calculus
from jaxtheory.theories.contextual_bigram.checks import material
from jaxtheory.theories.contextual_bigram.laws import bounds, population
from jaxtheory.theories.contextual_bigram.model import Config, Params


def near_line(key: Array, config: Config) -> tuple:
    """A task, and A near its line with all attended entries well above the others."""
    problem, params = material.setting(key, config)
    noise = params.attention - 1 / len(params.attention)
    alpha = 0.6 + 0.8 * jax.random.uniform(key)
    return problem, alpha * problem.context + (1 - alpha) / len(noise) + 0.05 * noise


def threshold_bound(key: Array, config: Config) -> Compared:
    """A cut below its least attended entry."""
    problem, A = near_line(key, config)
    least = jnp.min(jnp.where(problem.context > 0, A / jnp.max(A, axis=0, keepdims=True), 1))
    cut = Params(calculus.thresholded(A, least * (1 - 1e-9), config), problem.transition)
    before = population.alignment(Params(A, problem.transition), problem, config).attention
    after = population.alignment(cut, problem, config).attention
    residual = population.norm(
        population.residual(cut, problem, config).attention, problem.stationary
    )
    return jnp.stack([residual, jnp.abs(after - before)]), jnp.stack(
        bounds.threshold_bounds(A, problem, config)
    )


def rounding_bounded(key: Array, config: Config) -> Compared:
    """The support kept, over its sum."""
    problem, A = near_line(key, config)
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
