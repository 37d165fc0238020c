"""Data of a run: Gaussian tokens, the hidden direction and the position."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.core.config import Size
from jaxtheory.ops import draws, linalg
from jaxtheory.theories.positional_semantic import model
from jaxtheory.theories.positional_semantic.model import Batch, Config, Problem


def problem(key: Array, config: Config) -> Problem:
    """Draw Q* and p, uniform on their spheres, and n samples."""
    for_direction, for_position, for_tokens = jax.random.split(key, 3)
    d, n = Size.wrap(config.dimension), Size.wrap(config.num_samples)
    root = jnp.sqrt(jnp.asarray(d.real, float))
    direction = root * linalg.unit(draws.normal(for_direction, d))
    position = jnp.asarray(config.position_norm, float) * linalg.unit(draws.normal(for_position, d))
    scale = jnp.asarray(config.token_scale, float)
    tokens = scale * draws.normal(for_tokens, 2, n, d)
    return Problem(batch(tokens, direction, config), direction, position)


def sample(_key: Array, problem: Problem, _config: Config) -> Batch:
    """Return the fixed training set, for full-batch gradient descent."""
    return problem.train


def batch(x: Float[Array, "2 n d"], direction: Float[Array, " d"], config: Config) -> Batch:
    """The samples of these tokens with their labels."""
    d, n = jnp.asarray(Size.wrap(config.dimension).real, float), Size.wrap(config.num_samples)
    target = model.mixed(x @ direction / jnp.sqrt(d), config)
    valid = draws.masked(target.T, n).T
    return Batch(x, valid, jnp.sum((x[0] - x[1]) ** 2, axis=1) / d)
