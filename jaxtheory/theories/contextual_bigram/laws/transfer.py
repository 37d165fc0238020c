"""Training from a pre-trained transition.

The laws are the effect of its correlation with P, and the recovery of the support by one step of A.

With V_0 = theta P~ + (1 - theta) mu 1^T and A = U, one step of A with rate 1 / (theta <P~ - mu 1^T,
P - mu 1^T>_mu) has mean Q. Its noise is the same whatever theta, and the same at every position, so
thresholding recovers the support as soon as sqrt(2 log T) standard
deviations fit between 0 and the attended entries: the samples needed grow with log T only, not with
T. Source: section 4, appendix H.
"""

import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Array, Float

from jaxtheory.theories.contextual_bigram import data, model
from jaxtheory.theories.contextual_bigram.laws import noise, population
from jaxtheory.theories.contextual_bigram.model import Config, Params, Problem

# integral over the largest entry: standard deviations on either side, number of nodes
REACH, NODES = (
    8.0,
    128,
)


def init(_key: Array, problem: Problem, config: Config) -> Params:
    """The start A = U and V_0 = theta P~ + (1 - theta) mu 1^T."""
    theta = config.pretrained_weight
    V = theta * problem.pretrained + (1 - theta) * model.trivial_value(problem, config)
    return Params(model.uniform_attention(config), V)


def gap(problem: Problem, config: Config) -> Float[Array, "N N"]:
    """The difference P~ - mu 1^T."""
    return problem.pretrained - model.trivial_value(problem, config)


def overlap(problem: Problem, config: Config) -> Float[Array, ""]:
    """<P~ - mu 1^T, P - mu 1^T>_mu."""
    return population.inner(
        gap(problem, config), population.directions(problem, config).value, problem.stationary
    )


def first_rate(problem: Problem, config: Config) -> Float[Array, ""]:
    """The rate eta_A of the one step, which takes the mean of A from U to Q.

    It is 1 / (theta <P~ - mu 1^T, P - mu 1^T>_mu).
    """
    return 1 / (config.pretrained_weight * overlap(problem, config))


def initial_alignment(
    problem: Problem, config: Config
) -> tuple[population.Alignment, Float[Array, ""]]:
    """The alphas at the start and |Delta_V|^2.

    At the start alpha_V = theta <P~ - mu 1^T, P - mu 1^T>_mu / K_P, alpha_A = 0 and

    |Delta_V|^2 = theta^2 |P~ - mu 1^T|^2 - alpha_V^2 K_P.   Source: lemma H.1.
    """
    theta, (K_P, _) = config.pretrained_weight, population.signals(problem, config)
    alpha_V = theta * overlap(problem, config) / K_P
    size = population.norm(gap(problem, config), problem.stationary)
    return population.Alignment(
        jnp.zeros_like(alpha_V), alpha_V
    ), theta**2 * size**2 - alpha_V**2 * K_P


def step_spread(problem: Problem, config: Config) -> Float[Array, " N"]:
    """Standard deviation, per column, of positions that Q does not attend to after the one step.

    The step is on a batch of tau B, and the positions are not yet thresholded: sqrt(tr(V_0 C V_0^T
    R_k) / (tau B mu_k)) eta_A. R_k ~ C, so theta cancels. Source: derived; lemma H.2 bounds it.
    """
    start = init(jnp.zeros(()), problem, config)
    variance = noise.attention_variance(start, problem, config) / jnp.asarray(
        config.switch_step, float
    )
    return jnp.sqrt(variance) * first_rate(problem, config)


def step_recovery(problem: Problem, config: Config) -> Float[Array, " N"]:
    """The probability, per column, that thresholding at theta0 max A keeps exactly the support.

    For independent entries N(q_t, sd^2) it is

    sum_j E_{m ~ N(q_j, sd^2)} 1[m > 0] Phi(theta0 m / sd)^(T - Q) prod_{i != j} [Phi((m - q_i) /
    sd) - Phi((theta0 m - q_i) / sd)]

    over which attended entry j is the largest, m. The expectation is Gauss-Legendre over m > 0, |m
    - q_j| <= 8 sd. The probability is 1 without noise and for padded tokens. Source: derived.
    """
    _, weights = data.support(problem, config)
    # (Q, N), zero beyond the attended entries
    q, theta0 = (
        weights.T,
        jnp.asarray(config.stage_threshold, float),
    )
    spread = step_spread(problem, config)
    sd = jnp.where(spread > 0, spread, jnp.ones_like(spread))
    num_unattended = config.length.real - jnp.sum(q > 0, axis=0).astype(sd.dtype)
    low = jnp.maximum(-REACH, -q / sd[None, :])  # m = q + sd z > 0
    nodes, weight = (
        jnp.asarray(x, sd.dtype)[:, None, None] for x in np.polynomial.legendre.leggauss(NODES)
    )
    z = low[None] + (REACH - low)[None] * (nodes + 1) / 2
    m = q[None] + sd[None, None, :] * z  # (nodes, j, N)
    inside = jnp.exp(num_unattended[None, None, :] * norm.logcdf(theta0 * m / sd[None, None, :]))
    # (nodes, j, i, N)
    below = lambda cut: norm.cdf((cut[:, :, None] - q[None, None]) / sd[None, None, None, :])
    rival = (q > 0)[None, None] & ~jnp.eye(len(q), dtype=bool)[None, :, :, None]
    retention = jnp.prod(jnp.where(rival, jnp.maximum(below(m) - below(theta0 * m), 0), 1), axis=2)
    density = weight * (REACH - low)[None] / 2 * norm.pdf(z)
    total = jnp.sum(jnp.where((q > 0)[None], density * inside * retention, 0), axis=(0, 1))
    return jnp.where(spread > 0, total, 1)
