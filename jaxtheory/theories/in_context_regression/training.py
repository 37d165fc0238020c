"""Full-batch gradient descent on the training prompts and on the population.

    gd            on the training prompts, by their moments; the literal form prompt by prompt
    sgd           the run of gd prompt by prompt, made by `from_optax.standard`
    momentum      the same with momentum beta
    adam          Adam on the weights of the heads
    sign          sign descent on these weights
    sgd_cosine    sgd whose rate falls to 0 as a cosine within decay_steps
    population    gradient descent on the population loss

On the population the literal form trains as the merged one: for c = 0 the gradient in its other
blocks is 0 at 0, and for c > 0 they are left out.
"""

from jaxtyping import Array, Int

from jaxtheory.core import from_optax
from jaxtheory.core.theory import Algorithm, nothing
from jaxtheory.theories.in_context_regression import calculus, laws, model
from jaxtheory.theories.in_context_regression.model import (
    Config,
    Literal,
    Merged,
    Params,
    Problem,
    Separate,
)

Time = Int[Array, ""] | int


def step(
    _key: Array, _t: Time, state: Params, _batch: tuple, problem: Problem, config: Config
) -> Params:
    """One step theta <- theta - eta dL/dtheta on all training prompts."""
    if isinstance(state, Literal):
        slope = calculus.gradient(state, problem.train, problem, config)
    else:
        slope = calculus.by_heads(state, calculus.slope(model.matrix(state), problem.moments))
    return from_optax.descended(state, slope, config.learning_rate)


def population_step(
    _key: Array, _t: Time, state: Params, _batch: tuple, problem: Problem, config: Config
) -> Params:
    """One step theta <- theta - eta dL/dtheta on the population."""
    law = laws.population(problem.task, config)
    heads = reduced(state)
    slope = calculus.by_heads(heads, laws.slope(model.matrix(heads), law))
    new = from_optax.descended(heads, slope, config.learning_rate)
    return model.literal(new) if isinstance(state, Literal) else new


def reduced(params: Params) -> Merged | Separate:
    """The merged form of the literal weights, without the blocks that are zero there."""
    if not isinstance(params, Literal):
        return params
    return Merged(params.v[:, 0], params.U[:, 1:, :])


ALGORITHMS = {
    "gd": Algorithm(model.init, step, sample=nothing),
    **from_optax.standard(model.init, calculus.gradient),
    "population": Algorithm(model.init, population_step, sample=nothing),
}
