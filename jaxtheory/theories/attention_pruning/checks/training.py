"""A step against Algorithm 1 as written."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.attention_pruning import laws, model, training
from jaxtheory.theories.attention_pruning.checks import material
from jaxtheory.theories.attention_pruning.model import Config


@material.where_long
def step_as_written(key: Array, config: Config) -> Compared:
    """Two steps of the literal recursion with autodiff gradients, at eta = 1/L_g so that rounding
    does not grow.
    """
    problem, batch, fused, factors = material.setting(key, config)
    eta = 1 / laws.lipschitz(batch, problem, config).gradient
    config = config.replace(step_scale=eta * config.regularization)

    def literal(_: Array, pair: tuple[model.Params, model.Params]) -> tuple:
        params, V = pair
        slope = jax.grad(model.loss)(params, batch, problem, config)
        V = jax.tree.map(lambda v, g: config.momentum * v + g, V, slope)
        params = jax.tree.map(lambda m, v: m - eta * v, params, V)
        if config.clip:
            params = jax.tree.map(lambda m: jnp.minimum(jnp.maximum(m, 0.0), 1.0), params)
        return params, V

    def step(t: Array, state: training.State) -> training.State:
        return training.step(key, t, state, batch, problem, config)

    got, want = [], []
    for masks in (fused, factors):
        start: tuple = masks, jax.tree.map(jnp.zeros_like, masks)
        got.append(jax.lax.fori_loop(0, 2, step, training.begin(masks, problem, config)).params)
        want.append(jax.lax.fori_loop(0, 2, literal, start)[0])
    return got, want


CHECKS = (
    Check(
        "step: Algorithm 1 as written, one mask and two", "Algorithm 1", "equal", step_as_written
    ),
)
