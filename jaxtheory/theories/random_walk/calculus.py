"""Closed-form gradient of the layer and the exact reduction of its attention matrix.

With r = -ell'(f_y), q = the gradient of f_y in H, m = q^T H and a_j = q_{s_j} (a_N = 0):

    dL/dz_j = -E c_j,   c_j = r S_j (a_j - m),   c_N = -r S_N m
    dV = -E r e_y H^T,   du_k = -E sum_{j < N, s_j = k} c_j = -E r (q_k - m) H_k,   dw_j = -E c_j,
                         dW = -E sum_j c_j xt_j xt_N^T

for f = V H, where q = V^T e_y. For f = A relu(V H): q = V^T b with b = A^T e_y on active units, dV
= -E r b H^T, dA = -E r e_y relu(V H)^T.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.core.positions import indices
from jaxtheory.theories.random_walk import model
from jaxtheory.theories.random_walk.model import Batch, Config, Literal, Params, Problem, Reduced


def slope(f_y: Float[Array, "*n"], config: Config) -> Float[Array, "*n"]:
    """r = -ell'(f_y): 1/(f_y + eps), 1 - f_y or 1[f_y < 1]."""
    if config.loss_function == "log":
        return 1 / (f_y + config.epsilon)
    return 1 - f_y if config.loss_function == "square" else (f_y < 1).astype(f_y.dtype)


def gradient(params: Params, batch: Batch, _problem: Problem, config: Config) -> Params:
    """The gradient of `model.loss`, with the structure of its params: in (V, u, w, A) or (V, W, A).

    The mean runs over the sequences (weights 1/B). Token columns of dW are zero because the query
    carries no token.

    Source: "Towards Understanding Transformers in Learning Random Walks", gradient lemmas of the
    appendix (rederived); A is reconstructed.
    """
    N, K = config.length, config.num_states
    S, H = model.attend(params, batch, config)
    r = batch.weight * slope(model.label_output(params, batch, H), config)
    if params.A is None:
        dV, dA = -_by_label(r[:, None] * H, batch, K.cap), None
        q = params.V[batch.y]
    else:
        hidden = H @ params.V.T
        b = params.A[batch.y] * (hidden > 0).astype(H.dtype)
        dV, dA = -(r[:, None] * b).T @ H, -_by_label(r[:, None] * jax.nn.relu(hidden), batch, K.cap)
        q = b @ params.V
    m = jnp.sum(q * H, axis=1, keepdims=True)
    du = -jnp.sum(r[:, None] * (q - m) * H, axis=0)
    token = (indices(N.cap) < N.n - 1)[None, :]
    a = jnp.where(token, jnp.take_along_axis(q, batch.s, axis=1), 0)
    dw = -jnp.sum(r[:, None] * S * (a - m), axis=0)
    if isinstance(params, Reduced):
        return Reduced(dV, du, dw, dA)
    return Literal(dV, _pull_back(du, dw, config), dA)


def _by_label(rows: Float[Array, "B n"], batch: Batch, K: int) -> Float[Array, "K n"]:
    """sum_b e_{y_b} row_b^T, in the order of sequences."""
    return jnp.zeros((K, rows.shape[1]), rows.dtype).at[batch.y].add(rows)


def _pull_back(u: Float[Array, " K"], w: Float[Array, " N"], config: Config) -> Float[Array, "D D"]:
    """[u; sum_j w_j p_j] [0; p_N]^T with each token divided by its norm: the transpose of
    `model.scores` applied to (u, w).
    """
    _, n, n_query = model.token_norms(config)
    P = model.encodings(config)
    key = jnp.concatenate([u / n[0], P.T @ (w / n)])
    query = jnp.concatenate(
        [jnp.zeros(config.num_states.cap), jnp.take(P, config.length.n - 1, axis=0) / n_query]
    )
    return key[:, None] * query[None, :]


def reduce(params: Literal, config: Config) -> Reduced:
    """The K + N scores that W gives: the same function of the data."""
    return Reduced(params.V, *model.scores(params, config), params.A)


def lift(params: Reduced, config: Config) -> Literal:
    """The smallest W with the given scores: rank 1, [a; b] p_N^T with b in the span of the
    encodings. reduce(lift(params)) = params.
    """
    rate_u, rate_w = model.rates(config)
    return Literal(params.V, _pull_back(params.u / rate_u, params.w / rate_w, config), params.A)


def imprint(
    W: Float[Array, "D D"], u: Float[Array, " K"], w: Float[Array, " N"], config: Config
) -> Float[Array, "D D"]:
    """The matrix closest to W with scores u and w: W + lift(u - u(W), w - w(W))."""
    old_u, old_w = model.scores(Literal(W, W), config)
    return W + lift(Reduced(W, u - old_u, w - old_w), config).W
