"""Prompts and weights from one draw, and the choice of configs for each check."""

import jax
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.ops import draws
from jaxtheory.theories.task_diversity import data
from jaxtheory.theories.task_diversity.data import Prompts
from jaxtheory.theories.task_diversity.model import Config, Params, Problem

PAPER = "arXiv 2405.11751"


def is_unpadded(config: Config) -> bool:
    """True if no size is padded."""
    names = ("dimension", "length", "num_prompts", "num_tasks")
    return all(Size.wrap(getattr(config, n)).value is None for n in names)


def raw(key: Array, config: Config) -> Prompts:
    """Prompts without a law."""
    n, l, d = config.num_prompts, config.length, config.dimension
    for_x, for_y, for_query, for_label = jax.random.split(key, 4)
    x, y = draws.normal(for_x, n, l, d), draws.normal(for_y, n, l)
    return Prompts(x, y, draws.normal(for_query, n, d), draws.normal(for_label, n))


def weights(key: Array, config: Config) -> Params:
    """Weights of order 1."""
    d = config.dimension
    one, two = jax.random.split(key)
    return Params(draws.normal(one, d, d), draws.normal(two, d))


def tasks(key: Array, config: Config) -> Array:
    """Tasks of different norms."""
    return draws.normal(jax.random.fold_in(key, 5), config.num_tasks, config.dimension)


def setting(key: Array, config: Config) -> tuple[Problem, Params]:
    """A problem of prompts without a law, tasks of different norms, and weights."""
    one, two = jax.random.split(key)
    train = data.batch(raw(one, config), config)
    return Problem(train, tasks(key, config)), weights(two, config)
