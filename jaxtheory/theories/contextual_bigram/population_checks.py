"""Checks of the population's closed forms: enumeration of all contexts, autodiff, and steps of the matrices."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.theory import Check
from jaxtheory.theories.contextual_bigram import calculus, dynamics, model, population, predictions, training
from jaxtheory.theories.contextual_bigram import enumeration as every
from jaxtheory.theories.contextual_bigram.model import Config, Params
from jaxtheory.theories.contextual_bigram.population import Alignment

Compared = tuple[Any, ...] | None


def needs_enumeration(check: Callable) -> Callable:
    """None where the contexts are too many to list."""

    @wraps(check)
    def fn(key: Array, config: Config) -> Compared:
        return check(key, config) if every.enumerable(config) else None

    return fn


@needs_enumeration
def population_loss_enumerated(key: Array, config: Config) -> Compared:
    problem, params = every.setting(key, config)
    params = every.loose(params)
    return population.population_loss(params, problem, config), every.enumerated_loss(params, every.population(problem, config))


@needs_enumeration
def expected_gradient_enumerated(key: Array, config: Config) -> Compared:
    problem, params = every.setting(key, config)
    params = every.loose(params)
    want = every.enumerated_gradient(params, every.population(problem, config))
    return population.expected_gradient(params, problem, config), want


@needs_enumeration
def expected_preconditioned_enumerated(key: Array, config: Config) -> Compared:
    """With the projections written out as matrices."""
    problem, params = every.setting(key, config)
    g_A, g_V = every.enumerated_gradient(params, every.population(problem, config))
    without_mean = lambda g: (jnp.eye(len(g)) - 1 / len(g)) @ g / problem.stationary[None, :]
    return population.expected_preconditioned(params, problem, config), Params(without_mean(g_A), without_mean(g_V))


@needs_enumeration
def bayes_enumerated(key: Array, config: Config) -> Compared:
    """1/2 E |e_y - E[e_y | X, k]|^2 = 1/2 (1 - E |P(y | X, k)|^2), from the joint law alone."""
    problem, _ = every.setting(key, config)
    law = every.population(problem, config).law
    return population.bayes_loss(problem, config), (1 - jnp.sum(law**2 / jnp.sum(law, axis=2, keepdims=True))) / 2


@needs_enumeration
def excess_enumerated(key: Array, config: Config) -> Compared:
    """1/2 E |F - E[e_y | X, k]|^2."""
    problem, params = every.setting(key, config)
    params = every.loose(params)
    law = every.population(problem, config).law
    F = every.occupancies(params.attention, every.population(problem, config)) @ params.value.T
    weight = jnp.sum(law, axis=2, keepdims=True)
    return population.excess_loss(params, problem, config), jnp.sum(weight * (F - law / weight) ** 2) / 2


def excess_at_the_task(key: Array, config: Config) -> Compared:
    """A = Q and V = P have none, and V / c makes up for c A; a 1 sets the scale."""
    problem, _ = every.setting(key, config)
    trivial = model.trivial_value(problem, config)
    half = Params(2 * problem.context - model.uniform_attention(config), problem.transition)
    exact = Params(problem.context, problem.transition)
    a2 = population.inner(half.attention, half.attention, problem.stationary)
    best = half._replace(value=population.optimal_value(half.attention, problem, config))
    overlap = population.inner(half.attention, problem.context, problem.stationary)
    K_P, K_Q = population.signals(problem, config)
    left = K_P / 2 * (K_Q + 1 / config.length.cap - overlap**2 / a2)
    got = [population.excess_loss(p, problem, config) for p in (exact, best)]
    return jnp.stack([jnp.ones(()), *got]), jnp.stack([jnp.ones(()), jnp.zeros_like(left), left]) + 0 * trivial[0, 0]


@needs_enumeration
def laws_enumerated(key: Array, config: Config) -> Compared:
    """At all tokens, for two positions of which Q attends to the first, per query."""
    problem, _ = every.setting(key, config)
    X, law = every.population(problem, config)
    T = config.length.cap
    got, want = [], []
    for k in range(config.num_states.cap):
        s, t = 2 * k % T, (2 * k + 1) % T
        given_k = law[:, k] / problem.stationary[k]
        index = np.indices([config.num_states.cap] * 3).reshape(3, -1)
        got.append(jax.vmap(lambda i, j, l, s=s, t=t, k=k: population.pair_law(i, j, l, s, t, k, problem))(*map(jnp.asarray, index)))
        want.append(jnp.einsum("mi,mj,ml->ijl", X[:, s], X[:, t], given_k).ravel())
    return got, want


@needs_enumeration
def attended_enumerated(key: Array, config: Config) -> Compared:
    """At every position, token and label, per query."""
    problem, _ = every.setting(key, config)
    X, law = every.population(problem, config)
    N, T = config.num_states.cap, config.length.cap
    index = map(jnp.asarray, np.indices((N, N, T, N)).reshape(4, -1))
    got = jax.vmap(lambda i, l, s, k: population.attended_law(i, l, s, k, problem))(*index)
    return got, (jnp.einsum("mti,mkl->iltk", X, law) / problem.stationary[None, None, None, :]).ravel()


def alignment_by_autodiff(key: Array, config: Config) -> Compared:
    """The minimum of |A - A~|^2 in alpha, a parabola: -f'(0) / f''(0). Columns with any sum; with sum 1, the printed forms too."""
    problem, params = every.setting(key, config)
    mu, U = problem.stationary, 1 / config.length.cap

    def nearest(M: Array, start: Array, end: Array) -> Array:
        f = lambda alpha: jnp.sum(mu[None, :] * (M - alpha * end - (1 - alpha) * start) ** 2)
        return -jax.grad(f)(0.0) / jax.grad(jax.grad(f))(0.0)

    def line(p: Params) -> Alignment:
        start_V = jnp.broadcast_to(mu[:, None], p.value.shape)
        start_A = jnp.full_like(p.attention, U)
        return Alignment(nearest(p.attention, start_A, problem.context), nearest(p.value, start_V, problem.transition))

    m = params.value @ mu
    K_P, K_Q = every.constants(problem)
    overlap = every.dot(mu, params.value, problem.transition) - m @ mu
    printed = Alignment((every.dot(mu, params.attention, problem.context) - U) / K_Q, overlap / K_P)
    got = [population.alignment(p, problem, config) for p in (params, every.loose(params), params)]
    return got, [line(params), line(every.loose(params)), printed]


