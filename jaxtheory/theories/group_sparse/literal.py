"""The layer as the source writes it, token by token: the second route of the checks; and the material that they run on."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Array, Float

from jaxtheory.core import draws
from jaxtheory.theories.group_sparse import model
from jaxtheory.theories.group_sparse.model import Batch, Config, Params, Problem

TEST = 8


def joined(params: Params) -> tuple[Float[Array, " h"], Float[Array, "h h"]]:
    """v and W of the blocks, h = d + D."""
    W = jnp.block([[params.W11, params.W12], [params.W21, params.W22]])
    return jnp.concatenate([params.v1, params.v2]), W


def split(v: Float[Array, " h"], W: Float[Array, "h h"], d: int) -> Params:
    """The blocks of v and W."""
    return Params(v[:d], v[d:], W[:d, :d], W[:d, d:], W[d:, :d], W[d:, d:])


def tokens(x: Float[Array, "d D n"]) -> Float[Array, "n h D"]:
    """H = [X; P] of every sample."""
    D = x.shape[1]
    P = jnp.stack([jnp.sin(jnp.arange(1.0, D + 1) * j * jnp.pi / (D + 1)) for j in range(1, D + 1)], axis=1)
    return jnp.stack([jnp.concatenate([x[:, :, i], P]) for i in range(x.shape[2])])


def attention(W: Float[Array, "h h"], H: Float[Array, "n h D"]) -> Float[Array, "n D D"]:
    """softmax(H^T W h_j) as column j."""
    return jax.nn.softmax(jnp.einsum("nck,ce,nej->nkj", H, W, H), axis=1)


def loss(params: Params, batch: Batch) -> Float[Array, ""]:
    """Mean of log(1 + exp(-y sum_j v^T H softmax(H^T W h_j)))."""
    v, W = joined(params)
    H = tokens(batch.x)
    f = jnp.einsum("c,nck,nkj->n", v, H, attention(W, H))
    return jnp.mean(jnp.log1p(jnp.exp(-batch.y * f)))


def whole(config: Config) -> bool:
    """Whether no size is padded."""
    return all(getattr(config, n).value is None for n in ("group_dim", "num_groups", "num_samples", "downstream_samples"))


def case(key: Array, config: Config) -> tuple[Problem, Params]:
    """A problem, and a layer that is neither flat nor saturated, from one draw, which compiles fast. Zero on padding."""
    d, D, n, m = config.group_dim, config.num_groups, config.num_samples, config.downstream_samples
    sets = [(d, D, n), (d, D, TEST), (d, D, m), (d, D, TEST)]
    axes = [(2, d), *sets, (d,), (D,), (d, d), (d, D), (D, d), (D, D)]
    shapes = [tuple(model.Size.wrap(a).cap for a in group) for group in axes]
    ends = np.cumsum([np.prod(shape) for shape in shapes])
    flat = jnp.split(jax.random.normal(key, (int(ends[-1]),)), ends[:-1])
    g, train, test, new, new_test, *blocks = (
        draws.masked(part.reshape(shape), *group) for part, shape, group in zip(flat, shapes, axes, strict=True)
    )
    if config.features == "uniform":
        new, new_test = norm.cdf(new), norm.cdf(new_test)
    return model.tasks(g, (train, test), (new, new_test), config), Params(*(0.5 * block for block in blocks))
