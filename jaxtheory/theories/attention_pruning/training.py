"""Algorithm 1 of the source: gradient descent with momentum on the pruning mask.

It has one fused mask or one mask per factor. `smooth` is the descent of theorem 4.1.

    V <- beta V + grad L(M),   M <- M - (c / lambda) V,   then M <- clip(M, 0, 1) where config.clip.
    smooth:   M <- M - grad L(M) / L_g,   L_g of the problem; c, beta and clip are not used

    gradient_descent  Algorithm 1 on one fused mask
    sgd               the same without momentum, made by `from_optax.standard`
    momentum          Algorithm 1 again: momentum without dampening
    adam              Adam on the mask with the rate c / lambda
    sign              sign descent: the mask moves by c / lambda in each entry
    sgd_cosine        sgd whose rate falls to 0 as a cosine within decay_steps
    two_mask          Algorithm 1 on a mask per factor, W_Q and W_K
    smooth            gradient descent at the rate 1 / L_g, as in theorem 4.1

Full batch. The momentum form (no dampening, no Nesterov) and the projection are reconstructions;
the source's numbers are lost.
"""

from typing import NamedTuple

import jax
import optax
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from jaxtheory.core import from_optax
from jaxtheory.core.theory import Algorithm
from jaxtheory.theories.attention_pruning import calculus, data, laws, model
from jaxtheory.theories.attention_pruning.model import Batch, Config, FactorMasks, Params, Problem


class State(NamedTuple):
    """The mask, the optimizer's velocity and the target attention f*.

    Training does not change f*.
    """

    params: Params
    velocity: optax.OptState
    target: Float[Array, "S L L"]


def rate(_t: Int[Array, ""] | int, config: Config) -> Float[ArrayLike, ""]:
    """The learning rate c / lambda."""
    return config.step_scale / config.regularization


def optimizer(config: Config) -> optax.GradientTransformation:
    """SGD with step c / lambda and momentum beta."""
    return optax.sgd(rate(0, config), momentum=config.momentum)


def begin(params: Params, problem: Problem, config: Config) -> State:
    """The state of a run that starts from given masks, at rest."""
    return State(
        params, optimizer(config).init(params), model.target(Batch(problem.inputs), problem, config)
    )


def init(key: Array, problem: Problem, config: Config) -> State:
    """Start from one fused mask M_0."""
    return begin(model.init(key, problem, config), problem, config)


def init_two_masks(key: Array, problem: Problem, config: Config) -> State:
    """Start from a mask on W_Q and one on W_K, drawn independently where mask_init is uniform."""
    return begin(
        FactorMasks(*(model.initial_mask(problem.uniform[i], config) for i in range(2))),
        problem,
        config,
    )


def step(
    key: Array,
    t: Int[Array, ""] | int,
    state: State,
    batch: Batch,
    problem: Problem,
    config: Config,
) -> State:
    """One step of Algorithm 1."""
    gradient = calculus.gradient(state.params, batch, problem, config, state.target)
    update, velocity = optimizer(config).update(gradient, state.velocity)
    params = optax.apply_updates(state.params, update)
    return State(clipped(params, problem, config), velocity, state.target)


def clipped(params: Params, _problem: Problem, config: Config) -> Params:
    """The mask clipped to [0, 1] where config.clip."""
    return jax.tree.map(optax.projections.projection_hypercube, params) if config.clip else params


class Smooth(NamedTuple):
    """The mask, the step size 1 / L_g and the target attention f*.

    Training does not change f*.
    """

    params: Params
    rate: Float[Array, ""]
    target: Float[Array, "S L L"]


def init_smooth(key: Array, problem: Problem, config: Config) -> Smooth:
    """Start from one fused mask M_0."""
    batch = Batch(problem.inputs)
    rate = 1 / laws.lipschitz(batch, problem, config).gradient
    return Smooth(model.init(key, problem, config), rate, model.target(batch, problem, config))


def smooth_step(
    key: Array,
    t: Int[Array, ""] | int,
    state: Smooth,
    batch: Batch,
    problem: Problem,
    config: Config,
) -> Smooth:
    """One step of gradient descent with eta = 1 / L_g.

    Source: theorems 4.1 and 5.2, whose step sizes are lost.
    """
    gradient = calculus.gradient(state.params, batch, problem, config, state.target)
    return state._replace(params=from_optax.descended(state.params, gradient, state.rate))


# algorithms whose state holds the target of a batch train on that batch
ALGORITHMS = {
    "gradient_descent": Algorithm(
        init, step, lambda state, problem, config: state.params, data.sample
    ),
    **from_optax.standard(model.init, calculus.gradient, rate, clipped),
    "two_mask": Algorithm(
        init_two_masks, step, lambda state, problem, config: state.params, data.sample
    ),
    "smooth": Algorithm(
        init_smooth, smooth_step, lambda state, problem, config: state.params, data.sample
    ),
}
