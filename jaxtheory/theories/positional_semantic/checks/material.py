"""Parameters without a law, the loss sample by sample, and the choice of configs for each check."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.core.config import Size
from jaxtheory.ops import draws
from jaxtheory.theories.positional_semantic import model
from jaxtheory.theories.positional_semantic.model import Config, Params, Problem


def is_unpadded(config: Config) -> bool:
    """True if no size is padded."""
    return all(Size.wrap(x).value is None for x in (config.dimension, config.num_samples))


def weights(key: Array, config: Config) -> Params:
    """Parameters of order 1."""
    return Params(draws.normal(key, config.dimension))


def matrix(h: Float[Array, "2"]) -> Float[Array, "2 2"]:
    """softmax(h h^T), row by row."""
    return jax.nn.softmax(h[:, None] * h[None, :], axis=1)


def label_matrix(x: Float[Array, "2 d"], problem: Problem, config: Config) -> Float[Array, "2 2"]:
    """T of one sample."""
    omega, a = jnp.asarray(config.mixture, float), jnp.asarray(config.amplitude, float)
    positions = 0.5 + a * jnp.array([[1.0, -1.0], [-1.0, 1.0]])
    chi = x @ problem.direction / jnp.sqrt(x.shape[1])
    return (1 - omega) * matrix(chi) + omega * positions


def literal_error(
    params: Params, x: Float[Array, "2 d"], problem: Problem, config: Config
) -> Float[Array, ""]:
    """|T x - softmax(h h^T) x|^2 / d of one sample."""
    d = x.shape[1]
    at = x + jnp.stack([problem.position, -problem.position])
    f = matrix(at @ params.Q / jnp.sqrt(d)) @ x
    return jnp.sum((label_matrix(x, problem, config) @ x - f) ** 2) / d


def literal(params: Params, problem: Problem, config: Config) -> Float[Array, ""]:
    """The loss sample by sample."""
    x = problem.train.x
    total = jnp.asarray(config.ridge, float) * jnp.sum(params.Q**2) / 2
    for i in range(x.shape[1]):
        total = total + literal_error(params, x[:, i], problem, config) / 2
    return total


def overlaps_of(key: Array) -> model.Overlaps:
    """Overlaps of order 1, theta^2 < q."""
    one, two, three = jax.random.uniform(key, (3,), minval=0.2, maxval=0.9)
    return model.Overlaps(one, two * jnp.sqrt(one), three)