def residual_pythagoras(key: Array, config: Config) -> Compared:
    """Orthogonal to the lines, and K_V = alpha_V^2 K_P + |Delta_V|^2 - |Delta_V mu|^2, |A|^2 = alpha_A^2 K_Q + 1/T + |Delta_A|^2."""
    problem, params = every.setting(key, config)
    mu = problem.stationary
    off, (a, v) = population.residual(params, problem, config), population.alignment(params, problem, config)
    K_P, K_Q = population.signals(problem, config)
    m = params.value @ mu
    across = jnp.stack(
        [
            every.dot(mu, off.value, problem.transition - mu[:, None]),
            every.dot(mu, off.attention, problem.context),
            jnp.sum(off.attention),
        ]
    )
    squares = jnp.stack(
        [
            v**2 * K_P + every.dot(mu, off.value, off.value) - jnp.sum((off.value @ mu) ** 2),
            a**2 * K_Q + 1 / config.length.cap + every.dot(mu, off.attention, off.attention),
        ]
    )
    want = jnp.stack([every.dot(mu, params.value, params.value) - m @ m, every.dot(mu, params.attention, params.attention)])
    return (across, squares), (jnp.zeros(3), want)


def stepped(key: Array, config: Config) -> tuple:
    """One step of the matrices along the closed gradients plus centred noise; that these are right is checked by enumeration."""
    problem, params = every.setting(key, config)
    noise = jax.tree.map(lambda x: x - 1 / len(x), every.setting(jax.random.fold_in(key, 1), config)[1])
    rates = Params(jnp.asarray(0.3), jnp.asarray(0.2))
    slope = population.expected_preconditioned(params, problem, config)
    new = jax.tree.map(lambda x, g, h, eta: x - eta * (g + h), params, slope, noise, rates)
    return problem, params, noise, rates, new


