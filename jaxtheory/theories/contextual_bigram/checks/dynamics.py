"""Checks of the run in two numbers and of the closed forms of its stages.

The run is compared with the run of the matrices.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.contextual_bigram import model, training
from jaxtheory.theories.contextual_bigram.checks import literal
from jaxtheory.theories.contextual_bigram.laws import dynamics, population
from jaxtheory.theories.contextual_bigram.model import Config, Params, Problem


def trained(problem: Problem, config: Config, length: int, step: Callable) -> population.Alignment:
    """The alphas along a run of the matrices."""
    advance = lambda s, t: (step(t, s), population.alignment(s, problem, config))
    start = model.init(problem.stationary, problem, config)
    return jax.lax.scan(advance, start, jnp.arange(length))[1]


@check("path: population descent on the matrices", "equation (8)", "equal")
def path_of_matrices(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """Steps of the algorithm `population`, before the switch and after it."""
    config = config.replace(switch_step=2, learning_rate=0.3)
    run = trained(
        problem,
        config,
        5,
        lambda t, s: training.population_step(key, t, s, (), problem, config),
    )
    return dynamics.path(5, problem, config), run


@check("path: threshold and prox on the matrices", "derived", "equal")
def prox_path_of_matrices(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The algorithm's steps along the expected gradient, with threshold and proximal map active."""
    if config.weights != "uniform":
        return None
    config = config.replace(
        switch_step=3, learning_rate=0.5, late_learning_rate=0.1, l1=0.15, stage_threshold=0.6
    )
    slope = lambda params: population.expected_preconditioned(params, problem, config)
    run = trained(
        problem,
        config,
        7,
        lambda t, s: training.proximal_step(t, s, slope, problem, config),
    )
    return dynamics.path(7, problem, config, prox=True), run


@check("sparsified: prox and projection of the matrix", "derived", "equal")
def sparsified_matrix(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The proximal map with lambda between the entries off and on the support, and below both.

    Below both, lambda is a share of the smaller, where it has no effect.
    """
    Q, K_Q = problem.context, literal.constants(problem)[1]
    least = jnp.min(jnp.where(Q > 0, Q, 1))

    def one(x: Array, alpha: Array, is_above: Array) -> tuple[Array, Array]:
        c = (1 - alpha) / len(Q)
        between = jnp.maximum(c, 0) + x * (alpha * least + jnp.minimum(c, 0))
        lam = jnp.where(is_above, between, x * jnp.maximum(c, 0))
        A = alpha * Q + c
        thinned = literal.projected(jnp.where(lam <= A, A - lam, 0))
        want = (literal.dot(problem.stationary, thinned, Q) - 1 / len(Q)) / K_Q
        return dynamics.sparsified(alpha, lam, problem, config), want

    alpha, is_above = jnp.asarray([0.3, 0.8, 1.4] * 2), jnp.arange(6) < 3
    return jax.vmap(one)(jax.random.uniform(key, (6,)), alpha, is_above)


@check("early: solves the linear equations", "equation (9)", "equal")
def early_solves(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The early form solves d alpha_V / ds = alpha_A + d and d alpha_A / ds = alpha_V, from 0."""
    s = jnp.concatenate([jnp.zeros(1), jax.random.uniform(key, (8,), maxval=5.0)])
    alpha, slope = jax.jvp(lambda s: dynamics.early(s, problem, config), (s,), (jnp.ones_like(s),))
    d = 1 / (config.length.cap * literal.constants(problem)[1])
    start = jnp.stack([alpha.attention[0], alpha.value[0]])
    return (slope.attention, slope.value, start), (alpha.value, alpha.attention + d, jnp.zeros(2))


@check("elapsed: sum of the rates", "equation (8)", "equal")
def elapsed_sum(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """Elapsed time as the sum of the rates of all steps before, over the switch."""
    t = jnp.arange(9, dtype=jnp.int32)
    rates = dynamics.rate(t, config)
    return dynamics.elapsed(t, config), jnp.cumsum(rates) - rates


@check("boosting_steps: inverts the early form", "derived", "equal")
def boosting_steps_reach(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """alpha_V of the early form reaches the level after that many steps."""
    level = jnp.asarray([0.01, 0.1, 1.0])
    steps = dynamics.boosting_steps(level, problem, config)
    return dynamics.early(config.learning_rate * steps, problem, config).value, level


@check("boosting_steps: within a tenth of equation (8)", "lemma D.1", "bound")
def boosting_steps_population(
    key: Array, problem: Problem, params: Params, config: Config
) -> Compared:
    """The number of steps is within 10 % of that of equation (8) until alpha_V = 0.1.

    This is at T K_Q = 500 and eta = 0.02.
    """
    flat = config.replace(length=Size(1000), learning_rate=0.02, switch_step=10_000)
    problem = problem._replace(
        context=jnp.zeros((1000, config.num_states.cap))
        .at[: config.length.cap]
        .set(problem.context)
    )
    alpha_V = dynamics.path(600, problem, flat).value
    steps = dynamics.boosting_steps(0.1, problem, flat)
    reached = jnp.argmax(alpha_V >= 0.1).astype(float)
    return jnp.abs(steps - reached), 0.1 * reached


@check("eigenvalues: trace and determinant of the Jacobian", "section 3.4", "equal")
def eigenvalues_of_jacobian(
    key: Array, problem: Problem, params: Params, config: Config
) -> Compared:
    """Sum and product of the eigenvalues are trace and determinant.

    The leading orders are -2 and -d/2 within d.
    """
    fixed_point = population.Alignment(jnp.ones(()), jnp.ones(()))
    move = lambda a, v: (
        jnp.stack(dynamics.boosted(population.Alignment(a, v), 1.0, problem, config))
        - jnp.stack([a, v])
    )
    J = jnp.stack(jax.jacfwd(move, argnums=(0, 1))(*fixed_point), axis=1)
    values = dynamics.eigenvalues(problem, config)
    det = J[0, 0] * J[1, 1] - J[0, 1] * J[1, 0]
    return jnp.stack([jnp.sum(values), jnp.prod(values)]), jnp.stack([jnp.trace(J), det])
