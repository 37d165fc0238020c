"""Checks of the mini-batch noise and of the sign law."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.contextual_bigram.checks import literal, material
from jaxtheory.theories.contextual_bigram.laws import noise
from jaxtheory.theories.contextual_bigram.model import Config


@literal.needs_enumeration
def occupancy_enumerated(key: Array, config: Config) -> Compared:
    """E p p^T."""
    problem, params = material.setting(key, config)
    params = material.loose(params)
    everything = literal.population(problem, config)
    p = literal.occupancies(params.attention, everything)
    return noise.occupancy_moment(params, problem, config), jnp.einsum(
        "mky,mkn,mkl->nl", everything.law, p, p
    )


@literal.needs_enumeration
def residual_enumerated(key: Array, config: Config) -> Compared:
    """E r r^T."""
    problem, params = material.setting(key, config)
    params = material.loose(params)
    everything = literal.population(problem, config)
    r = literal.errors(params, everything)
    return noise.residual_moment(params, problem, config), jnp.einsum(
        "mky,mkyi,mkyj->ij", everything.law, r, r
    )


@literal.needs_enumeration
def variance_enumerated(key: Array, config: Config) -> Compared:
    """Half the mean square difference of g at two positions that neither A nor Q attends to, per
    query: once over mu_k for its chance.
    """
    N, T, Q = config.num_states.cap, config.length.cap, config.sparsity.cap
    if T < Q + 2:
        return None
    problem, params = material.setting(key, config)
    k = np.arange(N)
    free = [(2 * k + Q + i) % T for i in range(2)]
    A = material.loose(params).attention
    for position in free:
        A = A.at[position, k].set(0)
    params = params._replace(attention=A)
    everything = literal.population(problem, config)
    u = literal.errors(params, everything) @ params.value  # V^T r: context, query, label, token
    here, there = (jnp.einsum("mkyn,mkn->mky", u, everything.X[:, position]) for position in free)
    square = jnp.sum(everything.law * (here - there) ** 2, axis=(0, 2)) / 2
    return noise.attention_variance(
        params, problem, config
    ), square / problem.stationary**2 / config.batch_size.cap


def variance_by_trace(key: Array, config: Config) -> Compared:
    """tr(V C V^T R_k) with R_k formed column by column."""
    problem, params = material.setting(key, config)
    return noise.attention_variance(params, problem, config), literal.traces(
        params, problem
    ) / problem.stationary / config.batch_size.cap


def factor_squares(key: Array, config: Config) -> Compared:
    """Of R, which is singular along 1, and of S."""
    problem, params = material.setting(key, config)
    R, S = (
        noise.residual_moment(params, problem, config),
        noise.occupancy_moment(params, problem, config),
    )
    return [L @ L.T for L in map(noise.factor, (R, S))], [R, S]


def draw_covariance(key: Array, config: Config) -> Compared:
    """Second moments of all entries of h_A, and of those of h_V against the Kronecker form."""
    if config.num_states.cap > 3 or config.prox != "two_case":
        return None
    N, T = config.num_states.cap, config.length.cap
    problem, params = material.setting(key, config)
    h = jax.vmap(lambda k: noise.draw(k, params, problem, config))(
        jax.random.split(key, material.DRAWS)
    )
    centre = lambda n: jnp.eye(n) - 1 / n
    R, S = (
        noise.residual_moment(params, problem, config),
        noise.occupancy_moment(params, problem, config),
    )
    scaled = S / problem.stationary[:, None] / problem.stationary[None, :] / config.batch_size.cap
    want_V = jnp.kron(centre(N) @ R @ centre(N), scaled)
    want_A = jnp.kron(
        centre(T),
        jnp.diag(literal.traces(params, problem) / problem.stationary / config.batch_size.cap),
    )
    got, error = [], []
    for sample, want in ((h.attention, want_A), (h.value, want_V)):
        flat = sample.reshape(material.DRAWS, -1)
        got.append(flat.T @ flat / material.DRAWS)
        diagonal = jnp.diagonal(want)
        error.append(jnp.sqrt((jnp.outer(diagonal, diagonal) + want**2) / material.DRAWS))
    return got, [want_A, want_V], error


def sign_law_from_pairs(key: Array, config: Config) -> Compared:
    """z = d sqrt(2 / eta) K_Q / std of <h_V, P - mu 1^T> / K_P, the noise of a batch at the start
    summed over two independent tokens.
    """
    problem, _ = material.setting(key, config)
    mu, P = problem.stationary, problem.transition
    gap = P - mu[:, None]
    pull = gap - (mu @ gap)[None, :]  # (e_y - mu)^T (P - mu 1^T) e_x
    K_P, K_Q = literal.constants(problem)
    spread = (
        jnp.sqrt(jnp.sum(jnp.outer(mu, mu) * pull**2) / (config.batch_size.cap * config.length.cap))
        / K_P
    )
    d = 1 / (config.length.cap * K_Q)
    return noise.growth_noise(problem, config), d * jnp.sqrt(
        2 / config.learning_rate
    ) * K_Q / spread


CHECKS = (
    Check(
        "occupancy_moment: enumeration of all contexts", "derived", "equal", occupancy_enumerated
    ),
    Check("residual_moment: enumeration of all contexts", "derived", "equal", residual_enumerated),
    Check(
        "attention_variance: enumeration at unattended positions",
        "derived",
        "equal",
        variance_enumerated,
    ),
    Check("attention_variance: matrices of each column", "derived", "equal", variance_by_trace),
    Check("factor: of singular matrices", "derived", "equal", factor_squares),
    Check(
        "draw: covariance of the draws", "appendix I; covariance derived", "sample", draw_covariance
    ),
    Check(
        "growth_noise: noise of the start over pairs of tokens",
        "derived",
        "equal",
        sign_law_from_pairs,
    ),
)
