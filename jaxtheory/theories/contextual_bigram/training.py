"""Training algorithms in two stages: t < tau with rate eta1 and t >= tau with rate eta2.

A moves by eta / K_P, V by eta / K_Q.

    proximal    stage one: preconditioned steps; at tau, small entries of A are cut; stage two:
                steps with a prox on A (algorithm 1)
    sgd         the same steps without threshold and prox; proximal with lambda = 0 is this
    momentum    sgd with momentum beta, A projected after each step
    adam        Adam along the preconditioned gradient, A projected after each step
    sign        the same with the signs of this gradient
    sgd_cosine  sgd whose rate falls to 0 as a cosine within decay_steps
    sgd_plain   raw gradients at the same rates
    sequences   proximal on contexts that the task generated, in place of independent tokens
    softmax     A = softmax(logits) per column, logits at rate kappa eta T / K_P
    population  expected gradients; stays on the lines of alpha_A and alpha_V
    dynamics    the same run in these two numbers
    noise       proximal with expected gradients plus Gaussian noise of the mini-batch covariance
    noise_sgd   sgd with these noisy gradients
    noise_entry  noise, seen before the prox of each step
    transfer    from a pre-trained V: t < tau gathers the gradient of A for one step at the end of
                the stage, then stage two
    refit       A rounded at theta0 and frozen, V trained at rate eta2 (stage three)

Steps that keep 1^T A = 1^T in exact arithmetic project A again, so that rounding does not add up.
Source: sections 2.3, 5.2 and appendices F, H, I; whether the experiments' rates are these
normalized ones is not known.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxtheory.core import from_optax
from jaxtheory.core.theory import Algorithm, nothing
from jaxtheory.ops.attention import softmax
from jaxtheory.theories.contextual_bigram import calculus, data, model
from jaxtheory.theories.contextual_bigram.laws import dynamics, noise, population, transfer
from jaxtheory.theories.contextual_bigram.model import Batch, Config, Params, Problem

Slope = Callable[[Params], Params]


def rates(t: Int[Array, ""] | int, problem: Problem, config: Config) -> Params:
    """The rates eta_A = eta / K_P and eta_V = eta / K_Q at step t."""
    eta, (K_P, K_Q) = dynamics.rate(t, config), population.signals(problem, config)
    return Params(eta / K_P, eta / K_Q)


def descended(
    t: Int[Array, ""] | int, params: Params, slope: Params, problem: Problem, config: Config
) -> Params:
    """One step: A - eta_A g_A and V - eta_V g_V."""
    return from_optax.descended(params, slope, rates(t, problem, config))


def entering(
    t: Int[Array, ""] | int, params: Params, slope: Slope, problem: Problem, config: Config
) -> Params:
    """A' and V after a step along `slope`, a preconditioned gradient.

    The step is from the thresholded A at tau where lambda > 0. A' is the input of the proximal map.
    """
    cut = (dynamics.since_switch(t, config) == 0) & (jnp.asarray(config.l1) > 0)
    small = calculus.thresholded(params.attention, config.stage_threshold, config)
    params = params._replace(attention=jnp.where(cut, small, params.attention))
    return descended(t, params, slope(params), problem, config)


def apply_proximal(t: Int[Array, ""] | int, new: Params, config: Config) -> Params:
    """The parameters after the proximal map, which applies from tau on where lambda > 0.

    A is projected in any case.
    """
    second = (dynamics.since_switch(t, config) >= 0) & (jnp.asarray(config.l1) > 0)
    A = jnp.where(
        second,
        calculus.proximal(new.attention, config.l1, config),
        calculus.projected(new.attention, config),
    )
    return new._replace(attention=A)


def proximal_step(
    t: Int[Array, ""] | int, params: Params, slope: Slope, problem: Problem, config: Config
) -> Params:
    """One step along `slope`.

    Where lambda > 0, the proximal map applies from tau on, and the threshold before it at tau.
    Source: equations (5) and (6), section E.1.
    """
    return apply_proximal(t, entering(t, params, slope, problem, config), config)


def plain_step(
    t: Int[Array, ""] | int, params: Params, slope: Slope, problem: Problem, config: Config
) -> Params:
    """One step along a preconditioned gradient."""
    return project_attention(descended(t, params, slope(params), problem, config), problem, config)


def project_attention(params: Params, _problem: Problem, config: Config) -> Params:
    """The parameters with A projected."""
    return params._replace(attention=calculus.projected(params.attention, config))


def natural(params: Params, batch: Batch, problem: Problem, config: Config) -> Params:
    """The preconditioned gradient of a batch over (K_P, K_Q). Steps along it have rate eta."""
    return rescaled(calculus.gradient(params, batch, problem, config), problem, config)


def rescaled(raw: Params, problem: Problem, config: Config) -> Params:
    """Precondition a gradient and divide it by (K_P, K_Q)."""
    slope = calculus.preconditioned(raw, problem, config)
    K_P, K_Q = population.signals(problem, config)
    return Params(slope.attention / K_P, slope.value / K_Q)


def batch_slope(_key: Array, batch: Batch, problem: Problem, config: Config) -> Slope:
    """The preconditioned gradient of a batch."""
    return lambda params: calculus.preconditioned(
        calculus.gradient(params, batch, problem, config), problem, config
    )


def mean_slope(_key: Array, _batch: tuple, problem: Problem, config: Config) -> Slope:
    """The expectation of the preconditioned gradient."""
    return lambda params: population.expected_preconditioned(params, problem, config)


def noisy_slope(key: Array, _batch: tuple, problem: Problem, config: Config) -> Slope:
    """The expectation of the preconditioned gradient plus Gaussian noise."""

    def slope(params: Params) -> Params:
        mean = population.expected_preconditioned(params, problem, config)
        h = noise.draw(key, params, problem, config)
        return Params(mean.attention + h.attention, mean.value + h.value)

    return slope


def stepping(rule: Callable, slope: Callable) -> Callable:
    """The step of an algorithm that moves by a rule along a slope."""

    def step(
        key: Array,
        t: Int[Array, ""] | int,
        state: Params,
        batch: tuple,
        problem: Problem,
        config: Config,
    ) -> Params:
        """One step of the rule along the slope, with rates eta_A and eta_V."""
        return rule(t, state, slope(key, batch, problem, config), problem, config)

    return step


step = stepping(proximal_step, batch_slope)  # algorithm 1, stages one and two
population_step = stepping(plain_step, mean_slope)  # source: equation (7)
noise_step = stepping(proximal_step, noisy_slope)
noise_sgd_step = stepping(plain_step, noisy_slope)


class Entry(NamedTuple):
    """A and V, and the input of the proximal map in the last step."""

    params: Params
    entered: Params


def init_entry(key: Array, problem: Problem, config: Config) -> Entry:
    """The start, with A also as the last input of the proximal map."""
    start = model.init(key, problem, config)
    return Entry(start, start)


def noise_entry_step(
    key: Array,
    t: Int[Array, ""] | int,
    state: Entry,
    batch: tuple,
    problem: Problem,
    config: Config,
) -> Entry:
    """The step of `noise`, which keeps A' from before its proximal map."""
    slope = noisy_slope(key, batch, problem, config)
    entered = entering(t, state.params, slope, problem, config)
    return Entry(apply_proximal(t, entered, config), entered)


