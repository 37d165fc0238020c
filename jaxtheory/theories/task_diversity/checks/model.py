"""Checks of the forward pass, the loss and the gradient."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.task_diversity import calculus, data, model
from jaxtheory.theories.task_diversity.checks import literal, material
from jaxtheory.theories.task_diversity.data import Prompts
from jaxtheory.theories.task_diversity.model import Config, Params


@check("output: prompt by prompt", material.PAPER, "equal")
def output_by_prompt(key: Array, config: Config) -> Compared:
    """The output against <[Gamma, gamma], Z> of each prompt."""
    if not material.is_unpadded(config):
        return None
    params, prompts = material.weights(key, config), material.raw(key, config)
    want = jnp.stack([jnp.sum(literal.weights(params) * Z) for Z in _features(prompts)])
    return model.output(params, data.batch(prompts, config)), want


@check("output: a layer of linear attention", material.PAPER, "equal")
def output_of_attention(key: Array, config: Config) -> Compared:
    """The output against the entry of a layer of linear attention on all tokens."""
    if not material.is_unpadded(config):
        return None
    params, prompts = material.weights(key, config), material.raw(key, config)
    want = [literal.attention(params, x, y, query) for x, y, query, _ in zip(*prompts, strict=True)]
    return model.output(params, data.batch(prompts, config)), jnp.stack(want)


@check("gradient: autodiff of the sum over prompts", material.PAPER, "equal")
def gradient_by_prompt(key: Array, config: Config) -> Compared:
    """Loss and gradient against the sum over prompts and its autodiff."""
    if not material.is_unpadded(config):
        return None
    problem, params = material.setting(key, config)
    prompts = material.raw(jax.random.split(key)[0], config)
    Z, d = _features(prompts), Size.wrap(config.dimension).cap

    def loss(params: Params) -> Array:
        G = literal.weights(params)
        squares = [(y - jnp.sum(G * z)) ** 2 for z, y in zip(Z, prompts.label, strict=True)]
        return sum(squares) / len(squares) + config.ridge / d * jnp.sum(G**2)

    got = (
        model.loss(params, problem.train, problem, config),
        calculus.gradient(params, problem.train, problem, config),
    )
    return got, jax.value_and_grad(loss)(params)


@check("features: prompt by prompt", "derived", "equal")
def features_by_prompt(key: Array, config: Config) -> Compared:
    """The rows of features and the weights of a row, against Z and [Gamma, gamma]."""
    if not material.is_unpadded(config):
        return None
    params, prompts = material.weights(key, config), material.raw(key, config)
    rows = calculus.features(data.batch(prompts, config))
    first = lambda Z: jnp.roll(Z, 1, axis=1).ravel()
    want = jnp.stack([first(Z) for Z in _features(prompts)]), params
    return (rows, calculus.packed(first(literal.weights(params)))), want


def _features(prompts: Prompts) -> list[Array]:
    return [literal.features(x, y, query) for x, y, query, _ in zip(*prompts, strict=True)]
