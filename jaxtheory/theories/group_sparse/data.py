"""Data of a run: features in groups, and labels by one direction in the relevant group.

The data of the downstream task are the same, with a margin.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtheory.core.config import Size
from jaxtheory.ops import draws
from jaxtheory.theories.group_sparse import model
from jaxtheory.theories.group_sparse.model import Batch, Config, Problem

TEST_SAMPLES = 1000


def problem(key: Array, config: Config) -> Problem:
    """Draw the samples and the directions of both tasks.

    There are n training and 1000 test samples, m downstream and 1000 downstream test samples.
    """
    d, D, n, m = config.group_dim, config.num_groups, config.num_samples, config.downstream_samples
    for_v, for_train, for_new, for_test = jax.random.split(key, 4)
    test, new_test = draws.normal(for_test, 2, d, D, TEST_SAMPLES)
    new = draws.normal(for_new, d, D, m), new_test
    if config.features == "uniform":
        new = (
            draws.uniform(for_new, d, D, m),
            draws.uniform(jax.random.fold_in(for_test, 2), d, D, TEST_SAMPLES),
        )
    return tasks(draws.normal(for_v, 2, d), (draws.normal(for_train, d, D, n), test), new, config)


def sample(_key: Array, problem: Problem, _config: Config) -> Batch:
    """Return the fixed training set, for full-batch gradient descent."""
    return problem.train


def tasks(g: Float[Array, "2 d"], old: tuple, new: tuple, config: Config) -> Problem:
    """Both tasks from their directions g / |g| and the draws of their features.

    Each task has its own draws of training and test features.
    """
    d, D, n, m = config.group_dim, config.num_groups, config.num_samples, config.downstream_samples
    v = direction(g[0]), direction(g[1])

    def sets(z: tuple, law: str, count: Size | int, v: Float[Array, " d"]) -> tuple[Batch, Batch]:
        x = [
            draws.masked(config.noise_scale * shaped(part, law), d, D, size)
            for part, size in zip(z, (count, z[1].shape[2]), strict=True)
        ]
        train, test = (grouped(part, config) for part in x)
        return labeled(train, count, v, config), labeled(test, test.shape[2], v, config)

    return Problem(*sets(old, "gaussian", n, v[0]), *sets(new, config.features, m, v[1]), *v)


def direction(g: Float[Array, " d"]) -> Float[Array, " d"]:
    """g / |g|, zero for g = 0."""
    norm = jnp.sqrt(inner_products(g, g))
    return g / jnp.where(norm > 0, norm, 1)


def shaped(z: Float[Array, "*n"], law: str) -> Float[Array, "*n"]:
    """Features of variance 1 from draws.

    They are standard normal draws themselves or their signs, or uniform draws on [0, 1) as
    sqrt 3 (2 z - 1).
    """
    if law == "gaussian":
        return z
    return jnp.sign(z) if law == "rademacher" else jnp.asarray(3**0.5 * (2 * z - 1), float)


def grouped(x: Float[Array, "d D n"], config: Config) -> Float[Array, "d D n"]:
    """Features in groups: column j of the result holds the coordinates G_j of the feature vector.

    Coordinate i of the feature vector is x[i mod d, i div d].
    """
    if config.partition == "contiguous":
        return x
    G = np.array(config.partition).T
    d, D = G.shape
    return jnp.zeros_like(x).at[:d, :D].set(x[G % d, G // d])


def labeled(
    x: Float[Array, "d D n"], count: Size | int, v: Float[Array, " d"], config: Config
) -> Batch:
    """A batch with the labels y = sign <v, x_{j*}>, where sign(0) = +1."""
    count = Size.wrap(count)
    u = inner_products(v, jnp.take(x, jnp.asarray(config.relevant_group, jnp.int32) - 1, axis=1))
    y = draws.masked(jnp.where(u >= 0, 1, -1).astype(x.dtype), count)
    return Batch(x, y, count.weights())


def inner_products(v: Float[Array, " d"], x: Float[Array, "d ..."]) -> Float[Array, "..."]:
    """The products <v, x>, added feature by feature, so that padding does not change the order."""
    return functools.reduce(jnp.add, [v[a] * x[a] for a in range(len(v))])


def moved(batch: Batch, problem: Problem, config: Config) -> Batch:
    """Downstream samples with their margin: x_{j*} + gamma y v~, so that y <v~, x_{j*}> >= gamma.

    The rule is ours, since the source asks for some sub-Gaussian law with that margin. `Problem`
    holds the samples before this shift.
    """
    star, v = model.relevant(config), config.margin * problem.downstream_truth
    return batch._replace(
        x=batch.x + v[:, None, None] * star[None, :, None] * batch.y[None, None, :]
    )
