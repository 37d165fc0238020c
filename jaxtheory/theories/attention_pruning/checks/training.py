"""A step against Algorithm 1 as written, and the descent lemma."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.attention_pruning import calculus, laws, model, training
from jaxtheory.theories.attention_pruning.checks import material
from jaxtheory.theories.attention_pruning.model import Config


def step_as_written(key: Array, config: Config) -> Compared:
    """Two steps of the literal recursion with autodiff gradients, at eta = 1/L_g so that rounding
    does not grow.
    """
    problem, batch, fused, factors = material.setting(key, config)
    eta = 1 / laws.lipschitz(batch, problem, config).gradient
    config = config.replace(step_scale=eta * config.regularization)

    def literal(params: model.Params) -> model.Params:
        V = jax.tree.map(jnp.zeros_like, params)
        for _ in range(2):
            V = jax.tree.map(
                lambda v, g: config.momentum * v + g,
                V,
                jax.grad(model.loss)(params, batch, problem, config),
            )
            params = jax.tree.map(lambda m, v: m - eta * v, params, V)
            if config.clip:
                params = jax.tree.map(lambda m: jnp.minimum(jnp.maximum(m, 0.0), 1.0), params)
        return params

    def stepped(params: model.Params) -> model.Params:
        state = training.begin(params, problem, config)
        for t in range(2):
            state = training.step(key, jnp.asarray(t), state, batch, problem, config)
        return state.params

    return (stepped(fused), stepped(factors)), (literal(fused), literal(factors))


def descent_step(key: Array, config: Config) -> Compared:
    """L(M_1) + (eta / 2) ||grad L(M_0)||^2 <= L(M_0) at eta = 1/L_g."""
    problem, batch, mask, _ = material.setting(key, config)
    config = material.smooth(batch, problem, config)
    start = training.begin(mask, problem, config)
    after = training.step(key, jnp.asarray(0), start, batch, problem, config).params
    slope = calculus.norm(calculus.gradient(mask, batch, problem, config))
    drop = config.step_scale / config.regularization / 2 * slope**2
    return model.loss(after, batch, problem, config) + drop, model.loss(
        mask, batch, problem, config
    )


CHECKS = (
    Check(
        "step: Algorithm 1 as written, one mask and two", "Algorithm 1", "equal", step_as_written
    ),
    Check("step: descent lemma at eta = 1/L_g", "theorem 5.2", "bound", descent_step),
)
