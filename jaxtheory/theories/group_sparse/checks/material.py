"""A problem and a layer from one draw, and the choice of configs for each check.

One draw compiles fast.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Array, Float

from jaxtheory.core.config import Size
from jaxtheory.ops import draws
from jaxtheory.theories.group_sparse import calculus, data
from jaxtheory.theories.group_sparse.model import Config, Params, Problem

PAPER = "arXiv 2504.08638"
MANY = 4000
TEST = 8


def is_unpadded(config: Config) -> bool:
    """True if no size is padded."""
    return all(
        getattr(config, n).value is None
        for n in ("group_dim", "num_groups", "num_samples", "downstream_samples")
    )


def case(key: Array, config: Config) -> tuple[Problem, Params]:
    """A problem, and a layer that is neither flat nor saturated, from one draw.

    One draw compiles fast. Padded entries are zero.
    """
    d, D, n, m = config.group_dim, config.num_groups, config.num_samples, config.downstream_samples
    sets: list[tuple[Size | int, ...]] = [(d, D, n), (d, D, TEST), (d, D, m), (d, D, TEST)]
    axes = [(2, d), *sets, (d,), (D,), (d, d), (d, D), (D, d), (D, D)]
    shapes = [tuple(Size.wrap(a).cap for a in group) for group in axes]
    ends = np.cumsum([np.prod(shape) for shape in shapes])
    flat = jnp.split(jax.random.normal(key, (int(ends[-1]),)), ends[:-1])
    g, train, test, new, new_test, *blocks = (
        draws.masked(part.reshape(shape), *group)
        for part, shape, group in zip(flat, shapes, axes, strict=True)
    )
    if config.features == "uniform":
        new, new_test = norm.cdf(new), norm.cdf(new_test)
    return data.tasks(g, (train, test), (new, new_test), config), Params(
        *(0.5 * block for block in blocks)
    )


def setting(key: Array, config: Config) -> tuple[Problem, calculus.Reduced]:
    """A problem and six numbers that the descent can reach. At D = 2, own = -pull."""
    problem, params = case(key, config)
    reduced = calculus.Reduced(*(2 * jnp.concatenate([jnp.ravel(x) for x in params])[:6]))
    if config.num_groups.cap == 2:
        reduced = reduced._replace(diagonal=-reduced.pull)
    return problem, reduced


def gathered(params: Params) -> Float[Array, " n"]:
    """All blocks in one array, so that they are compared on one scale."""
    return jnp.concatenate([jnp.ravel(x) for x in params])
