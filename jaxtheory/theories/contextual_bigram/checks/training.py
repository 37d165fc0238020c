"""Checks of the steps of every algorithm against autodiff and algorithm 1 as written."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.from_optax import OptimizerState
from jaxtheory.core.theory import Check, Compared, check
from jaxtheory.theories.contextual_bigram import calculus, training
from jaxtheory.theories.contextual_bigram.checks import dynamics, literal, material
from jaxtheory.theories.contextual_bigram.laws import noise, population
from jaxtheory.theories.contextual_bigram.model import Config, Params, Problem

TIMES = np.arange(3)  # before the switch, at it and after it


@check("step: algorithm 1 as written", "algorithm 1", "equal")
def proximal_as_written(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """A step before the switch, one at it and one after it; and the same at lambda = 0."""
    batch = material.random_batch(key, config)

    def take_steps(step: Callable, l1: Array) -> Params:
        rates = {"learning_rate": 0.1, "late_learning_rate": 0.2}
        at = config.replace(switch_step=1, l1=l1, **rates)
        return jax.vmap(lambda t: step(t, params, batch, problem, at))(TIMES)

    l1 = jnp.asarray([config.l1, 0.0])
    step = lambda t, *args: training.step(key, t, *args)
    return tuple(jax.vmap(partial(take_steps, f))(l1) for f in (step, literal.proximal))


@check("natural: sgd is algorithm 1 at lambda = 0", "section 5", "equal")
def sgd_without_l1(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The direction of descent by autodiff, and the steps on both sides of the switch.

    The steps are compared with algorithm 1 written out at lambda = 0.
    """
    batch, off = material.random_batch(key, config), config.replace(switch_step=1, l1=0.0)
    slope = literal.slope(params, batch, problem, config)
    direction = Params(*(g / K for g, K in zip(slope, literal.constants(problem), strict=True)))
    sgd = training.ALGORITHMS["sgd"]
    memory = sgd.init(key, problem, off).memory

    def moved(t: Any) -> Params:
        state = OptimizerState(
            params, jax.tree.map(lambda count: jnp.asarray(t, count.dtype), memory)
        )
        return sgd.step(key, t, state, batch, problem, off).params

    got = jax.vmap(moved)(TIMES)
    want = jax.vmap(lambda t: literal.proximal(t, params, batch, problem, off))(TIMES)
    return (training.natural(params, batch, problem, config), got), (direction, want)


