"""Prompts and weights from one draw, and the choice of configs for each check."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.ops import draws
from jaxtheory.theories.in_context_regression import data, laws
from jaxtheory.theories.in_context_regression.model import (
    Batch,
    Config,
    Literal,
    Merged,
    Params,
    Problem,
    Separate,
)

PAPER = "arXiv 2501.16265"


def is_unpadded(config: Config) -> bool:
    """True if no size is padded."""
    names = ("dimension", "length", "heads", "rank", "num_prompts")
    return all(Size.wrap(getattr(config, n)).value is None for n in names)


def raw(key: Array, config: Config) -> tuple[Array, Array, Array, Array]:
    """Examples x (P, N, D), their labels, queries and labels of the queries, without a law."""
    P, N, D = config.num_prompts, config.length, config.dimension
    for_x, for_y, for_query, for_label = jax.random.split(key, 4)
    x, y = draws.normal(for_x, P, N, D), draws.normal(for_y, P, N)
    return x, y, draws.normal(for_query, P, D), draws.normal(for_label, P)


def prompts(key: Array, config: Config) -> Batch:
    """The batch of these prompts."""
    return data.batch(*raw(key, config), config.num_prompts, config.length)


def weights(key: Array, config: Config) -> Params:
    """Weights of order 1 in the form of the config, all blocks of the literal one included."""
    D, H, R = config.dimension, config.heads, config.rank
    one, two, three = jax.random.split(key, 3)
    if config.form == "merged":
        return Merged(draws.normal(one, H), draws.normal(two, H, D, D))
    if config.form == "separate":
        kq = draws.normal(two, H, R, D), draws.normal(three, H, R, D)
        return Separate(draws.normal(one, H), *kq)
    t = Size(D.cap + 1, None if D.value is None else D.n + 1)
    return Literal(draws.normal(one, H, t), draws.normal(two, H, t, D))


def setting(key: Array, config: Config) -> tuple[Problem, Params]:
    """A problem of prompts without a law, whose fixed task is all ones, and weights."""
    one, two = jax.random.split(key)
    train, D = prompts(one, config), Size.wrap(config.dimension)
    task = D.mask().astype(float)
    return Problem(train, train, data.moments(train), task), weights(two, config)


def aligned(config: Config) -> Config:
    """The config with an aligned start and no in-weight tasks."""
    return config.replace(start="aligned", in_weight_share=0.0)


def minimum(config: Config) -> Params:
    """Weights of aligned heads, of rank 1 if separate, at the minimum of the population loss."""
    a, _ = laws.shares(config)
    H = Size.wrap(config.heads).cap
    if config.form == "separate":
        n = laws.heads_of(config)
        s = jnp.cbrt(a / n)
        D = Size.wrap(config.dimension).cap
        K = jnp.eye(D)[jnp.arange(H) % D][:, None]
        own = K[:, 0] @ s
        return Separate(own, K * own[:, None, None], K * own[:, None, None])
    norm = jnp.sqrt(jnp.sum(a**2))
    v = jnp.sqrt(norm / H)
    return Merged(jnp.full(H, v), jnp.broadcast_to(jnp.diag(a / (H * v)), (H, *2 * a.shape)))
