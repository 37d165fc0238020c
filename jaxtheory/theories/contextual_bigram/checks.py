"""Checks of the task, the sampler, the gradient and the algorithms; and the small configs that all checks run on."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Check
from jaxtheory.theories.contextual_bigram import calculus, model, population, sampling, task, training
from jaxtheory.theories.contextual_bigram import enumeration as every
from jaxtheory.theories.contextual_bigram.model import Batch, Config, Params, Problem
from jaxtheory.theories.contextual_bigram.noise_checks import NOISE_CHECKS
from jaxtheory.theories.contextual_bigram.population_checks import POPULATION_CHECKS, Compared

BATCHES = 400
MANY = 4000


# The task


def stationary_fixed(key: Array, config: Config) -> Compared:
    """P mu = mu, 1^T mu = 1, for a random P and one of rare tokens; by columns of the drawn or given P."""
    N = config.num_states.cap
    X = jax.random.uniform(key, (2, N, N)) + 0.01
    X = X.at[1].multiply((10.0 ** -jnp.arange(float(N)))[:, None])
    P = X / jnp.sum(X, axis=1, keepdims=True)
    mu = jax.vmap(task.stationary)(P)
    return (mu, jnp.sum(mu, axis=1)), (jnp.einsum("cyx,cx->cy", P, mu), jnp.ones(2))


def problem_is_a_task(key: Array, config: Config) -> Compared:
    """Columns sum to 1, mu is stationary for P and P~, Q has Q entries a column, P~ has correlation rho with P, or is P."""
    problem = task.problem(key, config)
    P, mu, Q, near = problem
    N = config.num_states.cap
    gap, near_gap = P - mu[:, None], near - mu[:, None]
    got = (
        jnp.stack([jnp.sum(x, axis=0) for x in (P, Q, near)]),
        jnp.stack([P @ mu, near @ mu]),
        jnp.sum(Q > 0, axis=0).astype(float),
        every.dot(mu, gap, near_gap) / jnp.sqrt(every.dot(mu, gap, gap) * every.dot(mu, near_gap, near_gap)),
        jnp.stack([jnp.min(x) >= 0 for x in (P, mu, Q, near)]).astype(float),
    )
    want = (jnp.ones((3, N)), jnp.stack([mu, mu]), jnp.full((N,), float(config.sparsity.cap)), config.correlation, jnp.ones(4))
    return got, jax.tree.map(lambda x: jnp.asarray(x, float), want)


def dirichlet_moments(key: Array, config: Config) -> Compared:
    """Means 1/N, second moments (alpha + 1) / (N (N alpha + 1)) and cross moments alpha / (N (N alpha + 1))."""
    if config.num_states.cap > 3:
        return None
    N, alpha = config.num_states.cap, config.concentration
    p = task.dirichlet(key, model.Size(MANY), config)
    found = jnp.concatenate([p, p**2, p * jnp.roll(p, 1, axis=1)], axis=1)
    one = jnp.ones(N) / N
    law = jnp.concatenate([one, one * (alpha + 1) / (N * alpha + 1), one * alpha / (N * alpha + 1)])
    return jnp.mean(found, axis=0), law, jnp.std(found, axis=0) / MANY**0.5


def given_is_taken(key: Array, config: Config) -> Compared:
    if config.given is None:
        return None
    return task.problem(key, config).transition, jnp.asarray(config.given)


# The samples


def samples_law(key: Array, config: Config) -> Compared:
    """Many batches: the joint law of query, token at the first attended position and label, which is mu_k times lemma B.1; the law of each
    token; and that of neighbouring pairs, which share a word or not.
    """
    if config.prox != "two_case":
        return None  # the sampler does not see it
    problem, _ = every.setting(key, config)
    batches = jax.vmap(lambda k: sampling.sample(k, problem, config))(jax.random.split(key, BATCHES))
    x, query, label = (jnp.reshape(leaf, (-1, *leaf.shape[2:])).astype(jnp.int32) for leaf in batches)
    N, n = config.num_states.cap, len(label)
    P, mu, Q = problem.transition, problem.stationary, problem.context
    first = jnp.argmax(Q > 0, axis=0)
    seen = jnp.take_along_axis(x, first[query][:, None], axis=1)[:, 0]
    weight = Q[first, jnp.arange(N)][:, None, None]
    joint = mu[:, None, None] * mu[None, :, None] * (weight * P.T[None] + (1 - weight) * mu[None, None, :])
    hot = lambda x: jax.nn.one_hot(x, N)
    found = (
        jnp.einsum("bk,bi,bl->kil", hot(query), hot(seen), hot(label)) / n,
        jnp.mean(hot(x), axis=0),
        jnp.einsum("bti,btj->tij", hot(x[:, :-1]), hot(x[:, 1:])) / n,
    )
    pair = jnp.broadcast_to((mu[:, None] * mu[None, :])[None], found[2].shape)
    law = (joint, jnp.broadcast_to(mu[None, :], found[1].shape), pair)
    return found, law, jax.tree.map(lambda p: jnp.sqrt(p * (1 - p) / n), law)


def thresholds_dither(key: Array, config: Config) -> Compared:
    """The mean over a grid of U of floor(c 2^16 + U), over 2^16, is the cumulative mu to half the grid's spacing."""
    problem, _ = every.setting(key, config)
    grid = (jnp.arange(1000.0) + 0.5) / 1000
    mean = jnp.mean(sampling.thresholds(problem.stationary, grid, config).astype(float), axis=0) / 2**16
    cumulative = jnp.stack([jnp.sum(problem.stationary[: n + 1]) for n in range(config.num_states.cap - 1)])
    return jnp.abs(mean - cumulative), jnp.full(mean.shape, 0.51 / 1000 / 2**16)