def projected_step_matrices(key: Array, config: Config) -> Compared:
    problem, params, noise, rates, new = stepped(key, config)
    return population.projected_step(params, noise, rates, problem, config), population.alignment(new, problem, config)


def residual_step_matrices(key: Array, config: Config) -> Compared:
    problem, params, noise, rates, new = stepped(key, config)
    return population.residual_step(params, noise, rates, problem, config), population.residual(new, problem, config)


def residual_step_contracts(key: Array, config: Config) -> Compared:
    """Lemma F.2: V mu = mu, no noise: Delta_V shrinks by 1 - eta_V |A|^2."""
    if config.num_states.cap == 2:
        return None  # V mu = mu leaves no Delta_V
    problem, params = every.setting(key, config)
    V = params.value - ((params.value @ problem.stationary) - problem.stationary)[:, None]
    params = params._replace(value=V)
    zero = jax.tree.map(jnp.zeros_like, params)
    got = population.residual_step(params, zero, Params(jnp.zeros(()), jnp.asarray(0.2)), problem, config).value
    factor = 1 - 0.2 * every.dot(problem.stationary, params.attention, params.attention)
    return got, factor * population.residual(params, problem, config).value


@needs_enumeration
def optimal_value_regression(key: Array, config: Config) -> Compared:
    """Least squares of e_y on p over all contexts: E e_y p^T (E p p^T)^-1."""
    problem, params = every.setting(key, config)
    everything = every.population(problem, config)
    p = every.occupancies(params.attention, everything)
    cross = jnp.einsum("mky,mkn->yn", everything.law, p)
    square = jnp.einsum("mky,mkn,mkl->nl", everything.law, p, p)
    return population.optimal_value(params.attention, problem, config), jnp.linalg.solve(square, cross.T).T


def aligned_alphas(key: Array, config: Config) -> Compared:
    """The alphas of A~, V~ are those given, and alpha = 1 is the task."""
    problem, _ = every.setting(key, config)
    alpha = Alignment(*jax.random.normal(key, (2,)))
    again = population.alignment(population.aligned(alpha, problem, config), problem, config)
    one = jnp.ones(())
    task = population.aligned(Alignment(one, one), problem, config)
    return (again, task), (alpha, Params(problem.context, problem.transition))


# Dynamics


def trained(problem: model.Problem, config: Config, length: int, step: Callable) -> list[Alignment]:
    """The alphas along a run of the matrices, with the residual's size, which must vanish."""
    state = model.init(problem.stationary, problem, config)
    seen = []
    for t in range(length):
        seen.append(population.alignment(state, problem, config))
        state = step(t, state)
    return seen


def path_of_matrices(key: Array, config: Config) -> Compared:
    problem, _ = every.setting(key, config)
    config = config.replace(switch_step=2, learning_rate=0.3)
    run = trained(problem, config, 5, lambda t, s: training.population_step(key, jnp.asarray(t), s, (), problem, config))
    return dynamics.path(5, problem, config), jax.tree.map(lambda *x: jnp.stack(x), *run)


def prox_path_of_matrices(key: Array, config: Config) -> Compared:
    """The algorithm's steps along the expected gradient, where threshold and prox bite."""
    if config.weights != "uniform" or config.prox != "two_case" or config.length.cap > 6:
        return None
    problem, _ = every.setting(key, config)
    config = config.replace(switch_step=3, learning_rate=0.5, late_learning_rate=0.1, l1=0.15, stage_threshold=0.6)
    slope = lambda params: population.expected_preconditioned(params, problem, config)
    run = trained(problem, config, 7, lambda t, s: training.proximal_step(jnp.asarray(t), s, slope, problem, config))
    return dynamics.path(7, problem, config, prox=True), jax.tree.map(lambda *x: jnp.stack(x), *run)


