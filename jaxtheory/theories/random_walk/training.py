"""Gradient descent on the literal attention matrix or on its exact reduction.

The start is zero or random.

    reduced       gradient descent on V and the K + N scores
    literal       the same run on V and the literal W
    sgd           reduced, made by `from_optax.standard`
    momentum      reduced with momentum beta
    adam          Adam on V and the scores, another run than on W
    sign          sign descent on V and the scores, another run than on W
    sgd_cosine    reduced whose rate falls to 0 as a cosine within decay_steps
    adam_literal  Adam on V and the literal W

One step of V <- V - eta dL/dV, W <- W - eta dL/dW moves the scores by u <- u - eta rate_u dL/du,
w_j <- w_j - eta rate_j dL/dw_j: the same run in K + N scalars, where the encoding dimension M
enters through rho = (M + 1)/2 alone. State is Params in both.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from jaxtheory.core import from_optax
from jaxtheory.core.theory import Algorithm
from jaxtheory.ops import draws
from jaxtheory.theories.random_walk import calculus, model
from jaxtheory.theories.random_walk.model import Batch, Config, Literal, Params, Problem, Reduced


def slope(params: Params, batch: Batch, problem: Problem, config: Config) -> Params:
    """The gradient, with u and w scaled by the rates at which W carries them.

    It is NaN where the loss is not defined (log, f_y <= -eps), which marks a diverged run.
    """
    gradient, f_y = calculus.gradient_and_output(params, batch, config)
    gradient = rescaled(gradient, problem, config)
    undefined = jnp.any(jnp.isnan(model.ell(f_y, config)))
    return jax.tree.map(lambda g: jnp.where(undefined, jnp.nan, g), gradient)


def rescaled(gradient: Params, _problem: Problem, config: Config) -> Params:
    """Scale the gradient in u and w by the rates at which W carries them.

    The gradient in a literal W stays.
    """
    if isinstance(gradient, Reduced):
        rate_u, rate_w = model.rates(config)
        return gradient._replace(u=rate_u * gradient.u, w=rate_w * gradient.w)
    return gradient


def step(
    _key: Array,
    _t: Int[Array, ""] | int,
    state: Params,
    batch: Batch,
    problem: Problem,
    config: Config,
) -> Params:
    """One simultaneous step in all parameters."""
    return from_optax.descended(state, slope(state, batch, problem, config), config.learning_rate)


def init_literal(key: Array, problem: Problem, config: Config) -> Literal:
    """W ~ sigma N(0, 1), drawn so that its scores are those of `model.init` with the same key.

    The scores of W are K + N of its Gaussian coordinates, so exchanging them for others of the same
    law leaves its entries Gaussian and independent. A literal and a reduced run with one key are
    therefore the same run, up to rounding. sigma = 0: W = 0, disturbed by delta.
    """
    start = model.init(key, problem, config)
    valid = jnp.concatenate([config.num_states.mask(), config.encoding_dim.mask()])
    G = draws.normal(jax.random.fold_in(key, 3), valid.size, valid.size)
    W = config.init_scale * jnp.where(valid[:, None] & valid[None, :], G, 0)
    return Literal(start.V, calculus.imprint(W, start.u, start.w, config), start.A)


ALGORITHMS = {
    "reduced": Algorithm(model.init, step),
    "literal": Algorithm(init_literal, step),
    **from_optax.standard(model.init, slope, rescaled=rescaled),
    "adam_literal": from_optax.standard(init_literal, slope)["adam"],
}
