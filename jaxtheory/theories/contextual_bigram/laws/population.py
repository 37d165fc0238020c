"""The population: expected loss and gradients in closed form, and the two numbers of its motion.

With m = V mu, s_k = 1^T a^(k), inner products <A, B>_mu = sum_k mu_k <A_k, B_k>, and

    K_V = |V|^2 - |m|^2 = |V - m 1^T|^2,   K_VP = <V, P> - <m, mu>,   K_P = |P - mu 1^T|^2,   K_Q =
                                           |Q|^2 - 1/T = |Q - U|^2,

    A~ = alpha_A Q + (1 - alpha_A) U,   V~ = alpha_V P + (1 - alpha_V) mu 1^T

are the nearest points to A and V on the lines that the population follows from its start (alpha =
0) to the task (alpha = 1).
Source: appendices B and C. Norms are mu-norms.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from jaxtheory.theories.contextual_bigram import model
from jaxtheory.theories.contextual_bigram.model import Config, Params, Problem

Index = Int[ArrayLike, ""]  # of a token, a label or a position


class Signals(NamedTuple):
    """K_P and K_Q: distances of P and Q from the trivial transition and from uniform attention."""

    value: Float[Array, ""]
    attention: Float[Array, ""]


class Moments(NamedTuple):
    """The moments m (N,), K_V, K_VP, |A|^2, <A, Q>, mu.s and mu.(s^2)."""

    mean: Float[Array, " N"]
    value_square: Float[Array, ""]
    value_overlap: Float[Array, ""]
    attention_square: Float[Array, ""]
    attention_overlap: Float[Array, ""]
    sums: Float[Array, ""]
    sums_square: Float[Array, ""]


class Alignment(NamedTuple):
    """alpha_A and alpha_V."""

    attention: Float[Array, ""]
    value: Float[Array, ""]


def inner(
    A: Float[Array, "n N"], B: Float[Array, "n N"], mu: Float[Array, " N"]
) -> Float[Array, ""]:
    """The inner product <A, B>_mu."""
    return jnp.sum(mu * jnp.sum(A * B, axis=0))


def norm(A: Float[Array, "n N"], mu: Float[Array, " N"]) -> Float[Array, ""]:
    """The norm |A|_mu."""
    return jnp.sqrt(inner(A, A, mu))


def directions(problem: Problem, config: Config) -> Params:
    """The directions Q - U and P - mu 1^T from the start to the task."""
    return Params(
        problem.context - model.uniform_attention(config),
        problem.transition - model.trivial_value(problem, config),
    )


def signals(problem: Problem, config: Config) -> Signals:
    """K_P and K_Q. The learning rates of the source are eta / K_P for A and eta / K_Q for V."""
    gap, mu = directions(problem, config), problem.stationary
    return Signals(inner(gap.value, gap.value, mu), inner(gap.attention, gap.attention, mu))


def moments(params: Params, problem: Problem, config: Config) -> Moments:
    """The numbers through which A and V enter the population loss."""
    A, V, mu = params.attention, params.value, problem.stationary
    m = V @ mu
    varying = V - model.repeated(m, config)
    s = jnp.sum(A, axis=0)
    return Moments(
        m,
        inner(varying, varying, mu),
        inner(varying, problem.transition, mu),
        inner(A, A, mu),
        inner(A, problem.context, mu),
        jnp.sum(mu * s),
        jnp.sum(mu * s**2),
    )


def bayes_loss(problem: Problem, config: Config) -> Float[Array, ""]:
    """1/2 (1 - K_P |Q|^2 - |mu|^2), the loss at A = Q, V = P, which is the least of all predictors.
    Source: derived.
    """
    K_P, _ = signals(problem, config)
    mu, Q = problem.stationary, problem.context
    return (1 - K_P * inner(Q, Q, mu) - jnp.sum(mu**2)) / 2


def population_loss(params: Params, problem: Problem, config: Config) -> Float[Array, ""]:
    """1/2 [1 - 2 (K_VP <A, Q> + <m, mu> mu.s) + K_V |A|^2 + |m|^2 mu.(s^2)], for any A and V.
    Source: derived.
    """
    x = moments(params, problem, config)
    linear = x.value_overlap * x.attention_overlap + jnp.sum(x.mean * problem.stationary) * x.sums
    return (
        1 - 2 * linear + x.value_square * x.attention_square + jnp.sum(x.mean**2) * x.sums_square
    ) / 2


def excess_loss(params: Params, problem: Problem, config: Config) -> Float[Array, ""]:
    """Population loss minus Bayes loss, as a sum of squares that does not cancel near the task.
    With c Q and b (P - mu 1^T) the projections of A and V - m 1^T, A' = A - c Q, V' = V - m 1^T - b
    (P - mu 1^T):

    1/2 [ sum_k mu_k |s_k m - mu|^2 + K_V |A'|^2 + |Q|^2 (c^2 |V'|^2 + K_P (b c - 1)^2) ].   Source:
        derived.
    """
    A, V, mu = params.attention, params.value, problem.stationary
    x, (K_P, _), gap = (
        moments(params, problem, config),
        signals(problem, config),
        directions(problem, config),
    )
    Q_square = inner(problem.context, problem.context, mu)
    c, b = x.attention_overlap / Q_square, x.value_overlap / K_P
    A_rest = A - c * problem.context
    V_rest = V - model.repeated(x.mean, config) - b * gap.value
    mean_error = jnp.sum(A, axis=0)[None, :] * x.mean[:, None] - mu[:, None]
    aligned = c**2 * inner(V_rest, V_rest, mu) + K_P * (b * c - 1) ** 2
    return (
        inner(mean_error, mean_error, mu)
        + x.value_square * inner(A_rest, A_rest, mu)
        + Q_square * aligned
    ) / 2


def expected_gradient(params: Params, problem: Problem, config: Config) -> Params:
    """E g for any A and V, not preconditioned:

    E g_{a^(k)} = mu_k [K_V a + |m|^2 s_k 1 - K_VP q - <m, mu> 1]
    E g_V = V (|A|^2 D + (mu.s^2 - |A|^2) mu mu^T) - P (<A, Q> D + (mu.s - <A, Q>) mu mu^T).
        Source: lemma B.7.
    """
    x, mu = moments(params, problem, config), problem.stationary
    s = jnp.sum(params.attention, axis=0)
    level = jnp.sum(x.mean**2) * s - jnp.sum(x.mean * mu)
    slope = x.value_square * params.attention - x.value_overlap * problem.context + level[None, :]
    second = lambda diagonal, total: (
        diagonal * jnp.diag(mu) + (total - diagonal) * mu[:, None] * mu[None, :]
    )
    occupancy, wanted = (
        second(x.attention_square, x.sums_square),
        second(x.attention_overlap, x.sums),
    )
    return Params(
        jnp.where(config.length.mask()[:, None], mu[None, :] * slope, 0),
        params.value @ occupancy - problem.transition @ wanted,
    )


def expected_preconditioned(params: Params, problem: Problem, config: Config) -> Params:
    """E of the preconditioned gradient where 1^T A = 1^T and 1^T V = 1^T:

    K_V (A - U) - K_VP (Q - U)   and   |A|^2 (V - m 1^T) + (m - mu) 1^T - <A, Q> (P - mu 1^T).
                                       Source: lemma B.8.
    """
    x, gap = moments(params, problem, config), directions(problem, config)
    m = model.repeated(x.mean, config)
    return Params(
        x.value_square * (params.attention - model.uniform_attention(config))
        - x.value_overlap * gap.attention,
        x.attention_square * (params.value - m)
        + m
        - model.trivial_value(problem, config)
        - x.attention_overlap * gap.value,
    )


def alignment(params: Params, problem: Problem, config: Config) -> Alignment:
    """alpha_A = <A - U, Q - U> / K_Q and alpha_V = <V - mu 1^T, P - mu 1^T> / K_P.

    They give the nearest points on the lines, also for columns that do not sum to 1. With 1^T A =
    1^T they are (<A, Q> - 1/T) / K_Q and K_VP / K_P. Source: lemma C.1.
    """
    gap, mu, (K_P, K_Q) = directions(problem, config), problem.stationary, signals(problem, config)
    return Alignment(
        inner(params.attention - model.uniform_attention(config), gap.attention, mu) / K_Q,
        inner(params.value - model.trivial_value(problem, config), gap.value, mu) / K_P,
    )


def aligned(alpha: Alignment, problem: Problem, config: Config) -> Params:
    """A~ and V~ of given alphas."""
    gap = directions(problem, config)
    return Params(
        model.uniform_attention(config) + alpha.attention * gap.attention,
        model.trivial_value(problem, config) + alpha.value * gap.value,
    )


def excess_on_line(alpha: Alignment, problem: Problem, config: Config) -> Float[Array, "*n"]:
    """K_P / 2 [(1 - alpha_A alpha_V)^2 K_Q + (1 - alpha_V)^2 / T]: the excess loss of A~ and V~.
    Source: derived.
    """
    K_P, K_Q = signals(problem, config)
    a, v = alpha
    return K_P / 2 * ((1 - a * v) ** 2 * K_Q + (1 - v) ** 2 / config.length.real)


def residual(params: Params, problem: Problem, config: Config) -> Params:
    """Delta_A = A - A~ and Delta_V = V - V~, orthogonal to Q - U and P - mu 1^T.
    Source: lemma C.2.
    """
    near = aligned(alignment(params, problem, config), problem, config)
    return Params(params.attention - near.attention, params.value - near.value)


def projected_step(
    params: Params, noise: Params, rates: Params, problem: Problem, config: Config
) -> Alignment:
    """The alphas after one preconditioned step, exactly.

    The step is A - eta_A (E g_A + h_A), V - eta_V (E g_V + h_V), and the alphas are

    alpha_A + eta_A {K_P alpha_V (1 - alpha_A alpha_V) - (|Delta_V|^2 - |Delta_V mu|^2) alpha_A} -
    eta_A <h_A, Q> / K_Q alpha_V + eta_V {K_Q alpha_A (1 - alpha_A alpha_V) + (1 - alpha_V) / T -
    |Delta_A|^2 alpha_V} - eta_V <h_V, P - mu 1^T> / K_P

    This needs 1^T A = 1^T and 1^T V = 1^T. `rates` holds eta_A and eta_V. Source: lemma C.5.
    """
    (a, v), (K_P, K_Q), mu = (
        alignment(params, problem, config),
        signals(problem, config),
        problem.stationary,
    )
    off, gap = residual(params, problem, config), directions(problem, config)
    K_off = inner(off.value, off.value, mu) - jnp.sum((off.value @ mu) ** 2)
    pull_A = K_P * v * (1 - a * v) - K_off * a - inner(noise.attention, gap.attention, mu) / K_Q
    pull_V = (
        K_Q * a * (1 - a * v)
        + (1 - v) / config.length.real
        - inner(off.attention, off.attention, mu) * v
    )
    pull_V = pull_V - inner(noise.value, gap.value, mu) / K_P
    return Alignment(a + rates.attention * pull_A, v + rates.value * pull_V)


def residual_step(
    params: Params, noise: Params, rates: Params, problem: Problem, config: Config
) -> Params:
    """The residuals after the same step, with h' the part of h orthogonal to the lines:

    Delta_A <- (1 - eta_A K_V) Delta_A - eta_A h_A'
    Delta_V <- Delta_V - eta_V [|A|^2 Delta_V + (1 - |A|^2) Delta_V mu 1^T] - eta_V h_V'.   Source:
        lemma C.6.
    """
    x, (K_P, K_Q), mu = (
        moments(params, problem, config),
        signals(problem, config),
        problem.stationary,
    )
    off, gap = residual(params, problem, config), directions(problem, config)
    h_A = noise.attention - inner(noise.attention, gap.attention, mu) / K_Q * gap.attention
    h_V = noise.value - inner(noise.value, gap.value, mu) / K_P * gap.value
    mean = model.repeated(off.value @ mu, config)
    moved = x.attention_square * off.value + (1 - x.attention_square) * mean
    return Params(
        (1 - rates.attention * x.value_square) * off.attention - rates.attention * h_A,
        off.value - rates.value * (moved + h_V),
    )


def optimal_value(A: Float[Array, "T N"], problem: Problem, config: Config) -> Float[Array, "N N"]:
    """V* = mu 1^T + (<A, Q> / |A|^2) (P - mu 1^T), of least population loss for given A.

    It is for A with 1^T A = 1^T. It uses P and Q, so it is an oracle.

    Source: derived (appendix I fits V by regression on the population).
    """
    mu, gap = problem.stationary, directions(problem, config)
    return (
        model.trivial_value(problem, config)
        + inner(A, problem.context, mu) / inner(A, A, mu) * gap.value
    )


def attended_law(i: Index, l: Index, s: Index, k: Index, problem: Problem) -> Float[Array, ""]:
    """P(x_s = i, y = l | x_{T+1} = k) = q_s P_li mu_i + (1 - q_s) mu_i mu_l. Source: lemma B.1."""
    P, mu, q = problem.transition, problem.stationary, problem.context[:, k]
    return mu[i] * (q[s] * P[l, i] + (1 - q[s]) * mu[l])


def pair_law(
    i: Index, j: Index, l: Index, s: Index, t: Index, k: Index, problem: Problem
) -> Float[Array, ""]:
    """The law of two tokens and the label, given the last token.

    P(x_s = i, x_t = j, y = l | x_{T+1} = k) = mu_i mu_j (q_s P_li + q_t P_lj + (1 - q_s - q_t)
    mu_l) for s != t. Source: lemma B.2.
    """
    P, mu, q = problem.transition, problem.stationary, problem.context[:, k]
    return mu[i] * mu[j] * (q[s] * P[l, i] + q[t] * P[l, j] + (1 - q[s] - q[t]) * mu[l])
