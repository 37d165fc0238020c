"""Steps of every algorithm against autodiff and algorithm 1 as written."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.contextual_bigram import calculus, training
from jaxtheory.theories.contextual_bigram.checks import dynamics, literal, material
from jaxtheory.theories.contextual_bigram.laws import noise, population, transfer
from jaxtheory.theories.contextual_bigram.model import Config, Params, Problem


def proximal_as_written(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """A step before the switch and one at it."""
    config = config.replace(switch_step=1, learning_rate=0.1, late_learning_rate=0.2)
    got = want = params
    for t in range(2):
        batch = material.random_batch(jax.random.fold_in(key, t), config)
        got = training.step(key, jnp.asarray(t), got, batch, problem, config)
        want = literal.proximal(t, want, batch, problem, config)
    return got, want


def sgd_is_proximal_without_l1(
    key: Array, problem: Problem, params: Params, config: Config
) -> Compared:
    """On both sides of the switch, against algorithm 1 written out at lambda = 0."""
    batch, off = material.random_batch(key, config), config.replace(switch_step=1, l1=0.0)
    written = [literal.proximal(t, params, batch, problem, off) for t in (0, 1)]
    got = [
        [step(key, jnp.asarray(t), params, batch, problem, off) for t in (0, 1)]
        for step in (training.sgd_step, training.step)
    ]
    return got, [written, written]


def plain_autodiff(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """Before the switch."""
    batch = material.random_batch(key, config)
    g = jax.grad(literal.loss)(params, batch, config)
    want = literal.descended(params, g, config.learning_rate, problem)
    early = config.replace(switch_step=9)
    return training.sgd_plain_step(key, jnp.asarray(3), params, batch, problem, early), want


def softmax_first_step(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """Near uniform attention softmax moves A as the linear model does, where eta_W = eta_A T^2:
    relative difference <= 1e-5.
    """
    batch, T = material.random_batch(key, config), float(config.length.cap)
    rate = 1e-6 * population.signals(problem, config).value  # eta_A = 1e-6
    small = config.replace(switch_step=9, learning_rate=rate, softmax_rate=T)
    flat = jnp.full_like(params.attention, 1 / T)
    start = training.Softmax(jnp.zeros_like(flat), params.value)
    soft = training.softmax_params(
        training.softmax_step(key, jnp.asarray(0), start, batch, problem, small), problem, small
    )
    linear = training.sgd_step(
        key, jnp.asarray(0), params._replace(attention=flat), batch, problem, small
    )
    moved = linear.attention - flat
    return jnp.max(jnp.abs(soft.attention - flat - moved)), 1e-5 * jnp.max(jnp.abs(moved))


def softmax_step_autodiff(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """Against descent on the logits by autodiff; V as in sgd."""
    batch, early = material.random_batch(key, config), config.replace(switch_step=9)
    W, mu = params.attention, problem.stationary
    of = lambda W: Params(jax.nn.softmax(W, axis=0), params.value)
    g_W = jax.grad(lambda W: literal.loss(of(W), batch, config))(W)
    rate = (
        early.softmax_rate * early.learning_rate * config.length.cap / literal.constants(problem)[0]
    )
    value = literal.proximal(0, of(W), batch, problem, early).value
    got = training.softmax_step(
        key, jnp.asarray(0), training.Softmax(W, params.value), batch, problem, early
    )
    return got, training.Softmax(W - rate * g_W / mu[None, :], value)


def refit_as_written(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """A rounded once and for all, V by autodiff."""
    A = calculus.rounded(params.attention, config.stage_threshold, config)
    got, want = params, params._replace(attention=A)
    for t in range(2):
        batch = material.random_batch(jax.random.fold_in(key, t), config)
        got = training.refit_step(key, jnp.asarray(t), got, batch, problem, config)
        slope = literal.slope(want, batch, problem, config)
        moved = literal.descended(want, slope, config.late_learning_rate, problem)
        want = moved._replace(attention=A)
    return got, want


def transfer_gathers(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """Two batches, one step of A on both by autodiff, with and without the threshold; V waits."""
    B = config.batch_size.cap
    joined = material.random_batch(key, config.replace(batch_size=2 * B))
    parts = [jax.tree.map(lambda x, i=i: x[i * B : (i + 1) * B], joined) for i in range(2)]
    got, want = [], []
    for lam in (0.0, 0.1):
        small = config.replace(switch_step=2, l1=lam)
        state = training.init_transfer(key, problem, small)
        g = literal.slope(state.params, joined, problem, small).attention
        A = state.params.attention - transfer.first_rate(problem, small) * g
        A = A if lam == 0 else literal.thresholded(A, small.stage_threshold)
        want.append(state.params._replace(attention=A))
        for t, batch in enumerate(parts):
            state = training.transfer_step(key, jnp.asarray(t), state, batch, problem, small)
        got.append(state.params)
    return got, want


def later_steps_are_proximal(
    key: Array, problem: Problem, params: Params, config: Config
) -> Compared:
    """After tau, transfer takes the steps of algorithm 1."""
    batch, late = material.random_batch(key, config), jnp.asarray(config.switch_step + 1)
    state = training.Transfer(params, jnp.zeros_like(params.attention))
    got = training.transfer_step(key, late, state, batch, problem, config).params
    return got, training.step(key, late, params, batch, problem, config)


def noise_without_prox(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """Where lambda = 0: the population's step less eta times the draw."""
    off, t = config.replace(l1=0.0), jnp.asarray(9)
    h = noise.draw(key, params, problem, off)
    mean = training.population_step(key, t, params, (), problem, off)
    want = jax.tree.map(lambda x, h, eta: x - eta * h, mean, h, training.rates(t, problem, off))
    return training.noise_step(key, t, params, (), problem, off), want


CHECKS = (
    Check("step: algorithm 1 as written", "algorithm 1", "equal", proximal_as_written),
    Check("sgd_step: algorithm 1 at lambda = 0", "section 5", "equal", sgd_is_proximal_without_l1),
    Check("sgd_plain_step: autodiff", "section 5", "equal", plain_autodiff),
    Check("softmax_step: autodiff in the logits", "section 5.2", "equal", softmax_step_autodiff),
    Check(
        "softmax_step: linear near uniform attention", "section 5.2", "bound", softmax_first_step
    ),
    Check("refit_step: A rounded, V by autodiff", "appendix F", "equal", refit_as_written),
    Check(
        "population_step: equation (8) on the lines",
        "equation (7)",
        "equal",
        dynamics.path_of_matrices,
    ),
    Check(
        "transfer_step: one step on the gathered batches", "appendix H", "equal", transfer_gathers
    ),
    Check(
        "transfer_step: second stage of algorithm 1", "section 4", "equal", later_steps_are_proximal
    ),
    Check("noise_step: population step plus the draw", "appendix I", "equal", noise_without_prox),
)
