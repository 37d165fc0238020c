"""Closed-form gradient of the layer, and of the linear predictor.

With c = -y sigma(-y f) per sample, a = H^T v, m_j = sum_k a_k S_kj and R_kj = c S_kj (a_k - m_j):

    dv = E c H S 1_D,   dW = E H R H^T

in blocks dv1 = E c X S 1, dv2 = P E c S 1, dW11 = E X R X^T, dW12 = E[X R] P^T, dW21 = P E[R X^T], dW22 = P E[R] P^T.
The columns of R sum to 0 on every sample.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.theories.group_sparse import model
from jaxtheory.theories.group_sparse.model import Batch, Config, Linear, Params, Problem, Tuned


def slope(f: Float[Array, " n"], batch: Batch) -> Float[Array, " n"]:
    """c over n: the derivative of the mean loss in each f."""
    return -batch.weight * batch.y * jax.nn.sigmoid(-batch.y * f)


def gradient(params: Params | Tuned | Linear, batch: Batch, _problem: Problem, config: Config) -> Params | Tuned | Linear:
    """The gradient of `model.loss`: of the mean over samples. Source: derived."""
    if isinstance(params, Params):
        return layer_gradient(params, batch, config)
    if isinstance(params, Tuned):
        return Tuned(layer_gradient(params.layer, batch, config))
    return Linear(jnp.einsum("ajn,n->aj", batch.x, slope(model.output(params, batch.x, config), batch)))


def layer_gradient(params: Params, batch: Batch, config: Config) -> Params:
    """The blocks of dv and dW."""
    x = batch.x
    S = model.attend(params, x, config)
    a = model.token_values(params, x, config)
    m = jnp.sum(S * a[:, None, :], axis=0)
    c = slope(jnp.sum(m, axis=0), batch)
    R = S * (a[:, None, :] - m[None]) * c[None, None, :]
    weights = jnp.sum(S, axis=1) * c[None, :]
    XR = sum((x[:, k, None, :] * R[k][None] for k in range(1, len(R))), start=x[:, 0, None, :] * R[0][None])
    P = model.encodings(config)
    return Params(
        jnp.einsum("akn,kn->a", x, weights),
        P @ jnp.sum(weights, axis=1),
        jnp.einsum("ajn,bjn->ab", XR, x),
        jnp.sum(XR, axis=2) @ P.T,
        P @ jnp.einsum("kjn,bjn->kb", R, x),
        P @ jnp.sum(R, axis=2) @ P.T,
    )
