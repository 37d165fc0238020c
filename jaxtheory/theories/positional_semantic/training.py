"""Training by full-batch descent.

gd           gradient descent on the training samples
sgd          the same run, made by `from_optax.standard`
momentum     the same with momentum beta
adam         Adam
sign         sign descent
sgd_cosine   sgd whose rate falls to 0 as a cosine within decay_steps
"""

from jaxtyping import Array, Int

from jaxtheory.core import from_optax
from jaxtheory.core.theory import Algorithm, nothing
from jaxtheory.theories.positional_semantic import calculus, model
from jaxtheory.theories.positional_semantic.model import Config, Params, Problem

Time = Int[Array, ""] | int


def step(
    _key: Array, _t: Time, state: Params, _batch: tuple, problem: Problem, config: Config
) -> Params:
    """One step Q <- Q - eta dL/dQ on all training samples."""
    slope = calculus.gradient(state, problem.train, problem, config)
    return from_optax.descended(state, slope, config.learning_rate)


ALGORITHMS = {
    "gd": Algorithm(model.init, step, sample=nothing),
    **from_optax.standard(model.init, calculus.gradient),
}
