"""Mini-batch SGD on W_Q, W_K, W_V, W_O with one step size (equation 5), and LoRA.

A step is W <- W - eta dL/dW for all four. momentum, adam, sign and sgd_cosine take the place of SGD
(`from_optax.standard`).

    sgd         mini-batch SGD on the four matrices
    momentum    the same with momentum beta
    adam        Adam on the four matrices
    sign        sign descent on the four matrices
    sgd_cosine  sgd whose rate falls to 0 as a cosine within decay_steps
    lora        W = W(0) + B A with B and A trained by the steps of sgd
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core import from_optax
from jaxtheory.core.theory import Algorithm
from jaxtheory.ops import draws
from jaxtheory.theories.low_rank import calculus, model
from jaxtheory.theories.low_rank.model import Batch, Config, Params, Problem


class Factors(NamedTuple):
    """The factors B (.., rows, r) and A (.., r, columns) of each matrix, in two Params."""

    up: Params
    down: Params


# LoRA


def init_lora(key: Array, problem: Problem, config: Config) -> Factors:
    """The start A ~ N(0, 1 / columns), B = 0. The scale alpha / r of B A is 1."""
    r, d, m_a = config.lora_rank, config.dimension, config.value_dim
    start, columns = model.initial(problem, config), (d, d, d, m_a)

    def down(k: Array, W: Array, n: Any) -> Array:
        return draws.normal(k, *W.shape[:-2], r, n) / jnp.sqrt(jnp.asarray(n.real, W.dtype))

    up = jax.tree.map(lambda W: jnp.zeros((*W.shape[:-1], r.cap), W.dtype), start)
    return Factors(up, Params(*map(down, jax.random.split(key, 4), start, columns)))


def merged(state: Factors, problem: Problem, config: Config) -> Params:
    """The weights W(0) + B A."""
    return jax.tree.map(lambda W, B, A: W + B @ A, model.initial(problem, config), *state)


def factor_gradient(state: Factors, batch: Batch, problem: Problem, config: Config) -> Factors:
    """The gradients dL/dB = dL/dW A^T and dL/dA = B^T dL/dW."""
    slope = calculus.gradient(merged(state, problem, config), batch, problem, config)
    return Factors(
        jax.tree.map(lambda g, A: g @ A.mT, slope, state.down),
        jax.tree.map(lambda g, B: B.mT @ g, slope, state.up),
    )


def lora_step(
    _key: Array, _t: Array, state: Factors, batch: Batch, problem: Problem, config: Config
) -> Factors:
    """One step B <- B - eta dL/dB, A <- A - eta dL/dA."""
    slope = factor_gradient(state, batch, problem, config)
    return from_optax.descended(state, slope, config.learning_rate)


ALGORITHMS = {
    **from_optax.standard(model.init, calculus.gradient),
    "lora": Algorithm(init_lora, lora_step, merged),
}
