"""Closed-form gradient of the layer and the exact reduction of its attention matrix.

With r = -ell'(f_y), q = the gradient of f_y in H, m = q^T H and a_j = q_{s_j} (a_N = 0):

    dL/dz_j = -E c_j,   c_j = r S_j (a_j - m),   c_N = -r S_N m
    dV = -E r e_y H^T,   du_k = -E sum_{j < N, s_j = k} c_j = -E r (q_k - m) H_k,   dw_j = -E c_j,
                         dW = -E sum_j c_j xt_j xt_N^T

for f = V H, where q = V^T e_y. For f = A relu(V H): q = V^T b with b = A^T e_y on active units, dV
= -E r b H^T, dA = -E r e_y relu(V H)^T.

A step does not form S where its factors (`model.factored`) are exact: S_j = g_{s_j} e_j gives

    dw_j = -e_j E r g_{s_j} (q_{s_j} - m)
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxtheory.ops.fallback import fallback
from jaxtheory.ops.positions import indices
from jaxtheory.ops.states import at_state
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
    carries no token. The gradient can be differentiated only in forward mode (`ops.fallback`), the
    loss in both modes.

    Source: "Towards Understanding Transformers in Learning Random Walks", gradient lemmas of the
    appendix (rederived); A is reconstructed.
    """
    return gradient_and_output(params, batch, config)[0]


def gradient_and_output(
    params: Params, batch: Batch, config: Config
) -> tuple[Params, Float[Array, " B"]]:
    """The gradient, together with the f_y of its forward pass."""
    candidate, exact = by_states(params, batch, config)
    by_all = lambda params, batch: by_tokens(params, batch, config)
    return fallback(exact, candidate, by_all, params, batch)


def by_tokens(params: Params, batch: Batch, config: Config) -> tuple[Params, Float[Array, " B"]]:
    """Gradient and f_y from the attention S of every token, at any scores."""
    S, H = model.attend(params, batch, config)
    last = jnp.take(S, config.length.n - 1, axis=1)
    gather = lambda x: jnp.sum(S * at_state(x, batch.s, axis=1), axis=0)
    return _backward(params, batch, config, H, last, gather)


def by_states(
    params: Params, batch: Batch, config: Config
) -> tuple[tuple[Params, Float[Array, " B"]], Bool[Array, ""]]:
    """Gradient and f_y from `model.factored`, and a flag that says if they are exact."""
    (g, e, C, last), exact = model.factored(params, batch, config)
    gather = lambda x: e * jnp.sum(at_state(g * x, batch.s, axis=1), axis=0)
    return _backward(params, batch, config, g * C, last, gather), exact


def _backward(
    params: Params,
    batch: Batch,
    config: Config,
    H: Float[Array, "B K"],
    last: Float[Array, " B"],
    gather: Callable[[Array], Array],
) -> tuple[Params, Float[Array, " B"]]:
    """Gradient and f_y from H, last = S_N, and gather(x)_j = sum_b S_bj x_{b, s_bj} at j < N."""
    K, at_query = config.num_states.cap, indices(config.length.cap) == config.length.n - 1
    f_y = model.label_output(params, batch, H)
    r = batch.weight * slope(f_y, config)
    if params.A is None:
        dV, dA = -_by_label(r[:, None] * H, batch, K), None
        q = params.V[batch.y]
    else:
        hidden = H @ params.V.T
        b = params.A[batch.y] * (hidden > 0).astype(H.dtype)
        dV, dA = -(r[:, None] * b).T @ H, -_by_label(r[:, None] * jax.nn.relu(hidden), batch, K)
        q = b @ params.V
    m = jnp.sum(q * H, axis=1)
    c = r[:, None] * (q - m[:, None])
    du = -jnp.sum(c * H, axis=0)
    dw = jnp.where(at_query, jnp.sum(r * last * m), -gather(c))
    if isinstance(params, Reduced):
        return Reduced(dV, du, dw, dA), f_y
    return Literal(dV, _pull_back(du, dw, config), dA), f_y


def _by_label(rows: Float[Array, "B n"], batch: Batch, K: int) -> Float[Array, "K n"]:
    """sum_b e_{y_b} row_b^T, in the order of sequences."""
    return jnp.zeros((K, rows.shape[1]), rows.dtype).at[batch.y].add(rows)


def _pull_back(u: Float[Array, " K"], w: Float[Array, " N"], config: Config) -> Float[Array, "D D"]:
    """The transpose of `model.scores` applied to (u, w).

    It is [u; sum_j w_j p_j] [0; p_N]^T with each token divided by its norm.
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
    """The smallest W with the given scores, for which reduce(lift(params)) = params.

    It has rank 1: [a; b] p_N^T with b in the span of the encodings.
    """
    rate_u, rate_w = model.rates(config)
    return Literal(params.V, _pull_back(params.u / rate_u, params.w / rate_w, config), params.A)


def imprint(
    W: Float[Array, "D D"], u: Float[Array, " K"], w: Float[Array, " N"], config: Config
) -> Float[Array, "D D"]:
    """The matrix closest to W with scores u and w: W + lift(u - u(W), w - w(W))."""
    old_u, old_w = model.scores(Literal(W, W), config)
    return W + lift(Reduced(W, u - old_u, w - old_w), config).W
