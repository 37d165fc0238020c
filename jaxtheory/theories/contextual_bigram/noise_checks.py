"""Checks of the mini-batch noise, the sign law and transfer."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtheory.core.theory import Check
from jaxtheory.theories.contextual_bigram import calculus, noise, population, training, transfer
from jaxtheory.theories.contextual_bigram import enumeration as every
from jaxtheory.theories.contextual_bigram.model import Batch, Config, Params, Problem
from jaxtheory.theories.contextual_bigram.population_checks import Compared, needs_enumeration, path_of_matrices

DRAWS = 4000


@needs_enumeration
def occupancy_enumerated(key: Array, config: Config) -> Compared:
    problem, params = every.setting(key, config)
    params = every.loose(params)
    everything = every.population(problem, config)
    p = every.occupancies(params.attention, everything)
    return noise.occupancy_moment(params, problem, config), jnp.einsum("mky,mkn,mkl->nl", everything.law, p, p)


@needs_enumeration
def residual_enumerated(key: Array, config: Config) -> Compared:
    problem, params = every.setting(key, config)
    params = every.loose(params)
    everything = every.population(problem, config)
    r = every.errors(params, everything)
    return noise.residual_moment(params, problem, config), jnp.einsum("mky,mkyi,mkyj->ij", everything.law, r, r)


@needs_enumeration
def variance_enumerated(key: Array, config: Config) -> Compared:
    """Half the mean square difference of g at two positions that neither A nor Q attends to, per query: once over mu_k for its chance."""
    N, T, Q = config.num_states.cap, config.length.cap, config.sparsity.cap
    if T < Q + 2:
        return None
    problem, params = every.setting(key, config)
    k = np.arange(N)
    free = [(2 * k + Q + i) % T for i in range(2)]
    A = every.loose(params).attention
    for position in free:
        A = A.at[position, k].set(0)
    params = params._replace(attention=A)
    everything = every.population(problem, config)
    u = every.errors(params, everything) @ params.value  # V^T r: context, query, label, token
    here, there = (jnp.einsum("mkyn,mkn->mky", u, everything.X[:, position]) for position in free)
    square = jnp.sum(everything.law * (here - there) ** 2, axis=(0, 2)) / 2
    return noise.attention_variance(params, problem, config), square / problem.stationary**2 / config.batch_size.cap


def variance_by_trace(key: Array, config: Config) -> Compared:
    """tr(V C V^T R_k) with R_k formed column by column."""
    problem, params = every.setting(key, config)
    return noise.attention_variance(params, problem, config), traces(params, problem) / problem.stationary / config.batch_size.cap


def traces(params: Params, problem: Problem) -> Float[Array, " N"]:
    """tr(V C V^T R_k) with every matrix written out; columns of A sum to 1."""
    (A, V), (P, mu, Q, _) = params, problem
    D, mean = jnp.diag(mu), jnp.outer(mu, mu)

    def one(a: Array, q: Array) -> Array:
        S, M = (a @ a) * D + (1 - a @ a) * mean, (a @ q) * D + (1 - a @ q) * mean
        R = V @ S @ V.T - V @ M @ P.T - P @ M.T @ V.T + D
        return jnp.trace(V @ (D - mean) @ V.T @ R)

    return jax.vmap(one, in_axes=1)(A, Q)


def factor_squares(key: Array, config: Config) -> Compared:
    """Of R, which is singular along 1, and of S."""
    problem, params = every.setting(key, config)
    R, S = noise.residual_moment(params, problem, config), noise.occupancy_moment(params, problem, config)
    return [L @ L.T for L in map(noise.factor, (R, S))], [R, S]


def draw_covariance(key: Array, config: Config) -> Compared:
    """Second moments of all entries of h_A, and of those of h_V against the Kronecker form."""
    if config.num_states.cap > 3 or config.prox != "two_case":
        return None
    N, T = config.num_states.cap, config.length.cap
    problem, params = every.setting(key, config)
    h = jax.vmap(lambda k: noise.draw(k, params, problem, config))(jax.random.split(key, DRAWS))
    centre = lambda n: jnp.eye(n) - 1 / n
    R, S = noise.residual_moment(params, problem, config), noise.occupancy_moment(params, problem, config)
    scaled = S / problem.stationary[:, None] / problem.stationary[None, :] / config.batch_size.cap
    want_V = jnp.kron(centre(N) @ R @ centre(N), scaled)
    want_A = jnp.kron(centre(T), jnp.diag(traces(params, problem) / problem.stationary / config.batch_size.cap))
    got, error = [], []
    for sample, want in ((h.attention, want_A), (h.value, want_V)):
        flat = sample.reshape(DRAWS, -1)
        got.append(flat.T @ flat / DRAWS)
        diagonal = jnp.diagonal(want)
        error.append(jnp.sqrt((jnp.outer(diagonal, diagonal) + want**2) / DRAWS))
    return got, [want_A, want_V], error


def sign_law_from_pairs(key: Array, config: Config) -> Compared:
    """z = d sqrt(2 / eta) K_Q / std of <h_V, P - mu 1^T> / K_P, the noise of a batch at the start summed over two independent tokens."""
    problem, _ = every.setting(key, config)
    mu, P = problem.stationary, problem.transition
    gap = P - mu[:, None]
    pull = gap - (mu @ gap)[None, :]  # (e_y - mu)^T (P - mu 1^T) e_x
    K_P, K_Q = every.constants(problem)
    spread = jnp.sqrt(jnp.sum(jnp.outer(mu, mu) * pull**2) / (config.batch_size.cap * config.length.cap)) / K_P
    d = 1 / (config.length.cap * K_Q)
    return noise.growth_noise(problem, config), d * jnp.sqrt(2 / config.learning_rate) * K_Q / spread


# Transfer


def transfer_start(key: Array, config: Config) -> Compared:
    """Against the projections of the starting matrices."""
    problem, _ = every.setting(key, config)
    start = transfer.init(key, problem, config)
    alpha, square = transfer.initial_alignment(problem, config)
    found, off = population.alignment(start, problem, config), population.residual(start, problem, config)
    size = config.pretrained_weight**2 * every.dot(problem.stationary, *[problem.pretrained - problem.stationary[:, None]] * 2)
    one = jnp.ones(())  # sets the scale of what may vanish
    got = one + alpha.attention, alpha.value, one + square / size
    return got, (one + found.attention, found.value, one + every.dot(problem.stationary, off.value, off.value) / size)


def first_rate_reaches(key: Array, config: Config) -> Compared:
    """The mean of the one step is Q."""
    problem, _ = every.setting(key, config)
    start = transfer.init(key, problem, config)
    slope = population.expected_preconditioned(start, problem, config).attention
    return start.attention - transfer.first_rate(problem, config) * slope, problem.context


def step_spread_by_trace(key: Array, config: Config) -> Compared:
    """Every matrix written out."""
    problem, _ = every.setting(key, config)
    config = config.replace(switch_step=3)
    theta, mu = config.pretrained_weight, problem.stationary
    V = theta * problem.pretrained + (1 - theta) * mu[:, None]
    start = Params(jnp.full_like(problem.context, 1 / config.length.cap), V)
    reach = theta * every.dot(mu, problem.pretrained - mu[:, None], problem.transition - mu[:, None])
    want = jnp.sqrt(traces(start, problem) / (3 * config.batch_size.cap * mu)) / reach
    return transfer.step_spread(problem, config), want


def step_recovery_sampled(key: Array, config: Config) -> Compared:
    """Gaussian entries around Q, thresholded at half of their largest."""
    problem, _ = every.setting(key, config)
    config = config.replace(switch_step=40, stage_threshold=0.5)
    sd, Q = transfer.step_spread(problem, config), problem.context
    A = Q[None] + sd[None, None, :] * jax.random.normal(key, (DRAWS, *Q.shape))
    exact = jnp.all((0.5 * jnp.max(A, axis=1, keepdims=True) <= A) == (Q > 0)[None], axis=1)
    p = transfer.step_recovery(problem, config)
    return p, jnp.mean(exact.astype(float), axis=0), jnp.sqrt(p * (1 - p) / DRAWS) + 1 / DRAWS


def transfer_gathers(key: Array, config: Config) -> Compared:
    """Two batches, one step of A on both by autodiff, with and without the threshold; V waits."""
    problem, _ = every.setting(key, config)
    B = config.batch_size.cap
    joined = every.random_batch(key, config.replace(batch_size=2 * B))
    parts = [jax.tree.map(lambda x, i=i: x[i * B : (i + 1) * B], joined) for i in range(2)]
    got, want = [], []
    for lam in (0.0, 0.1):
        small = config.replace(switch_step=2, l1=lam)
        state = training.init_transfer(key, problem, small)
        g = one_hot_gradient(state.params, joined, problem)
        A = state.params.attention - transfer.first_rate(problem, small) * g
        top = jnp.max(A, axis=0, keepdims=True)
        cut = jnp.where(small.stage_threshold * top <= A, A, 0)
        want.append(Params(A if lam == 0 else cut + (1 - jnp.sum(cut, axis=0, keepdims=True)) / len(A), state.params.value))
        for t, batch in enumerate(parts):
            state = training.transfer_step(key, jnp.asarray(t), state, batch, problem, small)
        got.append(state.params)
    return got, want


def one_hot_gradient(params: Params, batch: Batch, problem: Problem) -> Float[Array, "T N"]:
    """The preconditioned gradient of A by autodiff through one-hot matrices."""
    N = len(problem.stationary)

    def loss(A: Array) -> Array:
        p = jnp.einsum("btn,tb->bn", jax.nn.one_hot(batch.tokens, N), A[:, batch.query])
        return jnp.mean(jnp.sum((p @ params.value.T - jax.nn.one_hot(batch.label, N)) ** 2, axis=1)) / 2

    g = jax.grad(loss)(params.attention)
    return (g - jnp.mean(g, axis=0, keepdims=True)) / problem.stationary[None, :]


def later_steps_are_proximal(key: Array, config: Config) -> Compared:
    """After tau, transfer takes the steps of algorithm 1."""
    problem, params = every.setting(key, config)
    batch, late = every.random_batch(key, config), jnp.asarray(config.switch_step + 1)
    state = training.Transfer(params, jnp.zeros_like(params.attention))
    return training.transfer_step(key, late, state, batch, problem, config).params, training.step(key, late, params, batch, problem, config)


def noise_without_prox(key: Array, config: Config) -> Compared:
    """Where lambda = 0: the population's step less eta times the draw."""
    problem, params = every.setting(key, config)
    off, t = config.replace(l1=0.0), jnp.asarray(9)
    h, mean = noise.draw(key, params, problem, off), training.population_step(key, t, params, (), problem, off)
    want = jax.tree.map(lambda x, h, eta: x - eta * h, mean, h, training.rates(t, problem, off))
    return training.noise_step(key, t, params, (), problem, off), want