def tokens_count(key: Array, config: Config) -> Compared:
    """Tokens by comparing with every threshold."""
    problem, _ = every.setting(key, config)
    halves = jax.random.bits(key, (5, 64), jnp.uint16)
    limits = sampling.thresholds(problem.stationary, jnp.linspace(0.0, 0.9, 5), config)
    want = jnp.sum(halves.astype(jnp.int32)[:, :, None] >= limits[:, None, :], axis=2)
    return sampling.count_reached(halves, limits, config).astype(float), want.astype(float)


def generated_law(key: Array, config: Config) -> Compared:
    """Two further tokens from a fixed start: the joint law by two steps of P X q^(k)."""
    if config.num_states.cap > 4:
        return None
    problem, _ = every.setting(key, config)
    N, T = config.num_states.cap, config.length.cap
    start = jnp.arange(T + 1, dtype=jnp.int32) % N
    keys = jax.random.split(key, 2000)
    outputs = jax.vmap(lambda k: sampling.generate(k, problem, start, 2, config))(keys)
    after = lambda window: problem.transition @ (jax.nn.one_hot(window[:T], N).T @ problem.context[:, window[T]])
    windows = jnp.stack([jnp.append(start[1:], jnp.int32(y)) for y in range(N)])
    law = after(start)[:, None] * jax.vmap(after)(windows)
    hot = jax.nn.one_hot(outputs, N)
    return jnp.mean(hot[:, 0, :, None] * hot[:, 1, None, :], axis=0), law, jnp.sqrt(law * (1 - law) / len(outputs))


# Loss and gradients


def literal_loss(params: Params, batch: Batch, config: Config) -> Array:
    """Mean over samples of 1/2 |e_y - V X a|^2 with one-hot matrices."""
    N = config.num_states.cap

    def one(x: Array, k: Array, y: Array) -> Array:
        X = jax.nn.one_hot(x, N).T
        return jnp.sum((jax.nn.one_hot(y, N) - params.value @ (X @ params.attention[:, k])) ** 2) / 2

    return jnp.mean(jax.vmap(one)(*batch))


def loss_one_hot(key: Array, config: Config) -> Compared:
    problem, params = every.setting(key, config)
    params, batch = every.loose(params), every.random_batch(key, config)
    return model.loss(params, batch, problem, config), literal_loss(params, batch, config)


