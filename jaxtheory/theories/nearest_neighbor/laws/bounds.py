"""Bounds on the deviation from one-nearest-neighbor prediction under distribution shift."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.theories.nearest_neighbor import calculus, model
from jaxtheory.theories.nearest_neighbor.model import Config, Params, Prompts


def bound(
    params: Params, prompts: Prompts, delta: Float[Array, ""] | float, config: Config
) -> Float[Array, " B"]:
    """The bound on |f - y_{i*}| per prompt, where examples of another label are separated.

        |f - y_{i*}| <= 2 R (N - 1) exp(-xi1 delta / 2) + R exp(-(xi2 - xi1 (1 - t*)))

    with R = max |y_i| and t* = <x_{i*}, q>, for prompts whose examples of another label are delta
    farther from q than the nearest, or more, in squared distance; xi1 >= 0. The bound is attained
    in the limit of small terms. Source: derived.
    """
    xi1, xi2 = calculus.reduce(params, config)
    R = jnp.max(jnp.where(config.context.mask()[None, :], jnp.abs(prompts.y), 0), axis=1)
    away = 2 * (config.context.real - 1) * jnp.exp(-xi1 * jnp.asarray(delta) / 2)
    return R * (away + jnp.exp(-(xi2 - xi1 * (1 - model.picked(prompts.t.T, prompts)))))


def shift_bound(
    params: Params, delta: Float[Array, ""] | float, config: Config
) -> Float[Array, ""]:
    """The bound on E_y (f - y_{i*})^2 where q = x_{i*} and the others are delta away or more.

        E_y (f - y_{i*})^2 <= (N - 1) a^2 + ((N - 1) a + b)^2
        a = exp(-xi1 delta / 2),  b = exp(-xi2)

    It is at most 2, follows from s_j <= a and s_q <= b, and is attained in the limit of small
    terms. Source: derived.
    """
    xi1, xi2 = calculus.reduce(params, config)
    num_rivals, a = config.context.real - 1, jnp.exp(-xi1 * jnp.asarray(delta) / 2)
    return jnp.minimum(num_rivals * a**2 + (num_rivals * a + jnp.exp(-xi2)) ** 2, 2)


def flipped_separation(config: Config) -> Float[Array, ""]:
    """The separation min(delta, 4 - delta) from q = x_{i*} that `data.flipped` gives the others."""
    delta = jnp.asarray(config.separation, float)
    return jnp.minimum(delta, 4 - delta)