def sparsified_matrix(key: Array, config: Config) -> Compared:
    """lambda between the entries off and on the support, below both, and a share of the smaller where it does nothing."""
    problem, _ = every.setting(key, config)
    least = jnp.min(jnp.where(problem.context > 0, problem.context, 1))
    got, want = [], []
    for x, alpha in zip(jax.random.uniform(key, (3,)), (0.3, 0.8, 1.4), strict=True):
        background = (1 - alpha) / config.length.cap
        A = alpha * problem.context + background
        for lam in (jnp.maximum(background, 0) + x * (alpha * least + jnp.minimum(background, 0)), x * jnp.maximum(background, 0)):
            thinned = jnp.where(lam <= A, A - lam, 0)
            thinned = thinned + (1 - jnp.sum(thinned, axis=0, keepdims=True)) / config.length.cap
            got.append(dynamics.sparsified(jnp.asarray(alpha), lam, problem, config))
            want.append(population.alignment(Params(thinned, problem.transition), problem, config).attention)
    return jnp.stack(got), jnp.stack(want)


def early_solves(key: Array, config: Config) -> Compared:
    """d alpha_V / ds = alpha_A + d and d alpha_A / ds = alpha_V, from 0."""
    problem, _ = every.setting(key, config)
    s = jnp.concatenate([jnp.zeros(1), jax.random.uniform(key, (8,), maxval=5.0)])
    alpha, slope = jax.jvp(lambda s: dynamics.early(s, problem, config), (s,), (jnp.ones_like(s),))
    d = 1 / (config.length.cap * every.constants(problem)[1])
    start = jnp.stack([alpha.attention[0], alpha.value[0]])
    return (slope.attention, slope.value, start), (alpha.value, alpha.attention + d, jnp.zeros(2))


def elapsed_sum(key: Array, config: Config) -> Compared:
    t = jnp.arange(9, dtype=jnp.int32)
    rates = dynamics.rate(t, config)
    return dynamics.elapsed(t, config), jnp.cumsum(rates) - rates


def boosting_steps_reach(key: Array, config: Config) -> Compared:
    """alpha_V of the early form after that many steps."""
    problem, _ = every.setting(key, config)
    level = jnp.asarray([0.01, 0.1, 1.0])
    steps = dynamics.boosting_steps(level, problem, config)
    return dynamics.early(config.learning_rate * steps, problem, config).value, level


def boosting_steps_population(key: Array, config: Config) -> Compared:
    """Within 10 % of the steps of equation (8) until alpha_V = 0.1, at T K_Q = 500 and eta = 0.02."""
    if config.length.cap > 5:
        return None
    problem, _ = every.setting(key, config)
    flat = config.replace(length=model.Size(1000), learning_rate=0.02, switch_step=10_000)
    context = jnp.zeros((1000, config.num_states.cap)).at[: config.length.cap].set(problem.context)
    problem = problem._replace(context=context)
    alpha_V = dynamics.path(600, problem, flat).value
    steps = dynamics.boosting_steps(0.1, problem, flat)
    reached = jnp.argmax(alpha_V >= 0.1).astype(float)
    return jnp.abs(steps - reached), 0.1 * reached


def eigenvalues_of_jacobian(key: Array, config: Config) -> Compared:
    """Sum and product are trace and determinant; the leading orders are -2 and -d/2 within d."""
    problem, _ = every.setting(key, config)
    one = Alignment(jnp.ones(()), jnp.ones(()))
    move = lambda a, v: jnp.stack(dynamics.boosted(Alignment(a, v), 1.0, problem, config)) - jnp.stack([a, v])
    J = jnp.stack(jax.jacfwd(move, argnums=(0, 1))(*one), axis=1)
    found = dynamics.eigenvalues(problem, config)
    det = J[0, 0] * J[1, 1] - J[0, 1] * J[1, 0]
    return jnp.stack([jnp.sum(found), jnp.prod(found)]), jnp.stack([jnp.trace(J), det])


def line_loss(key: Array, config: Config) -> Compared:
    problem, _ = every.setting(key, config)
    alpha = Alignment(*jax.random.normal(key, (2,)))
    params = population.aligned(alpha, problem, config)
    want = population.population_loss(params, problem, config) - population.bayes_loss(problem, config)
    return predictions.excess_on_line(alpha, problem, config), want