def sgd_plain_step(
    _key: Array,
    t: Int[Array, ""] | int,
    state: Params,
    batch: Batch,
    problem: Problem,
    config: Config,
) -> Params:
    """SGD without preconditioning or projection."""
    return descended(t, state, calculus.gradient(state, batch, problem, config), problem, config)


# The dynamics of the alphas


def dynamics_step(
    _key: Array,
    t: Int[Array, ""] | int,
    state: population.Alignment,
    _batch: tuple,
    problem: Problem,
    config: Config,
) -> population.Alignment:
    """One step of equation (8)."""
    return dynamics.boosted(state, dynamics.rate(t, config), problem, config)


# Softmax attention


class Softmax(NamedTuple):
    """The logits W (T, N) of A = softmax(W), and V."""

    logits: Float[Array, "T N"]
    value: Float[Array, "N N"]


def init_softmax(key: Array, problem: Problem, config: Config) -> Softmax:
    """The start W = 0, which is uniform attention, and V = mu 1^T."""
    start = model.init(key, problem, config)
    return Softmax(jnp.zeros_like(start.attention), start.value)


def softmax_params(state: Softmax, _problem: Problem, config: Config) -> Params:
    """A = softmax of each column of W over the T positions."""
    A = softmax(state.logits.T, config.length.mask()[None, :]).T
    return Params(jnp.where(config.num_states.mask()[None, :], A, 0), state.value)


