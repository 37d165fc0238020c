"""Checks of the forward pass, the moments and the gradients."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.in_context_regression import calculus, data, model
from jaxtheory.theories.in_context_regression.checks import literal, material
from jaxtheory.theories.in_context_regression.model import Config, Literal


@check("output: the whole matrices", material.PAPER, "equal")
def output_by_token(key: Array, config: Config) -> Compared:
    """The output of the reduced layer against that of the whole matrices, prompt by prompt."""
    if not material.is_unpadded(config):
        return None
    params, prompts = material.weights(key, config), material.raw(key, config)
    batch = data.batch(*prompts, config.num_prompts, config.length)
    x, y, query, _ = prompts
    want = jax.vmap(lambda *prompt: literal.output(params, *prompt))(x, y, query)
    return model.output(params, batch), want


@check("gradient: autodiff of the whole matrices", material.PAPER, "equal")
def gradient_by_token(key: Array, config: Config) -> Compared:
    """The gradient against autodiff of the loss of the whole matrices."""
    if not material.is_unpadded(config):
        return None
    problem, params = material.setting(key, config)
    prompts = material.raw(key, config)
    x, y, query, label = prompts

    def loss(params: model.Params) -> Array:
        f = jax.vmap(lambda *prompt: literal.output(params, *prompt))(x, y, query)
        return jnp.mean((label - f) ** 2)

    batch = data.batch(*prompts, config.num_prompts, config.length)
    return calculus.gradient(params, batch, problem, config), jax.grad(loss)(params)


@check("moments: loss and gradient by prompt", "derived", "equal")
def moments_on_prompts(key: Array, config: Config) -> Compared:
    """Loss and gradient by the moments against those prompt by prompt."""
    problem, params = material.setting(key, config)
    if isinstance(params, Literal):
        return None
    batch, moments = problem.train, problem.moments
    A = model.matrix(params)
    got = calculus.by_moments(A, moments), calculus.by_heads(params, calculus.slope(A, moments))
    return got, (
        model.loss(params, batch, problem, config),
        calculus.gradient(params, batch, problem, config),
    )


@check("literal: the same function", "derived", "equal")
def literal_form(key: Array, config: Config) -> Compared:
    """The literal weights of a reduced layer are the same function."""
    params, batch = material.weights(key, config), material.prompts(key, config)
    return model.output(model.literal(params), batch), model.output(params, batch)