@check("sgd_plain_step: autodiff", "section 5", "equal")
def plain_autodiff(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The plain gradient step by autodiff, before the switch."""
    batch = material.random_batch(key, config)
    g = jax.grad(literal.loss)(params, batch, config)
    want = literal.descended(params, g, config.learning_rate, problem)
    early = config.replace(switch_step=9)
    return training.sgd_plain_step(key, jnp.asarray(3), params, batch, problem, early), want


@check("softmax_step: linear near uniform attention", "section 5.2", "equal")
def softmax_first_step(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """From uniform attention and with eta_W = eta_A T^2, A starts along the linear model's step:
    the derivative in the rate at 0.
    """
    batch, T = material.random_batch(key, config), float(config.length.cap)
    flat = jnp.full_like(params.attention, 1 / T)
    start = training.Softmax(jnp.zeros_like(flat), params.value)

    def moved(rate: Array) -> Array:
        slow = config.replace(switch_step=9, learning_rate=rate, softmax_rate=T)
        state = training.softmax_step(key, jnp.asarray(0), start, batch, problem, slow)
        return training.softmax_params(state, problem, slow).attention

    g = literal.slope(params._replace(attention=flat), batch, problem, config)
    want = literal.descended(Params(jnp.zeros(()), jnp.zeros(())), g, 1.0, problem).attention
    return jax.jvp(moved, (jnp.zeros(()),), (jnp.ones(()),))[1], want


@check("softmax_step: autodiff in the logits", "section 5.2", "equal")
def softmax_step_autodiff(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The step against descent on the logits by autodiff. V moves as in sgd."""
    batch, early = material.random_batch(key, config), config.replace(switch_step=9)
    W, mu = params.attention, problem.stationary
    apply_softmax = lambda W: Params(jax.nn.softmax(W, axis=0), params.value)
    g_W = jax.grad(lambda W: literal.loss(apply_softmax(W), batch, config))(W)
    rate = (
        early.softmax_rate * early.learning_rate * config.length.cap / literal.constants(problem)[0]
    )
    value = literal.proximal(jnp.zeros((), int), apply_softmax(W), batch, problem, early).value
    got = training.softmax_step(
        key, jnp.asarray(0), training.Softmax(W, params.value), batch, problem, early
    )
    return got, training.Softmax(W - rate * g_W / mu[None, :], value)


@check("refit_step: A rounded, V by autodiff", "appendix F", "equal")
def refit_as_written(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """A is rounded, which a second rounding does not change, and V moves by autodiff."""
    batch = material.random_batch(key, config)
    A = calculus.rounded(params.attention, config.stage_threshold, config)
    want = params._replace(attention=A)
    slope = literal.slope(want, batch, problem, config)
    moved = literal.descended(want, slope, config.late_learning_rate, problem)
    got = training.refit_step(key, jnp.asarray(0), params, batch, problem, config)
    return got, moved._replace(attention=A)


@check("transfer_step: one step on the gathered batches", "appendix H", "equal")
def transfer_gathers(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """Two batches and one step of A on both by autodiff, with and without the threshold.

    V waits.
    """
    parts = [material.random_batch(k, config) for k in jax.random.split(key)]
    batches = jax.tree.map(lambda *x: jnp.stack(x), *parts)
    full_batch = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), batches)
    start, reach = literal.transferred(problem, config)

    def trained(l1: Array) -> Params:
        at = config.replace(switch_step=2, l1=l1)
        step = lambda s, x: (training.transfer_step(key, x[0], s, x[1], problem, at), None)
        first = training.init_transfer(key, problem, at)
        return jax.lax.scan(step, first, (jnp.arange(2), batches))[0].params

    def reference_step(l1: Array) -> Params:
        A = start.attention - literal.slope(start, full_batch, problem, config).attention / reach
        cut = literal.thresholded(A, config.stage_threshold)
        return start._replace(attention=jnp.where(l1 > 0, cut, A))

    l1 = jnp.asarray([0.0, 0.1])
    return jax.vmap(trained)(l1), jax.vmap(reference_step)(l1)


@check("transfer_step: second stage of algorithm 1", "section 4", "equal")
def later_steps_are_proximal(
    key: Array, problem: Problem, params: Params, config: Config
) -> Compared:
    """After tau, transfer takes the steps of algorithm 1."""
    batch, late = material.random_batch(key, config), jnp.asarray(config.switch_step + 1)
    state = training.Transfer(params, jnp.zeros_like(params.attention))
    got = training.transfer_step(key, late, state, batch, problem, config).params
    return got, training.step(key, late, params, batch, problem, config)


@check("noise_step: population step plus the draw", "appendix I", "equal")
def noise_without_prox(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """At lambda = 0 a step is the population's step minus eta times the draw."""
    off, t = config.replace(l1=0.0), jnp.asarray(9)
    h = noise.draw(key, params, problem, off)
    mean = training.population_step(key, t, params, (), problem, off)
    want = jax.tree.map(lambda x, h, eta: x - eta * h, mean, h, training.rates(t, problem, off))
    return training.noise_step(key, t, params, (), problem, off), want


@check("noise_entry_step: before the prox, and after", "equation (6)", "equal")
def entry_before_prox(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """In stage two a step is the population's minus eta times the draw, then the proximal map.

    The proximal map is as written.
    """
    t, l1 = jnp.asarray(9), jnp.asarray(config.l1)
    h = noise.draw(key, params, problem, config)
    mean = literal.preconditioned(population.expected_gradient(params, problem, config), problem)
    slope = jax.tree.map(lambda g, h: g + h, mean, h)
    before = literal.descended(params, slope, config.late_learning_rate, problem)
    A = before.attention
    after = before._replace(attention=literal.projected(jnp.where(l1 <= A, A - l1, 0)))
    got = training.noise_entry_step(
        key,
        t,
        training.init_entry(key, problem, config)._replace(params=params),
        (),
        problem,
        config,
    )
    return got, training.Entry(after, before)


CHECKS = (
    Check(
        "population_step: equation (8) on the lines",
        "equation (7)",
        "equal",
        dynamics.path_of_matrices.fn,
    ),
)
