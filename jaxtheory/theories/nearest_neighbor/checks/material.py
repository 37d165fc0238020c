"""Prompts and parameters from one draw each, and the choice of configs for each check.

One draw compiles fast.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.core.config import Size
from jaxtheory.theories.nearest_neighbor import calculus, data, model
from jaxtheory.theories.nearest_neighbor.laws import population
from jaxtheory.theories.nearest_neighbor.model import (
    Config,
    Full,
    Params,
    Problem,
    Prompts,
    Reduced,
)

PAPER = "arXiv 2411.10830"
UNREAD = Problem._make([None] * 3)  # for checks that do not use the problem


def unpadded(config: Config) -> bool:
    """True if no size is padded."""
    return all(
        getattr(config, name).value is None for name in ("dimension", "context", "num_prompts")
    )


def law_seen(config: Config) -> bool:
    """True for configs on which the population is checked.

    The population does not depend on training labels.
    """
    return config.labels != "gaussian"


def drawn(key: Array, config: Config, count: Size | int | None = None) -> Prompts:
    """Prompts with labels as `data.draw_prompts` gives them, from one draw that compiles fast."""
    B, N, d = Size.wrap(count or config.num_test), config.context, config.dimension
    mask = (
        B.mask()[:, None, None]
        & jnp.append(True, N.mask())[None, :, None]
        & jnp.append(True, d.mask())[None, None, :]
    )
    points = jnp.where(mask, jax.random.normal(key, (B.cap, N.cap + 1, d.cap + 1)), 0)
    x = points[:, :, 1:] / jnp.where(
        mask[:, :, :1], jnp.linalg.norm(points[:, :, 1:], axis=2, keepdims=True), 1
    )
    y = data.labeled_by(points[:, 1:, 0], x[:, 1:], config)
    return data.make_prompts(x[:, 1:], x[:, 0], y, B, config)


def prompts_of(key: Array, config: Config) -> Prompts:
    """The training prompts of a config."""
    prompts = drawn(key, config, config.num_prompts)
    return prompts._replace(y=None) if config.labels == "averaged" else prompts


def setting(key: Array, config: Config) -> Reduced:
    """Prompts, and parameters away from special points."""
    xi = jax.random.uniform(jax.random.fold_in(key, 7), (2,), minval=0.3, maxval=3.0)
    return Reduced(xi[0], xi[1])


def full(key: Array, config: Config) -> Full:
    """A random W, zero in padded rows and columns.

    Rows that meet labels are 0 where labels are averaged.
    """
    d = config.dimension
    inside = jnp.concatenate([d.mask(), jnp.ones(2, bool)])
    meets_labels = jnp.equal(jnp.arange(d.cap + 2), d.cap)
    W = jax.random.normal(key, (d.cap + 2, d.cap + 2))
    if config.labels == "averaged":
        W = jnp.where(meets_labels[:, None], 0, W)
    return Full(jnp.where(inside[:, None] & inside[None, :], W, 0))


def deviations(params: Params, prompts: Prompts, config: Config) -> Float[Array, " B"]:
    """|f - y_{i*}| by its definition, 0 on padded rows."""
    s = model.attend(params, prompts, config)
    y = prompts.y.T
    f = jnp.sum(s[:-1] * y, axis=0)
    return jnp.where(prompts.weight > 0, jnp.abs(f - model.picked(y, prompts)), 0)


def against(key: Array, prompts: Prompts, config: Config) -> tuple[Array, Array, Array]:
    """Loss and gradient on prompts without labels against the population's."""
    params = setting(key, config)
    slope = population.gradient(params, config)
    s = model.attend(params, prompts, config)
    g = calculus.logit_gradient(s, prompts)
    values = jnp.stack(
        [
            model.squared_errors(s, prompts) / 2,
            jnp.sum(g[:-1] * prompts.t.T, axis=0) + g[-1],
            -g[-1],
        ]
    )
    means, error = jnp.mean(values, axis=1), jnp.std(values, axis=1) / math.sqrt(values.shape[1])
    return means, jnp.stack([population.loss(params, config), slope.xi1, slope.xi2]), error
