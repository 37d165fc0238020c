"""Checks of the population's closed forms by enumeration, autodiff and steps of the matrices.

The enumeration is of all contexts.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.ops import linalg
from jaxtheory.theories.contextual_bigram import model
from jaxtheory.theories.contextual_bigram.checks import literal, material
from jaxtheory.theories.contextual_bigram.checks.literal import Population
from jaxtheory.theories.contextual_bigram.laws import population
from jaxtheory.theories.contextual_bigram.model import Config, Params, Problem


@check("population_loss: enumeration of all contexts", "derived", "equal")
@literal.enumerated
def population_loss_enumerated(
    everything: Population, problem: Problem, params: Params, config: Config
) -> Compared:
    """The population loss by enumeration, at any A and V."""
    params = material.loose(params)
    return population.population_loss(params, problem, config), literal.enumerated_loss(
        params, everything
    )


@check("expected_gradient: autodiff of the enumeration", "lemma B.7", "equal")
@literal.enumerated
def expected_gradient_enumerated(
    everything: Population, problem: Problem, params: Params, config: Config
) -> Compared:
    """The expected gradient by enumeration, at any A and V."""
    params = material.loose(params)
    return population.expected_gradient(params, problem, config), jax.grad(literal.enumerated_loss)(
        params, everything
    )


@check("expected_preconditioned: autodiff of the enumeration", "lemma B.8", "equal")
@literal.enumerated
def expected_preconditioned_enumerated(
    everything: Population, problem: Problem, params: Params, config: Config
) -> Compared:
    """The expected preconditioned gradient by enumeration.

    The projections are written out as matrices.
    """
    want = literal.preconditioned(jax.grad(literal.enumerated_loss)(params, everything), problem)
    return population.expected_preconditioned(params, problem, config), want


@check("bayes_loss: enumeration of all contexts", "derived", "equal")
@literal.enumerated
def bayes_enumerated(
    everything: Population, problem: Problem, params: Params, config: Config
) -> Compared:
    """1/2 E |e_y - E[e_y | X, k]|^2 = 1/2 (1 - E |P(y | X, k)|^2), from the joint law alone."""
    law = everything.law
    square = jnp.sum(law**2 / jnp.sum(law, axis=2, keepdims=True))
    return population.bayes_loss(problem, config), (1 - square) / 2


@check("excess_loss: enumeration of all contexts", "derived", "equal")
@literal.enumerated
def excess_enumerated(
    everything: Population, problem: Problem, params: Params, config: Config
) -> Compared:
    """The excess loss 1/2 E |F - E[e_y | X, k]|^2 by enumeration."""
    params, law = material.loose(params), everything.law
    F = literal.occupancies(params.attention, everything) @ params.value.T
    weight = jnp.sum(law, axis=2, keepdims=True)
    return population.excess_loss(params, problem, config), jnp.sum(
        weight * (F - law / weight) ** 2
    ) / 2


@check("excess_loss: at the task, and at V*", "derived", "equal")
def excess_at_the_task(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The excess loss is zero at A = Q and V = P, and where V / c makes up for c A.

    A 1 beside them sets the scale.
    """
    half = Params(2 * problem.context - model.uniform_attention(config), problem.transition)
    exact = Params(problem.context, problem.transition)
    a2 = population.inner(half.attention, half.attention, problem.stationary)
    best = half._replace(value=population.optimal_value(half.attention, problem, config))
    overlap = population.inner(half.attention, problem.context, problem.stationary)
    K_P, K_Q = population.signals(problem, config)
    excess = K_P / 2 * (K_Q + 1 / config.length.cap - overlap**2 / a2)
    got = [population.excess_loss(p, problem, config) for p in (exact, best)]
    unit = jnp.ones(())
    return jnp.stack([unit, *got]), jnp.stack([unit, jnp.zeros_like(excess), excess])


def tokens(*counts: int) -> list[Array]:
    """All combinations of numbers below the counts, as one array for each count."""
    return [jnp.asarray(index) for index in np.indices(counts).reshape(len(counts), -1)]


