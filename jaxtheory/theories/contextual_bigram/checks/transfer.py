"""Checks of the laws of training from a pre-trained transition."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.contextual_bigram.checks import literal, material
from jaxtheory.theories.contextual_bigram.laws import population, transfer
from jaxtheory.theories.contextual_bigram.model import Config, Params, Problem


@check("initial_alignment: projections of the start", "lemma H.1", "equal")
def transfer_start(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The initial alignment against the projections of the starting matrices."""
    start = transfer.init(key, problem, config)
    alpha, square = transfer.initial_alignment(problem, config)
    alphas = population.alignment(start, problem, config)
    off = population.residual(start, problem, config).value
    mu = problem.stationary
    gap = config.pretrained_weight * (problem.pretrained - mu[:, None])
    # the 1 sets the scale, since the entries beside it may vanish
    scaled = lambda a, square: (1 + a.attention, a.value, 1 + square / literal.dot(mu, gap, gap))
    return scaled(alpha, square), scaled(alphas, literal.dot(mu, off, off))


@check("first_rate: mean step ends at Q", "lemma H.2", "equal")
def first_rate_reaches(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The mean of A after the one step is Q."""
    start = transfer.init(key, problem, config)
    slope = population.expected_preconditioned(start, problem, config).attention
    return start.attention - transfer.first_rate(problem, config) * slope, problem.context


@check("step_spread: matrices of each column", "derived", "equal")
def step_spread_by_trace(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The spread with every matrix written out."""
    config = config.replace(switch_step=3)
    start, reach = literal.transferred(problem, config)
    variance = literal.traces(start, problem) / (3 * config.batch_size.cap * problem.stationary)
    return transfer.step_spread(problem, config), jnp.sqrt(variance) / reach


@check("step_recovery: integral over the law of the largest entry", "derived", "equal")
def step_recovery_integral(
    key: Array, problem: Problem, params: Params, config: Config
) -> Compared:
    """The probability of recovery by an integral over the largest entry m.

    It is int d/dm [prod_i P(c <= entry i <= m)]_{c = theta0 m} P(entry < theta0 m)^(T - Q) dm, the
    attended entries independent: the derivative by autodiff, 600 nodes.
    """
    config = config.replace(switch_step=40, stage_threshold=0.5)
    sd, Q = transfer.step_spread(problem, config), problem.context
    nodes, weights = (jnp.asarray(x) for x in np.polynomial.legendre.leggauss(600))
    cdf = lambda x, sd: (1 + jax.scipy.special.erf(x / (sd * 2**0.5))) / 2

    def column(sd: Array, q: Array) -> Array:
        top = jnp.max(q) + 9 * sd
        low = jnp.maximum(0, jnp.min(jnp.where(q > 0, q, 1)) - 9 * sd)
        m = low + (top - low) * (nodes + 1) / 2
        between = lambda m, c: cdf(m - q, sd) - cdf(c - q, sd)
        retention = lambda m, c: jnp.prod(jnp.where(q > 0, between(m, c), 1))
        density = jax.vmap(jax.grad(retention))(m, 0.5 * m)
        exclusion = cdf(0.5 * m, sd) ** (len(q) - jnp.sum(q > 0).astype(float))
        return jnp.sum(weights * density * exclusion) * (top - low) / 2

    return transfer.step_recovery(problem, config), jax.vmap(column)(sd, Q.T)


@check("step_recovery: thresholded Gaussians", "derived", "sample")
def step_recovery_sampled(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """Gaussian entries around Q, thresholded at half of their largest."""
    config = config.replace(switch_step=40, stage_threshold=0.5)
    sd, Q = transfer.step_spread(problem, config), problem.context
    A = Q[None] + sd[None, None, :] * jax.random.normal(key, (material.DRAWS, *Q.shape))
    exact = jnp.all((0.5 * jnp.max(A, axis=1, keepdims=True) <= A) == (Q > 0)[None], axis=1)
    p = transfer.step_recovery(problem, config)
    error = jnp.sqrt(p * (1 - p) / material.DRAWS) + 1 / material.DRAWS
    return p, jnp.mean(exact.astype(float), axis=0), error
