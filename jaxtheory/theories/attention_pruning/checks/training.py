"""Checks of steps against Algorithm 1 and theorem 4.1 as written."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.attention_pruning import laws, model, training
from jaxtheory.theories.attention_pruning.checks import material
from jaxtheory.theories.attention_pruning.model import Config


@check("step: Algorithm 1 as written, one mask and two", "Algorithm 1", "equal")
@material.where_long
def step_as_written(key: Array, config: Config) -> Compared:
    """Two steps of the literal recursion with autodiff gradients.

    They are at eta = 1/L_g so that rounding does not grow.
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


def smooth_start(key: Array, config: Config) -> tuple[model.Problem, model.Batch, training.Smooth]:
    """A random problem and the start of its smooth descent.

    The step size is eta = 1 / (lambda + 1.25 max|W|^2 mean ||X||_2^4).
    """
    problem, batch, _, _ = material.setting(key, config)
    fourth = jnp.linalg.norm(batch.inputs, ord=2, axis=(1, 2)) ** 4
    L_g = config.regularization + 1.25 * jnp.max(problem.weights**2) * jnp.mean(fourth)
    start = model.init(key, problem, config)
    return problem, batch, training.Smooth(start, 1 / L_g, model.target(batch, problem, config))


@check("init_smooth: eta = 1 / L_g", "theorem 4.1", "equal")
@material.where_long
def smooth_start_as_written(key: Array, config: Config) -> Compared:
    """The start of the smooth descent: the mask, 1 / L_g and f*."""
    problem, _, want = smooth_start(key, config)
    return training.init_smooth(key, problem, config), want


@check("smooth_step: plain descent", "theorem 4.1", "equal")
@material.where_long
def smooth_as_written(key: Array, config: Config) -> Compared:
    """Two steps of the smooth descent with autodiff gradients."""
    problem, batch, start = smooth_start(key, config)
    mask = start.params
    for _ in range(2):
        slope = jax.grad(model.loss)(mask, batch, problem, config)
        mask = jax.tree.map(lambda m, g: m - start.rate * g, mask, slope)
    step = lambda t, state: training.smooth_step(key, t, state, batch, problem, config)
    return jax.lax.fori_loop(0, 2, step, start), start._replace(params=mask)
