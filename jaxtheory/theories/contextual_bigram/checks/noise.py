"""Checks of the mini-batch noise and of the sign law."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.ops import linalg
from jaxtheory.theories.contextual_bigram.checks import literal, material
from jaxtheory.theories.contextual_bigram.checks.literal import Population
from jaxtheory.theories.contextual_bigram.laws import noise
from jaxtheory.theories.contextual_bigram.model import Config, Params, Problem


@check("occupancy_moment: enumeration of all contexts", "derived", "equal")
@literal.enumerated
def occupancy_enumerated(
    everything: Population, problem: Problem, params: Params, config: Config
) -> Compared:
    """The moment E p p^T by enumeration."""
    params = material.loose(params)
    p = literal.occupancies(params.attention, everything)
    return noise.occupancy_moment(params, problem, config), jnp.einsum(
        "mky,mkn,mkl->nl", everything.law, p, p
    )


@check("residual_moment: enumeration of all contexts", "derived", "equal")
@literal.enumerated
def residual_enumerated(
    everything: Population, problem: Problem, params: Params, config: Config
) -> Compared:
    """The moment E r r^T by enumeration."""
    params = material.loose(params)
    r = literal.errors(params, everything)
    return noise.residual_moment(params, problem, config), jnp.einsum(
        "mky,mkyi,mkyj->ij", everything.law, r, r
    )


@check("attention_variance: enumeration at unattended positions", "derived", "equal")
@literal.enumerated
def variance_enumerated(
    everything: Population, problem: Problem, params: Params, config: Config
) -> Compared:
    """Half the mean square difference of g at two positions that neither A nor Q attends to.

    It is taken per query, and divided by mu_k once for its probability.
    """
    N, T, Q = config.num_states.cap, config.length.cap, config.sparsity.cap
    if T < Q + 2:
        return None
    k = np.arange(N)
    free = [(2 * k + Q + i) % T for i in range(2)]
    A = material.loose(params).attention
    for position in free:
        A = A.at[position, k].set(0)
    params = params._replace(attention=A)
    u = literal.errors(params, everything) @ params.value  # V^T r: context, query, label, token
    g_first, g_second = (
        jnp.einsum("mkyn,mkn->mky", u, everything.X[:, position]) for position in free
    )
    square = jnp.sum(everything.law * (g_first - g_second) ** 2, axis=(0, 2)) / 2
    want = square / problem.stationary**2 / config.batch_size.cap
    return noise.attention_variance(params, problem, config), want


@check("attention_variance: matrices of each column", "derived", "equal")
def variance_by_trace(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """tr(V C V^T R_k) with R_k formed column by column."""
    want = literal.traces(params, problem) / problem.stationary / config.batch_size.cap
    return noise.attention_variance(params, problem, config), want


@check("factor: of singular matrices", "derived", "equal")
def factor_squares(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The factors of R, which is singular along 1, and of S, with nonnegative diagonals."""
    R = noise.residual_moment(params, problem, config)
    S = noise.occupancy_moment(params, problem, config)
    L = jnp.stack([noise.factor(R), noise.factor(S)])
    diagonal = jnp.diagonal(L, axis1=1, axis2=2)
    squares = jnp.einsum("cij,ckj->cik", L, L)
    return (squares, diagonal), (jnp.stack([R, S]), jnp.abs(diagonal))


@check("draw: covariance of the draws", "appendix I; covariance derived", "sample")
def draw_covariance(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """Second moments of all entries of h_A, and those of h_V against the Kronecker form."""
    mu, B, n = problem.stationary, config.batch_size.cap, 30_000
    h = jax.vmap(lambda k: noise.draw(k, params, problem, config))(jax.random.split(key, n))
    center = lambda size: jnp.eye(size.cap) - 1 / size.cap
    R = noise.residual_moment(params, problem, config)
    S = noise.occupancy_moment(params, problem, config)
    around = center(config.num_states)
    want = Params(
        jnp.kron(center(config.length), jnp.diag(literal.traces(params, problem) / mu / B)),
        jnp.kron(around @ R @ around, S / mu[:, None] / mu[None, :] / B),
    )
    flat = jax.tree.map(lambda x: x.reshape(n, -1), h)
    error = lambda C: jnp.sqrt((jnp.outer(jnp.diagonal(C), jnp.diagonal(C)) + C**2) / n)
    return jax.tree.map(lambda x: x.T @ x / n, flat), want, jax.tree.map(error, want)


@check("growth_noise: noise of the start over pairs of tokens", "derived", "equal")
def sign_law_from_pairs(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """z = d sqrt(2 / eta) K_Q / std of <h_V, P - mu 1^T> / K_P, from the noise at the start.

    The noise of a batch is summed over two independent tokens.
    """
    mu, B, T = problem.stationary, config.batch_size.cap, config.length.cap
    gap = problem.transition - mu[:, None]
    pull = gap - (mu @ gap)[None, :]  # (e_y - mu)^T (P - mu 1^T) e_x
    K_P, K_Q = literal.constants(problem)
    spread = jnp.sqrt(jnp.sum(jnp.outer(mu, mu) * pull**2) / (B * T)) / K_P
    want = 1 / (T * K_Q) * jnp.sqrt(2 / config.learning_rate) * K_Q / spread
    return noise.growth_noise(problem, config), want


@check("predict_boundary: eigenvalue of the curvature", "derived", "equal")
def boundary_is_stable(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """eta* times the largest eigenvalue of the curvature is 2.

    |Delta_A|^2 is at the size that one step of contraction and noise keep; its variance is by
    matrices.
    """
    eta, (K_P, K_Q) = noise.predict_boundary(problem, config), literal.constants(problem)
    T, B = config.length.cap, config.batch_size.cap
    at_task = Params(problem.context, problem.transition)
    added = eta**2 * (T - 1) * jnp.sum(literal.traces(at_task, problem)) / (B * K_P**2)
    size = added / (1 - (1 - eta) ** 2)
    next_size = (1 - eta) ** 2 * size + added
    corner = 1 + 1 / (T * K_Q) + next_size / K_Q
    curvature = jnp.asarray([[1.0, 1.0], [1.0, 0.0]]).at[1, 1].set(corner)
    want = 2 / linalg.eigvalsh(curvature)[-1]
    return (eta, next_size), (want, size)