@check("pair_law: enumeration of all contexts", "lemma B.2", "equal")
@literal.enumerated
def laws_enumerated(
    everything: Population, problem: Problem, params: Params, config: Config
) -> Compared:
    """The pair law at all tokens, for two positions of which Q attends to the first, per query."""
    (X, law), N, T = everything, config.num_states.cap, config.length.cap
    pair = lambda i, j, l, k: population.pair_law(i, j, l, 2 * k % T, (2 * k + 1) % T, k, problem)
    first, second = (X[:, (2 * np.arange(N) + i) % T] for i in range(2))
    given_k = law / problem.stationary[None, :, None]
    want = jnp.einsum("mki,mkj,mkl->ijlk", first, second, given_k)
    return jax.vmap(pair)(*tokens(N, N, N, N)), want.ravel()


@check("attended_law: enumeration of all contexts", "lemma B.1", "equal")
@literal.enumerated
def attended_enumerated(
    everything: Population, problem: Problem, params: Params, config: Config
) -> Compared:
    """The attended law at every position, token and label, per query."""
    N, T = config.num_states.cap, config.length.cap
    attended = lambda i, l, s, k: population.attended_law(i, l, s, k, problem)
    want = jnp.einsum("mti,mkl->iltk", *everything) / problem.stationary[None, None, None, :]
    return jax.vmap(attended)(*tokens(N, N, T, N)), want.ravel()


