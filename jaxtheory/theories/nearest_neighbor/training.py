"""Gradient descent on the two parameters or on W: W <- W - eta dL/dW.

It moves xi1 at rate eta/d and xi2 at rate eta. The talk prints a plus.

reduced      (xi1, xi2) on the fixed prompts
literal      the full W on the same prompts: the reduced run up to how far finitely many prompts are
             from symmetric
population   (xi1, xi2) on infinitely many prompts
online       (xi1, xi2) on fresh prompts per step, drawn as inner products
sgd          reduced made by `from_optax.standard` from dL/dxi1 over d
momentum     reduced with momentum beta
adam         Adam on (xi1, xi2), another run than on W
sign         sign descent on (xi1, xi2), another run than on W
sgd_cosine   reduced whose rate falls to 0 as a cosine within decay_steps
adam_literal  Adam on the full W
"""

from jaxtyping import Array, Int

from jaxtheory.core import from_optax
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
    """One step: (xi1 - eta/d dL/dxi1, xi2 - eta dL/dxi2)."""
    return from_optax.descended(params, slope, calculus.rates(config))


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
    """One step W - eta dL/dW."""
    slope = calculus.gradient(state, batch, problem, config)
    return from_optax.descended(state, slope, config.learning_rate)


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
    """The start W_0 = diag(xi0 I, 0, -sigma)."""
    return calculus.lift(model.init(key, problem, config), config)


def natural(params: Params, batch: Prompts, problem: Problem, config: Config) -> Params:
    """The gradient (dL/dxi1 / d, dL/dxi2), or dL/dW of a full W.

    A step along the former at rate eta is a step of W.
    """
    return rescaled(calculus.gradient(params, batch, problem, config), problem, config)


def rescaled(slope: Params, _problem: Problem, config: Config) -> Params:
    """Divide the entry of xi1 by d. The gradient of a full W stays."""
    if isinstance(slope, Reduced):
        return slope._replace(xi1=slope.xi1 / config.dimension.real)
    return slope


ALGORITHMS = {
    "reduced": Algorithm(model.init, step),
    "literal": Algorithm(init_literal, literal_step),
    "population": Algorithm(model.init, population_step, sample=nothing),
    "online": Algorithm(model.init, step, sample=data.fresh),
    **from_optax.standard(model.init, natural, rescaled=rescaled),
    "adam_literal": from_optax.standard(init_literal, natural)["adam"],
}
