"""Mini-batch noise of the preconditioned gradients, in closed form and as Gaussian draws.

It is for N and T beyond sampling.

With C = D - mu mu^T, S(a2, s2) = a2 D + (s2 - a2) mu mu^T and M(aq, s) = aq D + (s - aq) mu mu^T,

    E p p^T = S,   E r r^T = R = V S V^T - V M P^T - P M^T V^T + D

for one query k with a2 = |a^(k)|^2, aq = <a^(k), q^(k)>, s2 = s_k^2, s = s_k; averaged over k ~ mu
they hold for the batch. The noise of one batch of B is taken as

    h_A, column k ~ N(0, tr(V C V^T R_k) / (B mu_k) I),      h_V ~ B^(-1/2) R^(1/2) Z S^(1/2)
                                                             diag(1/mu),  both centered per column.

For positions that neither A nor Q attends to, the first is exact; h_V treats r and p as
independent. Source: derived; the source (appendix I) simulates with Gaussian noise of a covariance
it does not give.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.ops import draws
from jaxtheory.theories.contextual_bigram import calculus
from jaxtheory.theories.contextual_bigram.laws import dynamics, population
from jaxtheory.theories.contextual_bigram.model import Config, Params, Problem


def columns(
    A: Float[Array, "T N"], problem: Problem
) -> tuple[Float[Array, " N"], Float[Array, " N"], Float[Array, " N"]]:
    """|a^(k)|^2, <a^(k), q^(k)> and s_k, the numbers through which each column of A enters."""
    return jnp.sum(A**2, axis=0), jnp.sum(A * problem.context, axis=0), jnp.sum(A, axis=0)


def covariance(mu: Float[Array, " N"]) -> Float[Array, "N N"]:
    """C = diag(mu) - mu mu^T, of the one-hot token."""
    return jnp.diag(mu) - mu[:, None] * mu[None, :]


def occupancy_moment(params: Params, problem: Problem, _config: Config) -> Float[Array, "N N"]:
    """S = E p p^T over contexts and queries."""
    mu, (a2, _, s) = problem.stationary, columns(params.attention, problem)
    return jnp.sum(mu * a2) * covariance(mu) + jnp.sum(mu * s**2) * mu[:, None] * mu[None, :]


def residual_moment(params: Params, problem: Problem, config: Config) -> Float[Array, "N N"]:
    """R = E r r^T over contexts, queries and labels."""
    mu, V, P, (_, aq, s) = (
        problem.stationary,
        params.value,
        problem.transition,
        columns(params.attention, problem),
    )
    M = jnp.sum(mu * aq) * covariance(mu) + jnp.sum(mu * s) * mu[:, None] * mu[None, :]
    cross = V @ M @ P.T
    return V @ occupancy_moment(params, problem, config) @ V.T - cross - cross.T + jnp.diag(mu)


def attention_variance(params: Params, problem: Problem, config: Config) -> Float[Array, " N"]:
    """tr(V C V^T R_k) / (B mu_k) per column, the variance of an entry of h_A before centering.

    It is zero for padded tokens.

    R_k is affine in (a2, aq, s, s^2), so the trace is too.
    """
    mu, V, P, (a2, aq, s) = (
        problem.stationary,
        params.value,
        problem.transition,
        columns(params.attention, problem),
    )
    C, m = covariance(mu), V @ mu
    G = V @ C @ V.T
    of_square, of_overlap, of_mean = jnp.sum(G * G), 2 * jnp.sum(G * (V @ C @ P.T)), m @ (G @ m)
    trace = (
        a2 * of_square
        - aq * of_overlap
        + s**2 * of_mean
        - 2 * s * (m @ (G @ mu))
        + jnp.sum(jnp.diagonal(G) * mu)
    )
    # the variance is zero at the start, where rounding may give a negative number
    return jnp.maximum(trace, 0) * calculus.inverse(mu) / config.batch_size.real


def factor(R: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The lower triangular L with L L^T = R for positive semi-definite R.

    It is found by Cholesky with a column of zeros where the pivot is zero to rounding.

    R is always singular here, because r and centered noise have no part along 1. Its last pivot is
    then a few eps of its largest one.
    """
    least = 64 * len(R) * jnp.finfo(R.dtype).eps * jnp.max(jnp.diagonal(R))

    def column(j: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        complement, L = carry
        pivot = complement[j, j]
        l = jnp.where(
            (pivot > least) & (jnp.arange(len(R)) >= j),
            complement[:, j] / jnp.sqrt(jnp.where(pivot > least, pivot, 1)),
            0,
        )
        return complement - l[:, None] * l[None, :], L.at[:, j].set(l)

    return jax.lax.fori_loop(0, len(R), column, (R, jnp.zeros_like(R)))[1]


def draw(key: Array, params: Params, problem: Problem, config: Config) -> Params:
    """h_A and h_V of one batch."""
    N, T, B = config.num_states, config.length, config.batch_size
    for_A, for_V = jax.random.split(key)
    h_A = (
        jnp.sqrt(attention_variance(params, problem, config))[None, :] * draws.normal(for_A, N, T).T
    )
    L_R, L_S = (
        factor(moment(params, problem, config)) for moment in (residual_moment, occupancy_moment)
    )
    h_V = (
        L_R
        @ draws.normal(for_V, N, N)
        @ L_S.T
        / jnp.sqrt(jnp.asarray(B.real, float))
        * calculus.inverse(problem.stationary)[None, :]
    )
    return Params(calculus.centered(h_A, T), calculus.centered(h_V, N))


def growth_noise(problem: Problem, config: Config) -> Float[Array, ""]:
    """z, for which Phi(z) is the probability that the growing mode ends positive.

    z = K_P sqrt(2 B / (eta1 T)) / sqrt(tr(C P C P^T)): at small alphas the growing mode alpha_A +
    alpha_V is driven by the drift d and by noise, and ends positive with this probability once the
    first stage is long. So the source's poly(T) samples are ~ B / eta ~ T.

    Source: derived, from equation (9) and the noise at the start, where V C V^T = 0 and h_V alone
    acts.
    """
    K_P, _ = population.signals(problem, config)
    C, P = covariance(problem.stationary), problem.transition
    s = jnp.sqrt(jnp.sum((C @ P) * (P @ C)))
    ratio = (
        2 * jnp.asarray(config.batch_size.real, float) / (config.learning_rate * config.length.real)
    )
    return K_P * jnp.sqrt(ratio) / s


def noise_strength(problem: Problem, config: Config) -> Float[Array, ""]:
    """s = (T - 1) sum_k mu_k h_k / (K_P^2 K_Q), the strength of the noise at the task.

    It is the |Delta_A|^2 / K_Q that the noise of one step of rate 1 adds at the task, where h_k is
    the variance of an entry of h_A (`attention_variance` at A = Q, V = P). It is proportional to T
    / B. Source: derived.
    """
    K_P, K_Q = population.signals(problem, config)
    at_task = Params(problem.context, problem.transition)
    variance = attention_variance(at_task, problem, config)
    return (config.length.real - 1) * jnp.sum(problem.stationary * variance) / (K_P**2 * K_Q)


def predict_boundary(problem: Problem, config: Config) -> Float[Array, ""]:
    """eta* = 4 / (2 + d + sqrt(4 + d^2 + 4 s)), the largest rate at which SGD stays at the task.

    The rate is the learning rate, d = 1 / (T K_Q), and s is that of `noise_strength`. Without noise
    (s = 0) eta* is the limit of equation (8), 1 to leading order; for s >> 1 it is 2 / sqrt(s),
    proportional to sqrt(B / T).

    Noise keeps |Delta_A|^2 / K_Q at x = eta s / (2 - eta), where (1 - eta)^2 contracts it. As V
    moves along |A|^2 = |Q|^2 + |Delta_A|^2, the curvature of (alpha_A, alpha_V) is [[1, 1], [1, 1 +
    d + x]], and eta* is where eta times its largest eigenvalue is 2. The noise of V and the growth
    of the noise with A are left out. Source: derived.
    """
    d, s = dynamics.drift(problem, config), noise_strength(problem, config)
    return 4 / (2 + d + jnp.sqrt(4 + d**2 + 4 * s))
