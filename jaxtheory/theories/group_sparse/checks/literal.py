"""The layer as the source writes it, token by token; the linear predictor, sample by sample; and a
sample with all its symmetries.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtheory.theories.group_sparse.model import Batch, Config, Params, Problem


def joined(params: Params) -> tuple[Float[Array, " h"], Float[Array, "h h"]]:
    """v and W of the blocks, h = d + D."""
    W = jnp.block([[params.W11, params.W12], [params.W21, params.W22]])
    return jnp.concatenate([params.v1, params.v2]), W


def tokens(x: Float[Array, "d D n"]) -> Float[Array, "n h D"]:
    """H = [X; P] of every sample."""
    D = x.shape[1]
    P = jnp.stack(
        [jnp.sin(jnp.arange(1.0, D + 1) * j * jnp.pi / (D + 1)) for j in range(1, D + 1)], axis=1
    )
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


def linear_loss(beta: Array, batch: Batch) -> Array:
    """Logistic loss of <beta, X>, a sample at a time."""
    f = jnp.stack([jnp.vdot(beta, batch.x[:, :, i]) for i in range(batch.x.shape[2])])
    return jnp.mean(jnp.log1p(jnp.exp(-batch.y * f)))


def basis(v: Float[Array, " d"]) -> Float[Array, "d d"]:
    """An orthogonal symmetric matrix whose first column is v (up to rounding, not v = e_1)."""
    w = v - jnp.eye(len(v))[0]
    return jnp.eye(len(v)) - 2 * w[:, None] * w[None, :] / (w @ w)


def completed(batch: Batch, problem: Problem, config: Config) -> Batch:
    """The sample with its images under all signed permutations of an orthogonal basis of v*'s
    complement, the reflection of v* and the
    permutations of the other groups: as symmetric as the population in all that the gradient sees.
    """
    d, D = config.group_dim.cap, config.num_groups.cap
    turns, signs = [], []
    for sign in (1, -1):
        for order in itertools.permutations(range(d - 1)):
            for flips in itertools.product((1, -1), repeat=d - 1):
                turn = np.zeros((d, d))
                turn[0, 0] = sign
                turn[1 + np.arange(d - 1), 1 + np.array(order)] = flips
                turns.append(turn)
                signs.append(sign)
    H = basis(problem.truth)
    O = jnp.einsum("ab,gbc,cd->gad", H, np.array(turns), H)
    j = jnp.asarray(config.relevant_group, int) - 1
    others = jnp.arange(D - 1) + (jnp.arange(D - 1) >= j).astype(int)
    place = [
        jnp.zeros(D, int).at[j].set(j).at[others].set(others[np.array(p)])
        for p in itertools.permutations(range(D - 1))
    ]
    images = jnp.einsum("gab,bjn->gajn", O, batch.x)[:, :, jnp.stack(place), :]
    x = jnp.moveaxis(images, (1, 3), (0, 1)).reshape(d, D, -1)
    y = jnp.broadcast_to(
        (np.array(signs, float)[:, None] * batch.y[None])[:, None],
        (len(signs), len(place), len(batch.y)),
    ).reshape(-1)
    return Batch(x, y, jnp.full(y.shape, 1 / y.size))
