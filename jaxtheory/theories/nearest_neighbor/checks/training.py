"""Checks of the steps."""

import jax
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.nearest_neighbor import calculus, model, training
from jaxtheory.theories.nearest_neighbor.checks import literal, material
from jaxtheory.theories.nearest_neighbor.model import Config, Reduced


@check("step: autodiff of the loss", material.PAPER, "equal")
def step_descends(key: Array, config: Config) -> Compared:
    """Both steps against autodiff of the loss: in W at rate eta; in (xi1, xi2) at eta/d and eta."""
    prompts, params = material.prompts_of(key, config), material.setting(key, config)
    slope = jax.grad(model.loss)(params, prompts, material.UNREAD, config)
    eta, d = config.learning_rate, config.dimension.real
    got = training.step(key, 0, params, prompts, material.UNREAD, config)
    return got, Reduced(params.xi1 - eta / d * slope.xi1, params.xi2 - eta * slope.xi2)


@check("natural: autodiff in W", material.PAPER, "equal")
def natural_descends(key: Array, config: Config) -> Compared:
    """xi1 and xi2 of autodiff's gradient in W, taken as a matrix; and the gradient in W itself."""
    prompts, params = material.prompts_of(key, config), material.setting(key, config)
    W = calculus.lift(params, config)
    loss = lambda W: model.loss(W, prompts, material.UNREAD, config)
    slope = jax.grad(loss)(W)
    got = [training.natural(p, prompts, material.UNREAD, config) for p in (params, W)]
    return got, [calculus.reduce(slope, config), slope]


@check("literal_step: autodiff of the loss", material.PAPER, "equal")
def literal_step_descends(key: Array, config: Config) -> Compared:
    """W - eta times autodiff's gradient, with the source's matrix form where it is computed."""
    prompts, W = material.prompts_of(key, config), material.full(key, config)
    loss = lambda W: (
        literal.whole_loss(W, prompts, config)
        if literal.dense(config)
        else model.loss(W, prompts, material.UNREAD, config)
    )
    want = W.W - config.learning_rate * jax.grad(loss)(W).W
    return training.literal_step(key, 0, W, prompts, material.UNREAD, config).W, want


@check("population_step: example by example", "derived", "equal")
def step_nested(key: Array, config: Config) -> Compared:
    """A step by autodiff of the loss on all prompts, weighted by their law."""
    if not literal.nested(config) or config.context.cap == 1:
        return None
    params, eta = material.setting(key, config), config.learning_rate
    slope = literal.nested_slope(params, config)
    got = training.population_step(key, 0, params, (), material.UNREAD, config)
    return got, Reduced(
        params.xi1 - eta / config.dimension.cap * slope.xi1, params.xi2 - eta * slope.xi2
    )