def preconditioned_matrices(key: Array, config: Config) -> Compared:
    """(I - 1 1^T / n) g diag(1 / mu)."""
    problem, params = every.setting(key, config)
    g = every.loose(params)
    want = jax.tree.map(lambda g: (jnp.eye(len(g)) - 1 / len(g)) @ g @ jnp.diag(1 / problem.stationary), g)
    return calculus.preconditioned(g, problem, config), want


def _equal(name: str, source: str, fn: Any) -> Check:
    return Check(name, source, "equal", fn)


NOISE_CHECKS = (
    _equal("population_step: equation (8) on the lines", "equation (7)", path_of_matrices),
    _equal("occupancy_moment: enumeration of all contexts", "derived", occupancy_enumerated),
    _equal("residual_moment: enumeration of all contexts", "derived", residual_enumerated),
    _equal("attention_variance: enumeration at unattended positions", "derived", variance_enumerated),
    _equal("attention_variance: matrices of each column", "derived", variance_by_trace),
    _equal("factor: of singular matrices", "derived", factor_squares),
    Check("draw: covariance of the draws", "appendix I; covariance derived", "sample", draw_covariance),
    _equal("growth_noise: noise of the start over pairs of tokens", "derived", sign_law_from_pairs),
    _equal("initial_alignment: projections of the start", "lemma H.1", transfer_start),
    _equal("first_rate: mean step ends at Q", "lemma H.2", first_rate_reaches),
    _equal("step_spread: matrices of each column", "derived", step_spread_by_trace),
    Check("step_recovery: thresholded Gaussians", "derived", "sample", step_recovery_sampled),
    _equal("transfer_step: one step on the gathered batches", "appendix H", transfer_gathers),
    _equal("transfer_step: second stage of algorithm 1", "section 4", later_steps_are_proximal),
    _equal("noise_step: population step plus the draw", "appendix I", noise_without_prox),
    _equal("preconditioned: the matrices written out", "equation (4)", preconditioned_matrices),
)