def gradient_autodiff(key: Array, config: Config) -> Compared:
    problem, params = every.setting(key, config)
    params, batch = every.loose(params), every.random_batch(key, config)
    want = [jax.grad(model.loss)(params, batch, problem, config), jax.grad(literal_loss)(params, batch, config)]
    return [calculus.gradient(params, batch, problem, config)] * 2, want


def softmax_autodiff(key: Array, config: Config) -> Compared:
    """Of the loss in the logits."""
    problem, params = every.setting(key, config)
    batch = every.random_batch(key, config)
    of = lambda W: params._replace(attention=jax.nn.softmax(W, axis=0))
    want = jax.grad(lambda W: literal_loss(of(W), batch, config))(params.attention)
    here = of(params.attention)
    return calculus.softmax_gradient(here.attention, calculus.gradient(here, batch, problem, config).attention), want


# Maps on A


def soft_threshold_cases(key: Array, config: Config) -> Compared:
    """Case by case, on a grid that hits the corners."""
    grid = [i / 16 for i in range(-8, 9)]
    lam = 0.25
    cases = [a - lam if a >= lam else (a + lam if a <= -lam and config.prox == "textbook" else 0.0) for a in grid]
    return calculus.soft_threshold(jnp.asarray(grid), lam, config), jnp.asarray(cases)


