"""Training by gradient descent, one layer after the other or both at once.

    two_stage     A1 with the rate eta for the first tau steps, then A2 with the rate eta2
    joint         both layers at once with these rates
    sgd           both layers with the rate eta, made by `from_optax.standard`
    momentum      the same with momentum beta
    adam          Adam with the rate eta
    sign          sign descent with the rate eta
    sgd_cosine    sgd whose rate falls to 0 as a cosine within decay_steps

Source: arXiv 2402.14735; two stages reconstruct the training of its proof, which was not read.
"""

import jax.numpy as jnp
from jaxtyping import Array, Int

from jaxtheory.core import from_optax
from jaxtheory.core.theory import Algorithm
from jaxtheory.theories.causal_graph import calculus, model
from jaxtheory.theories.causal_graph.model import Batch, Config, Params, Problem

Time = Int[Array, ""] | int


def joint(
    _key: Array, _t: Time, state: Params, batch: Batch, problem: Problem, config: Config
) -> Params:
    """One step of both layers."""
    slope = calculus.gradient(state, batch, problem, config)
    rates = jnp.asarray(config.learning_rate, float), jnp.asarray(config.second_rate, float)
    return from_optax.descended(state, slope, Params(*rates))


def two_stage(
    _key: Array, t: Time, state: Params, batch: Batch, problem: Problem, config: Config
) -> Params:
    """One step of A1 for t < tau, and of A2 from then on."""
    slope = calculus.gradient(state, batch, problem, config)
    first = jnp.asarray(t) < config.switch_step
    one, two = jnp.asarray(config.learning_rate, float), jnp.asarray(config.second_rate, float)
    rates = jnp.where(first, one, 0), jnp.where(first, 0, two)
    return from_optax.descended(state, slope, Params(*rates))


ALGORITHMS = {
    "two_stage": Algorithm(model.init, two_stage),
    "joint": Algorithm(model.init, joint),
    **from_optax.standard(model.init, calculus.gradient),
}
