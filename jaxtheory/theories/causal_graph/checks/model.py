"""Checks of the forward pass and the gradient."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Compared, check
from jaxtheory.ops import draws
from jaxtheory.theories.causal_graph import calculus, model
from jaxtheory.theories.causal_graph.checks import literal, material
from jaxtheory.theories.causal_graph.model import Config, Params


def weights(key: Array, config: Config) -> Params:
    """Scores of order 1 in both layers."""
    one, two = jax.random.split(key)
    T, S = config.length, config.num_states
    return Params(draws.normal(one, T, T), draws.normal(two, S, S))


@check("gradient: autodiff of the layers", material.PAPER, "equal")
def loss_by_prompt(key: Array, config: Config) -> Compared:
    """The loss and its gradient against autodiff of the layers with whole matrices."""
    if not material.is_unpadded(config):
        return None
    batch, params = material.batch(key, config), weights(key, config)
    S, T = Size.wrap(config.num_states).cap, Size.wrap(config.length).cap

    def loss(params: Params) -> Array:
        f = jax.vmap(lambda s: literal.output(params, s, S, T))(batch.s)
        return -jnp.mean(jnp.sum(batch.target * jnp.log(f + config.epsilon), axis=1))

    problem = material.problem(batch, config)
    got = model.loss(params, batch, problem, config)
    slope = calculus.gradient(params, batch, problem, config)
    return (got, slope), jax.value_and_grad(loss)(params)