@check("alignment: nearest point of the lines", "lemma C.1", "equal")
def alignment_by_parabola(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The minimum of |A - A~|^2 in alpha, which is a parabola through three points.

    Columns have any sum; with sum 1 the printed forms are checked too.
    """
    mu, U = problem.stationary, 1 / config.length.cap

    def nearest(M: Array, start: Array, end: Array) -> Array:
        f = lambda alpha: jnp.sum(mu[None, :] * (M - alpha * end - (1 - alpha) * start) ** 2)
        return (f(-1) - f(1)) / (f(-1) - 2 * f(0) + f(1)) / 2

    def line(p: Params) -> population.Alignment:
        start_V = jnp.broadcast_to(mu[:, None], p.value.shape)
        start_A = jnp.full_like(p.attention, U)
        return population.Alignment(
            nearest(p.attention, start_A, problem.context),
            nearest(p.value, start_V, problem.transition),
        )

    K_P, K_Q = literal.constants(problem)
    printed = population.Alignment(
        (literal.dot(mu, params.attention, problem.context) - U) / K_Q,
        (literal.dot(mu, params.value, problem.transition) - params.value @ mu @ mu) / K_P,
    )
    loose = material.loose(params)
    got = [population.alignment(p, problem, config) for p in (params, loose, params)]
    return got, [line(params), line(loose), printed]


@check("residual: orthogonal to the lines", "lemma C.2", "equal")
def residual_pythagoras(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The residuals complete the points on the lines and are orthogonal to the lines.

    With these residuals, K_V = alpha_V^2 K_P + |Delta_V|^2 - |Delta_V mu|^2 and |A|^2 = alpha_A^2
    K_Q + 1/T + |Delta_A|^2.
    """
    mu = problem.stationary
    off = population.residual(params, problem, config)
    a, v = population.alignment(params, problem, config)
    K_P, K_Q = population.signals(problem, config)
    square, gap = lambda M: literal.dot(mu, M, M), problem.transition - mu[:, None]
    of_value, of_attention = (
        literal.dot(mu, off.value, gap),
        literal.dot(mu, off.attention, problem.context),
    )
    K_V = v**2 * K_P + square(off.value) - jnp.sum((off.value @ mu) ** 2)
    A_square = a**2 * K_Q + 1 / config.length.cap + square(off.attention)
    want = square(params.value) - jnp.sum((params.value @ mu) ** 2), square(params.attention)
    lines = Params((1 - a) / config.length.cap + a * problem.context, mu[:, None] + v * gap)
    reconstruction = jax.tree.map(jnp.add, off, lines)
    across = jnp.stack([of_value, of_attention, jnp.sum(off.attention)])
    return (across, K_V, A_square, reconstruction), (jnp.zeros(3), *want, params)


def stepped(key: Array, problem: Problem, params: Params, config: Config) -> tuple:
    """Centered noise, rates, and one step of the matrices along closed gradients plus the noise.

    The gradients themselves are checked by enumeration.
    """
    noise = jax.tree.map(
        lambda x: x - 1 / len(x), material.setting(jax.random.fold_in(key, 1), config)[1]
    )
    rates = Params(jnp.asarray(0.3), jnp.asarray(0.2))
    slope = population.expected_preconditioned(params, problem, config)
    new = jax.tree.map(lambda x, g, h, eta: x - eta * (g + h), params, slope, noise, rates)
    return noise, rates, new


@check("projected_step: step of the matrices with noise", "lemma C.5", "equal")
def projected_step_matrices(
    key: Array, problem: Problem, params: Params, config: Config
) -> Compared:
    """The alphas of the matrices after the step."""
    noise, rates, new = stepped(key, problem, params, config)
    return population.projected_step(params, noise, rates, problem, config), population.alignment(
        new, problem, config
    )


@check("residual_step: step of the matrices with noise", "lemma C.6", "equal")
def residual_step_matrices(
    key: Array, problem: Problem, params: Params, config: Config
) -> Compared:
    """The residuals of the matrices after the step."""
    noise, rates, new = stepped(key, problem, params, config)
    return population.residual_step(params, noise, rates, problem, config), population.residual(
        new, problem, config
    )


@check("residual_step: contraction with A frozen", "lemma F.2", "equal")
def residual_step_contracts(
    key: Array, problem: Problem, params: Params, config: Config
) -> Compared:
    """Lemma F.2: if V mu = mu and there is no noise, Delta_V shrinks by 1 - eta_V |A|^2."""
    V = params.value - ((params.value @ problem.stationary) - problem.stationary)[:, None]
    params = params._replace(value=V)
    zero = jax.tree.map(jnp.zeros_like, params)
    rates = Params(jnp.zeros(()), jnp.asarray(0.2))
    got = population.residual_step(params, zero, rates, problem, config).value
    factor = 1 - 0.2 * literal.dot(problem.stationary, params.attention, params.attention)
    return got, factor * population.residual(params, problem, config).value


@check("optimal_value: regression over all contexts", "derived", "equal")
@literal.enumerated
def optimal_value_regression(
    everything: Population, problem: Problem, params: Params, config: Config
) -> Compared:
    """Least squares of e_y on p over all contexts: E e_y p^T (E p p^T)^-1."""
    p = literal.occupancies(params.attention, everything)
    cross = jnp.einsum("mky,mkn->yn", everything.law, p)
    square = jnp.einsum("mky,mkn,mkl->nl", everything.law, p, p)
    return population.optimal_value(params.attention, problem, config), linalg.solve(
        square, cross.T
    ).T


@check("aligned: has the alphas given", "section 3.1", "equal")
def aligned_alphas(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The alphas of A~, V~ are those given, and alpha = 1 is the task."""
    alpha = population.Alignment(*jax.random.normal(key, (2,)))
    again = population.alignment(population.aligned(alpha, problem, config), problem, config)
    one = jnp.ones(())
    task = population.aligned(population.Alignment(one, one), problem, config)
    return (again, task), (alpha, Params(problem.context, problem.transition))


@check("excess_on_line: loss of the matrices", "derived", "equal")
def line_loss(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The population loss minus the Bayes loss, at random alphas."""
    alpha = population.Alignment(*jax.random.normal(key, (2,)))
    params = population.aligned(alpha, problem, config)
    want = population.population_loss(params, problem, config) - population.bayes_loss(
        problem, config
    )
    return population.excess_on_line(alpha, problem, config), want