def simplex_bisected(key: Array, config: Config) -> Compared:
    """max(a - nu, 0) with the nu that makes it sum to 1, by bisection."""
    _, params = every.setting(key, config)
    A = 3 * params.attention

    def closer(_: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        above = jnp.sum(jnp.maximum(A - middle[None, :], 0), axis=0) > 1
        return jnp.where(above, middle, low), jnp.where(above, high, middle)

    top = jnp.max(A, axis=0)
    low, high = jax.lax.fori_loop(0, 60, closer, (top - 1, top))
    return calculus.on_simplex(A, config), jnp.maximum(A - ((low + high) / 2)[None, :], 0)


def affine_projection(key: Array, config: Config) -> Compared:
    """Least change with column sums 1: a + 1 (1^T 1)^-1 (1 - 1^T a)."""
    _, params = every.setting(key, config)
    A = every.loose(params).attention
    one = jnp.ones((len(A), 1))
    return calculus.projected(A, config), A + one @ jnp.linalg.inv(one.T @ one) @ (1 - one.T @ A)


def rounding_by_entries(key: Array, config: Config) -> Compared:
    """Rounded and thresholded entry by entry, twice rounded is once, and a column without a positive entry is uniform and flagged."""
    _, params = every.setting(key, config)
    A, theta = params.attention, config.stage_threshold
    A = A.at[:, 0].set(-jnp.abs(A[:, 0]))
    rounded = calculus.rounded(A, theta, config)
    large = (theta * jnp.max(A, axis=0)[None, :] <= A).astype(float) * A
    large = large.at[:, 0].set(0)
    sums = jnp.sum(large, axis=0, keepdims=True)
    want = jnp.where(sums == 0, 1 / len(A), large / jnp.where(sums == 0, 1, sums))
    empty = calculus.empty_columns(A, config).astype(float)
    thresholded = calculus.thresholded(A, theta, config)
    got = rounded, calculus.rounded(rounded, theta, config), thresholded, empty
    return got, (want, want, large + (1 - sums) / len(A), jnp.zeros_like(empty).at[0].set(1))


# The algorithms


def literal_proximal(t: int, params: Params, batch: Batch, problem: Problem, config: Config) -> Params:
    """One step of algorithm 1 with autodiff gradients and every map written out; tau = 1."""
    A, V, mu = *params, problem.stationary
    T = len(A)
    project = lambda A: A + (1 - jnp.sum(A, axis=0, keepdims=True)) / T
    lam = config.l1
    if t == 1:
        A = jnp.where(lam > 0, project(jnp.where(config.stage_threshold * jnp.max(A, axis=0)[None, :] <= A, A, 0)), A)
    g_A, g_V = jax.grad(literal_loss)(Params(A, V), batch, config)
    g_A, g_V = ((g - jnp.mean(g, axis=0, keepdims=True)) / mu[None, :] for g in (g_A, g_V))
    eta = config.learning_rate if t < 1 else config.late_learning_rate
    K_P, K_Q = every.constants(problem)
    A, V = A - eta / K_P * g_A, V - eta / K_Q * g_V
    if t >= 1:
        relu = jnp.where(lam <= A, A - lam, 0)
        soft = jnp.where(-lam >= A, A + lam, relu) if config.prox == "textbook" else relu
        A = jnp.where(lam > 0, calculus.on_simplex(A, config) if config.prox == "simplex" else project(soft), A)
    return Params(A, V)


def proximal_as_written(key: Array, config: Config) -> Compared:
    """A step before the switch and one at it."""
    problem, params = every.setting(key, config)
    config = config.replace(switch_step=1, learning_rate=0.1, late_learning_rate=0.2)
    got = want = params
    for t in range(2):
        batch = every.random_batch(jax.random.fold_in(key, t), config)
        got = training.step(key, jnp.asarray(t), got, batch, problem, config)
        want = literal_proximal(t, want, batch, problem, config)
    return got, want


def sgd_is_proximal_without_l1(key: Array, config: Config) -> Compared:
    """On both sides of the switch, against algorithm 1 written out at lambda = 0."""
    problem, params = every.setting(key, config)
    batch, off = every.random_batch(key, config), config.replace(switch_step=1, l1=0.0)
    times = [jnp.asarray(t) for t in (0, 1)]
    written = [literal_proximal(t, params, batch, problem, off) for t in (0, 1)]
    steps = training.sgd_step, training.step
    return [[step(key, t, params, batch, problem, off) for t in times] for step in steps], [written, written]


def plain_autodiff(key: Array, config: Config) -> Compared:
    problem, params = every.setting(key, config)
    batch = every.random_batch(key, config)
    g = jax.grad(literal_loss)(params, batch, config)
    eta, (K_P, K_Q) = config.learning_rate, every.constants(problem)
    want = Params(params.attention - eta / K_P * g.attention, params.value - eta / K_Q * g.value)
    early = config.replace(switch_step=9)
    return training.sgd_plain_step(key, jnp.asarray(3), params, batch, problem, early), want


def softmax_first_step(key: Array, config: Config) -> Compared:
    """Near uniform attention softmax moves A as the linear model does, where eta_W = eta_A T^2: relative difference <= 1e-5."""
    problem, params = every.setting(key, config)
    batch, T = every.random_batch(key, config), float(config.length.cap)
    rate = 1e-6 * population.signals(problem, config).value  # eta_A = 1e-6
    small = config.replace(switch_step=9, learning_rate=rate, softmax_rate=T)
    flat = jnp.full_like(params.attention, 1 / T)
    start = training.Softmax(jnp.zeros_like(flat), params.value)
    soft = training.softmax_params(training.softmax_step(key, jnp.asarray(0), start, batch, problem, small), problem, small)
    linear = training.sgd_step(key, jnp.asarray(0), params._replace(attention=flat), batch, problem, small)
    moved = linear.attention - flat
    return jnp.max(jnp.abs(soft.attention - flat - moved)), 1e-5 * jnp.max(jnp.abs(moved))


def softmax_step_autodiff(key: Array, config: Config) -> Compared:
    """Against descent on the logits by autodiff; V as in sgd."""
    problem, params = every.setting(key, config)
    batch, early = every.random_batch(key, config), config.replace(switch_step=9)
    W, mu = params.attention, problem.stationary
    of = lambda W: Params(jax.nn.softmax(W, axis=0), params.value)
    g_W = jax.grad(lambda W: literal_loss(of(W), batch, config))(W)
    rate = early.softmax_rate * early.learning_rate * config.length.cap / every.constants(problem)[0]
    value = literal_proximal(0, of(W), batch, problem, early).value
    got = training.softmax_step(key, jnp.asarray(0), training.Softmax(W, params.value), batch, problem, early)
    return got, training.Softmax(W - rate * g_W / mu[None, :], value)


def refit_as_written(key: Array, config: Config) -> Compared:
    """A rounded once and for all, V by autodiff."""
    problem, params = every.setting(key, config)
    got = params
    A = calculus.rounded(params.attention, config.stage_threshold, config)
    V, mu = params.value, problem.stationary
    K_Q = every.constants(problem)[1]
    for t in range(2):
        batch = every.random_batch(jax.random.fold_in(key, t), config)
        got = training.refit_step(key, jnp.asarray(t), got, batch, problem, config)
        g = jax.grad(literal_loss)(Params(A, V), batch, config).value
        V = V - config.late_learning_rate / K_Q * (g - jnp.mean(g, axis=0, keepdims=True)) / mu[None, :]
    return got, Params(A, V)


CHECKS = (
    Check("stationary: P mu = mu", "derived (GTH elimination)", "equal", stationary_fixed),
    Check("problem: sums, stationarity, sparsity, correlation", "section 2.1, section 4", "equal", problem_is_a_task),
    Check("dirichlet: first and second moments", "derived", "sample", dirichlet_moments),
    Check("problem: a given P is taken", "section 2.1", "equal", given_is_taken),
    Check("sample: law of query, attended token and label, of tokens and of pairs", "equation (1)", "sample", samples_law),
    Check("thresholds: mean over the dither", "derived", "bound", thresholds_dither),
    Check("count_reached: all thresholds compared", "derived", "equal", tokens_count),
    Check("generate: law of the next two tokens", "section 2.1", "sample", generated_law),
    Check("loss: one-hot matrices, sample by sample", "equation (3)", "equal", loss_one_hot),
    Check("gradient: autodiff of the loss and of its one-hot form", "lemma B.3", "equal", gradient_autodiff),
    Check("softmax_gradient: autodiff in the logits", "section 5.2", "equal", softmax_autodiff),
    Check("soft_threshold: case by case", "equation (6)", "equal", soft_threshold_cases),
    Check("on_simplex: multiplier by bisection", "derived", "equal", simplex_bisected),
    Check("projected: least change with column sums 1", "equation (6)", "equal", affine_projection),
    Check("rounded: entry by entry, idempotent, empty columns", "appendix F, section E.1", "equal", rounding_by_entries),
    Check("step: algorithm 1 as written", "algorithm 1", "equal", proximal_as_written),
    Check("sgd_step: algorithm 1 at lambda = 0", "section 5", "equal", sgd_is_proximal_without_l1),
    Check("sgd_plain_step: autodiff", "section 5", "equal", plain_autodiff),
    Check("softmax_step: autodiff in the logits", "section 5.2", "equal", softmax_step_autodiff),
    Check("softmax_step: linear near uniform attention", "section 5.2", "bound", softmax_first_step),
    Check("refit_step: A rounded, V by autodiff", "appendix F", "equal", refit_as_written),
    *POPULATION_CHECKS,
    *NOISE_CHECKS,
)

_FAST: dict[str, Any] = {"learning_rate": 0.05, "late_learning_rate": 0.02, "switch_step": 3, "l1": 0.01}
EXAMPLES = (
    Config(num_states=3, length=5, sparsity=2, batch_size=7, correlation=0.8, **_FAST),
    Config(num_states=2, length=4, sparsity=1, batch_size=3, stationary_floor=0.2, prox="textbook", **_FAST),
    Config(
        num_states=3, length=4, sparsity=4, batch_size=5, weights="unequal", **_FAST | {"learning_rate": 1e-3, "late_learning_rate": 5e-4}
    ),
    Config(
        num_states=3,
        length=6,
        sparsity=1,
        batch_size=1,
        prox="simplex",
        given=((0.1, 0.6, 0.0), (0.9, 0.0, 0.5), (0.0, 0.4, 0.5)),
        **_FAST,
    ),
    Config(num_states=10, length=8, sparsity=3, batch_size=16, stationary_floor=0.01, correlation=0.5, **_FAST),
)