# Rounding


def near_line(key: Array, config: Config) -> tuple:
    """A task, and A near its line with all attended entries well above the others."""
    problem, params = every.setting(key, config)
    noise = params.attention - 1 / len(params.attention)
    alpha = 0.6 + 0.8 * jax.random.uniform(key)
    return problem, alpha * problem.context + (1 - alpha) / len(noise) + 0.05 * noise


def threshold_bound(key: Array, config: Config) -> Compared:
    problem, A = near_line(key, config)
    least = jnp.min(jnp.where(problem.context > 0, A / jnp.max(A, axis=0, keepdims=True), 1))
    cut = Params(calculus.thresholded(A, least * (1 - 1e-9), config), problem.transition)
    before = population.alignment(Params(A, problem.transition), problem, config).attention
    after = population.alignment(cut, problem, config).attention
    residual = population.norm(population.residual(cut, problem, config).attention, problem.stationary)
    return jnp.stack([residual, jnp.abs(after - before)]), jnp.stack(predictions.threshold_bounds(A, problem, config))


def rounding_bounded(key: Array, config: Config) -> Compared:
    problem, A = near_line(key, config)
    kept = jnp.where(problem.context > 0, A, 0)
    error = kept / jnp.sum(kept, axis=0, keepdims=True) - problem.context
    return population.norm(error, problem.stationary), predictions.rounding_bound(A, problem, config)


def _equal(name: str, source: str, fn: Callable) -> Check:
    return Check(name, source, "equal", fn)


POPULATION_CHECKS = (
    _equal("population_loss: enumeration of all contexts", "derived", population_loss_enumerated),
    _equal("expected_gradient: autodiff of the enumeration", "lemma B.7", expected_gradient_enumerated),
    _equal("expected_preconditioned: autodiff of the enumeration", "lemma B.8", expected_preconditioned_enumerated),
    _equal("bayes_loss: enumeration of all contexts", "derived", bayes_enumerated),
    _equal("excess_loss: enumeration of all contexts", "derived", excess_enumerated),
    _equal("excess_loss: at the task, and at V*", "derived", excess_at_the_task),
    _equal("attended_law: enumeration of all contexts", "lemma B.1", attended_enumerated),
    _equal("pair_law: enumeration of all contexts", "lemma B.2", laws_enumerated),
    _equal("alignment: nearest point of the lines", "lemma C.1", alignment_by_autodiff),
    _equal("residual: orthogonal to the lines", "lemma C.2", residual_pythagoras),
    _equal("projected_step: step of the matrices with noise", "lemma C.5", projected_step_matrices),
    _equal("residual_step: step of the matrices with noise", "lemma C.6", residual_step_matrices),
    _equal("residual_step: contraction with A frozen", "lemma F.2", residual_step_contracts),
    _equal("optimal_value: regression over all contexts", "derived", optimal_value_regression),
    _equal("aligned: has the alphas given", "section 3.1", aligned_alphas),
    _equal("path: population descent on the matrices", "equation (8)", path_of_matrices),
    _equal("path: threshold and prox on the matrices", "derived", prox_path_of_matrices),
    _equal("sparsified: prox and projection of the matrix", "derived", sparsified_matrix),
    _equal("early: solves the linear equations", "equation (9)", early_solves),
    _equal("elapsed: sum of the rates", "equation (8)", elapsed_sum),
    _equal("boosting_steps: inverts the early form", "derived", boosting_steps_reach),
    Check("boosting_steps: within a tenth of equation (8)", "lemma D.1", "bound", boosting_steps_population),
    _equal("eigenvalues: trace and determinant of the Jacobian", "section 3.4", eigenvalues_of_jacobian),
    _equal("excess_on_line: loss of the matrices", "derived", line_loss),
    Check("threshold_bounds: thresholded matrices near the line", "lemma E.2", "bound", threshold_bound),
    Check("rounding_bound: rounded matrices near the line", "lemma F.1", "bound", rounding_bounded),
)
