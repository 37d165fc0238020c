"""Gradient descent on the two parameters or on W: W <- W - eta dL/dW (the talk prints a plus),
which moves xi1 by eta/d and xi2 by eta.

reduced      (xi1, xi2) on the fixed prompts
literal      the full W on the same prompts: the reduced run up to how far finitely many prompts are
             from symmetric
population   (xi1, xi2) on infinitely many prompts
online       (xi1, xi2) on fresh prompts per step, drawn as inner products
"""

import jax
from jaxtyping import Array, Int

from jaxtheory.core.theory import Algorithm, nothing
from jaxtheory.theories.nearest_neighbor import calculus, data, model
from jaxtheory.theories.nearest_neighbor.laws import population
from jaxtheory.theories.nearest_neighbor.model import (
    Config,
    Full,
    Params,
    Problem,
    Prompts,
    Reduced,
)


def descended(params: Reduced, slope: Params, config: Config) -> Reduced:
    """(xi1 - eta/d dL/dxi1, xi2 - eta dL/dxi2)."""
    return jax.tree.map(lambda p, g, rate: p - rate * g, params, slope, calculus.rates(config))


def step(
    _key: Array,
    _t: Int[Array, ""] | int,
    state: Reduced,
    batch: Prompts,
    problem: Problem,
    config: Config,
) -> Reduced:
    """One step on given prompts."""
    return descended(state, calculus.gradient(state, batch, problem, config), config)


def literal_step(
    _key: Array,
    _t: Int[Array, ""] | int,
    state: Full,
    batch: Prompts,
    problem: Problem,
    config: Config,
) -> Full:
    """W - eta dL/dW."""
    return Full(state.W - config.learning_rate * calculus.gradient(state, batch, problem, config).W)


def population_step(
    _key: Array,
    _t: Int[Array, ""] | int,
    state: Reduced,
    _batch: tuple,
    _problem: Problem,
    config: Config,
) -> Reduced:
    """One step on infinitely many prompts."""
    return descended(state, population.gradient(state, config), config)


def init_literal(key: Array, problem: Problem, config: Config) -> Full:
    """W_0 = diag(xi0 I, 0, -sigma)."""
    return calculus.lift(model.init(key, problem, config), config)


ALGORITHMS = {
    "reduced": Algorithm(model.init, step),
    "literal": Algorithm(init_literal, literal_step),
    "population": Algorithm(model.init, population_step, sample=nothing),
    "online": Algorithm(model.init, step, sample=data.fresh),
}
