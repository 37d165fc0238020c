"""Checks of what a pre-trained transition gives."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.contextual_bigram.checks import literal, material
from jaxtheory.theories.contextual_bigram.laws import population, transfer
from jaxtheory.theories.contextual_bigram.model import Config, Params, Problem


def transfer_start(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """Against the projections of the starting matrices."""
    start = transfer.init(key, problem, config)
    alpha, square = transfer.initial_alignment(problem, config)
    found = population.alignment(start, problem, config)
    off = population.residual(start, problem, config).value
    mu = problem.stationary
    gap = config.pretrained_weight * (problem.pretrained - mu[:, None])
    # 1 sets the scale of what may vanish
    scaled = lambda a, square: (1 + a.attention, a.value, 1 + square / literal.dot(mu, gap, gap))
    return scaled(alpha, square), scaled(found, literal.dot(mu, off, off))


def first_rate_reaches(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The mean of the one step is Q."""
    start = transfer.init(key, problem, config)
    slope = population.expected_preconditioned(start, problem, config).attention
    return start.attention - transfer.first_rate(problem, config) * slope, problem.context


def step_spread_by_trace(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """Every matrix written out."""
    config = config.replace(switch_step=3)
    theta, mu = config.pretrained_weight, problem.stationary
    V = theta * problem.pretrained + (1 - theta) * mu[:, None]
    start = Params(jnp.full_like(problem.context, 1 / config.length.cap), V)
    reach = theta * literal.dot(
        mu, problem.pretrained - mu[:, None], problem.transition - mu[:, None]
    )
    want = jnp.sqrt(literal.traces(start, problem) / (3 * config.batch_size.cap * mu)) / reach
    return transfer.step_spread(problem, config), want


def step_recovery_sampled(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """Gaussian entries around Q, thresholded at half of their largest."""
    config = config.replace(switch_step=40, stage_threshold=0.5)
    sd, Q = transfer.step_spread(problem, config), problem.context
    A = Q[None] + sd[None, None, :] * jax.random.normal(key, (material.DRAWS, *Q.shape))
    exact = jnp.all((0.5 * jnp.max(A, axis=1, keepdims=True) <= A) == (Q > 0)[None], axis=1)
    p = transfer.step_recovery(problem, config)
    error = jnp.sqrt(p * (1 - p) / material.DRAWS) + 1 / material.DRAWS
    return p, jnp.mean(exact.astype(float), axis=0), error


CHECKS = (
    Check("initial_alignment: projections of the start", "lemma H.1", "equal", transfer_start),
    Check("first_rate: mean step ends at Q", "lemma H.2", "equal", first_rate_reaches),
    Check("step_spread: matrices of each column", "derived", "equal", step_spread_by_trace),
    Check("step_recovery: thresholded Gaussians", "derived", "sample", step_recovery_sampled),
)
