"""Full-batch gradient descent from zero, and the minimum and the path of descent in closed form.

gd           gradient descent on the training prompts
sgd          the same run, made by `from_optax.standard`
momentum     the same with momentum beta
adam         Adam
sign         sign descent
sgd_cosine   sgd whose rate falls to 0 as a cosine within decay_steps
path         the run of gd, each step in closed form by eigenvalues
ridge_path   the minimum for the penalty lambda + d / (2 eta t) at step t
ridge        the minimum, of least norm for lambda = 0; its steps change nothing
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Int

from jaxtheory.core import from_optax
from jaxtheory.core.theory import Algorithm, nothing
from jaxtheory.theories.task_diversity import calculus, model
from jaxtheory.theories.task_diversity.calculus import Spectrum
from jaxtheory.theories.task_diversity.model import Config, Params, Problem

Time = Int[Array, ""] | int


class Clock(NamedTuple):
    """State of path and ridge_path."""

    spectrum: Spectrum
    t: Int[Array, ""]


def step(
    _key: Array, _t: Time, state: Params, _batch: tuple, problem: Problem, config: Config
) -> Params:
    """One step theta <- theta - eta dL/dtheta on all training prompts."""
    slope = calculus.gradient(state, problem.train, problem, config)
    return from_optax.descended(state, slope, config.learning_rate)


def start(_key: Array, problem: Problem, _config: Config) -> Clock:
    """The eigenvectors of the training prompts, at step 0."""
    return Clock(calculus.spectrum(problem.train), jnp.zeros((), jnp.int32))


def tick(
    _key: Array, _t: Time, state: Clock, _batch: tuple, _problem: Problem, _config: Config
) -> Clock:
    """The next step."""
    return state._replace(t=state.t + 1)


def on_path(state: Clock, _problem: Problem, config: Config) -> Params:
    """The weights after t steps of gd."""
    return calculus.descended(state.spectrum, state.t, model.penalty(config), config)


def on_ridge_path(state: Clock, _problem: Problem, config: Config) -> Params:
    """The minimum for the penalty lambda + d / (2 eta t); zero weights at t = 0."""
    t = jnp.asarray(state.t, float)
    shift = 1 / (2 * config.learning_rate * jnp.where(t > 0, t, 1))
    minimum = calculus.minimum(state.spectrum, model.penalty(config) + shift)
    return Params(*(jnp.where(t > 0, x, 0) for x in minimum))


def solved(_key: Array, problem: Problem, config: Config) -> Params:
    """The minimum of L."""
    return calculus.minimum(calculus.spectrum(problem.train), model.penalty(config))


def keep_state(
    _key: Array, _t: Time, state: Params, _batch: tuple, _problem: Problem, _config: Config
) -> Params:
    """No change."""
    return state


ALGORITHMS = {
    "gd": Algorithm(model.init, step, sample=nothing),
    **from_optax.standard(model.init, calculus.gradient),
    "path": Algorithm(start, tick, on_path, sample=nothing),
    "ridge_path": Algorithm(start, tick, on_ridge_path, sample=nothing),
    "ridge": Algorithm(solved, keep_state, sample=nothing),
}