def softmax_step(
    _key: Array,
    t: Int[Array, ""] | int,
    state: Softmax,
    batch: Batch,
    problem: Problem,
    config: Config,
) -> Softmax:
    """One step W - eta_W (diag a - a a^T) g_a / mu_k per column with eta_W = kappa eta T / K_P.

    V moves as in sgd.

    Near uniform attention this moves A as the linear model does at eta kappa / T. Source: section
    5.2; the rate and the division by mu_k are ours.
    """
    params = softmax_params(state, problem, config)
    raw = calculus.gradient(params, batch, problem, config)
    direction = (
        calculus.softmax_gradient(params.attention, raw.attention)
        * calculus.inverse(problem.stationary)[None, :]
    )
    eta = rates(t, problem, config)
    value = calculus.preconditioned(raw, problem, config).value
    speed = config.softmax_rate * config.length.real * eta.attention
    return from_optax.descended(state, Softmax(direction, value), Softmax(speed, eta.value))


# Transfer


class Transfer(NamedTuple):
    """A and V, and the mean gradient of A gathered so far in the first stage."""

    params: Params
    slope: Float[Array, "T N"]


def init_transfer(key: Array, problem: Problem, config: Config) -> Transfer:
    """Uniform attention and the pre-trained value."""
    start = transfer.init(key, problem, config)
    return Transfer(start, jnp.zeros_like(start.attention))


def transfer_step(
    key: Array,
    t: Int[Array, ""] | int,
    state: Transfer,
    batch: Batch,
    problem: Problem,
    config: Config,
) -> Transfer:
    """One step of training from a pre-trained V.

    t < tau: A and V wait, while the preconditioned gradient of A is averaged; at t = tau - 1, A
    takes one step on this batch of tau B and is thresholded where lambda > 0. From tau on: stage
    two. Without a first stage (tau = 0) there is no such step. Source: appendix H.
    """
    since, sparse = dynamics.since_switch(t, config), jnp.asarray(config.l1) > 0
    first = since < 0
    A, V = state.params
    slope = batch_slope(key, batch, problem, config)(state.params)
    gathered = state.slope + jnp.where(
        first, slope.attention / jnp.maximum(jnp.asarray(config.switch_step, float), 1), 0
    )
    moved = from_optax.descended(A, gathered, transfer.first_rate(problem, config))
    moved = calculus.projected(moved, config)
    moved = jnp.where(sparse, calculus.thresholded(moved, config.stage_threshold, config), moved)
    new = descended(t, state.params, slope, problem, config)
    later = jnp.where(
        sparse,
        calculus.proximal(new.attention, config.l1, config),
        calculus.projected(new.attention, config),
    )
    waiting = jnp.where(since == -1, moved, A)
    return Transfer(
        Params(jnp.where(first, waiting, later), jnp.where(first, V, new.value)), gathered
    )


# Stage three


def refit_params(state: Params, _problem: Problem, config: Config) -> Params:
    """The parameters A rounded at theta0, and V."""
    return Params(calculus.rounded(state.attention, config.stage_threshold, config), state.value)


def refit_step(
    key: Array,
    _t: Int[Array, ""] | int,
    state: Params,
    batch: Batch,
    problem: Problem,
    config: Config,
) -> Params:
    """One step V <- V - (eta2 / K_Q) g_V with A rounded and frozen.

    Delta_V contracts by 1 - (eta2 / K_Q) |A|_mu^2 a step. Source: appendix F.
    """
    params = refit_params(state, problem, config)
    slope = batch_slope(key, batch, problem, config)(params)
    rate = config.late_learning_rate / population.signals(problem, config).attention
    return params._replace(value=from_optax.descended(params.value, slope.value, rate))


ALGORITHMS = {
    "proximal": Algorithm(model.init, step),
    **from_optax.standard(model.init, natural, dynamics.rate, project_attention, rescaled),
    "sgd_plain": Algorithm(model.init, sgd_plain_step),
    "sequences": Algorithm(model.init, step, sample=data.sequences),
    "softmax": Algorithm(init_softmax, softmax_step, softmax_params),
    "population": Algorithm(model.init, population_step, sample=nothing),
    "dynamics": Algorithm(
        lambda key, problem, config: dynamics.start(problem),
        dynamics_step,
        lambda state, problem, config: population.aligned(state, problem, config),
        nothing,
    ),
    "noise": Algorithm(model.init, noise_step, sample=nothing),
    "noise_sgd": Algorithm(model.init, noise_sgd_step, sample=nothing),
    "noise_entry": Algorithm(
        init_entry, noise_entry_step, lambda state, problem, config: state.entered, nothing
    ),
    "transfer": Algorithm(
        init_transfer, transfer_step, lambda state, problem, config: state.params
    ),
    "refit": Algorithm(model.init, refit_step, refit_params),
}
