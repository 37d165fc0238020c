"""The layer, token by token as the source writes it, and the linear predictor, sample by sample.

`completed` gives a sample with all its symmetries.
"""

import itertools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxtheory.ops import linalg
from jaxtheory.theories.group_sparse.model import Batch, Config, Params, Problem


def assemble(params: Params) -> tuple[Float[Array, " h"], Float[Array, "h h"]]:
    """v and W assembled from their blocks, with h = d + D rows."""
    W = jnp.block([[params.W11, params.W12], [params.W21, params.W22]])
    return jnp.concatenate([params.v1, params.v2]), W


def sines(D: int) -> np.ndarray:
    """P with column j = (sin(i j pi / (D + 1)))_i."""
    i = np.arange(1.0, D + 1)
    return np.sin(i[:, None] * i[None, :] * np.pi / (D + 1))


def tokens(x: Float[Array, "d D n"]) -> Float[Array, "n h D"]:
    """The tokens H = [X; P] of every sample."""
    X = jnp.transpose(x, (2, 0, 1))
    P = sines(x.shape[1])
    return jnp.concatenate([X, jnp.broadcast_to(P, (len(X), *P.shape))], axis=1)


def attention(W: Float[Array, "h h"], H: Float[Array, "n h D"]) -> Float[Array, "n D D"]:
    """The attention, with softmax(H^T W h_j) as column j."""
    e = jnp.exp(jnp.swapaxes(H, 1, 2) @ (W @ H))
    return e / jnp.sum(e, axis=1, keepdims=True)


def output(params: Params, x: Float[Array, "d D n"]) -> Float[Array, " n"]:
    """f = sum_j v^T H softmax(H^T W h_j)."""
    v, W = assemble(params)
    H = tokens(x)
    return jnp.sum((v @ H)[:, None, :] @ attention(W, H), axis=(1, 2))


def loss(params: Params, batch: Batch) -> Float[Array, ""]:
    """Weighted mean of log(1 + exp(-y f))."""
    return batch.weight @ jnp.log1p(jnp.exp(-batch.y * output(params, batch.x)))


def linear_loss(beta: Array, batch: Batch) -> Array:
    """Logistic loss of <beta, X>."""
    f = jnp.ravel(beta) @ jnp.reshape(batch.x, (beta.size, -1))
    return batch.weight @ jnp.log1p(jnp.exp(-batch.y * f))


def form(v: Float[Array, " d"], star: Int[Array, ""], D: int) -> Float[Array, "m h h"]:
    """The matrix W for each of a, b, A_{j* j*}, A_{j* l} and A_kk alone, entry by entry.

    At D = 2 the last is missing. star counts from 0.
    """
    d = len(v)
    P, rho = sines(D), (D + 1) / 2
    k, j = np.indices((D, D))
    row_star, row_other = (k == star).astype(float), (k != star).astype(float)
    column_star, column_other = (j == star).astype(float), (j != star).astype(float)
    first, second, third, fourth = (
        row_star * column_star,
        row_star * column_other,
        row_other * (k == j).astype(float),
        row_other * column_star,
    )
    fifth = row_other * column_other - third
    A = [first - fourth / (D - 1), second - third]  # D = 2 has no fifth class
    if D > 2:
        A = [A[0], second - fifth / (D - 2), third - fifth / (D - 2)]
    projector = v[:, None] * v[None, :]
    features = [jnp.pad(x, (0, D)) for x in (projector, jnp.eye(d) - projector)]
    return jnp.stack([*features, *(jnp.pad(P @ x @ P.T / rho**2, (d, 0)) for x in A)])


def form_of(problem: Problem, config: Config) -> Array:
    """The matrix W for each of the numbers of the form."""
    star = jnp.asarray(config.relevant_group, int) - 1
    return form(problem.truth, star, config.num_groups.cap)


def least_squares(W: Array, parts: Array) -> tuple[Array, Array]:
    """The numbers of the nearest W of the form, and the share of |W|^2 outside the form."""
    B, w = parts.reshape(len(parts), -1), jnp.ravel(W)
    numbers = linalg.inv(B @ B.T) @ (B @ w)
    return numbers, jnp.sum((w - numbers @ B) ** 2) / (w @ w)


def basis(v: Float[Array, " d"]) -> Float[Array, "d d"]:
    """An orthogonal symmetric matrix whose first column is v, up to rounding. v must not be e_1."""
    w = v - jnp.eye(len(v))[0]
    return jnp.eye(len(v)) - 2 * w[:, None] * w[None, :] / (w @ w)


def completed(batch: Batch, problem: Problem, config: Config) -> Batch:
    """The sample with its images under all its symmetries.

    They are all signed permutations of an orthogonal basis of v*'s complement, the reflection of v*
    and the permutations of the other groups. In all that the gradient depends on, the result is as
    symmetric as the population.
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
    irrelevant = jnp.arange(D - 1) + (jnp.arange(D - 1) >= j).astype(int)
    place = [
        jnp.zeros(D, int).at[j].set(j).at[irrelevant].set(irrelevant[np.array(p)])
        for p in itertools.permutations(range(D - 1))
    ]
    images = jnp.einsum("gab,bjn->gajn", O, batch.x)[:, :, jnp.stack(place), :]
    x = jnp.moveaxis(images, (1, 3), (0, 1)).reshape(d, D, -1)
    y = jnp.broadcast_to(
        (np.array(signs, float)[:, None] * batch.y[None])[:, None],
        (len(signs), len(place), len(batch.y)),
    ).reshape(-1)
    return Batch(x, y, jnp.full(y.shape, 1 / y.size))
