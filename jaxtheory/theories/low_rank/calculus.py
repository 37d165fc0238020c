"""Closed gradients, and the conservation laws of their flow.

With g = dL/dF (n, K), all sums over samples, p_l the attention row of query l and X the layer's
input:

    G_l = (1[l in S]/|S|) sum_k g_k a_(l),k o 1[h_l > 0],   D_l = W_O^T G_l = dL/dv_l
    dW_O = sum_l G_l v_l^T,   dW_V^h = sum_l D_l (X p_l^h)^T,   e_l^h = (diag p_l - p_l p_l^T) X^T
                                                                W_V^hT D_l
    dW_Q^h = sum_l W_K^h X e_l x_l^T,   dW_K^h = sum_l W_Q^h x_l (X e_l)^T

Earlier layers see D + their share of the later layer's gradient in its input. Kinks: strict h > 0
and margin < 1.
Source: derived from equations (1)-(3).
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.ops.attention import softmax_vjp
from jaxtheory.theories.low_rank import model
from jaxtheory.theories.low_rank.model import Batch, Config, Params, Problem


def slope(F: Float[Array, "n K"], batch: Batch, config: Config) -> Float[Array, "n K"]:
    """dL/dF: -y weight where margin < 1; for several classes -weight at y, +weight at the rival.

    It is NaN where F is, so that divergence shows.
    """
    margin = model.margin(F, batch.label, config)
    active = jnp.where(jnp.isnan(margin), jnp.nan, jnp.where(margin < 1, batch.weight, 0))
    if config.task == "binary":
        return -(active * model.sign_of(batch.label, F.dtype))[:, None]
    hot = lambda k: jax.nn.one_hot(k, F.shape[1], dtype=F.dtype)
    return active[:, None] * (hot(model.rival(F, batch.label, config)) - hot(batch.label))


def neuron_gradient(
    g: Float[Array, "n K"], hidden: Float[Array, "n L m"], problem: Problem, config: Config
) -> Float[Array, "n L m"]:
    """G, the gradient in h, which is zero where h <= 0. h may be NaN."""
    A, weight = model.output_weights(problem, config), model.query_weights(config)
    if config.output == "shared":
        activation_gradient = (g @ A[:, :, 0])[:, None, :] * weight[None, :, None]
    else:
        activation_gradient = jnp.einsum("bk,kml->blm", g, A * weight[None, None, :])
    return jnp.where(hidden <= 0, 0, activation_gradient)


def gradient(params: Params, batch: Batch, problem: Problem, config: Config) -> Params:
    """The gradient of `model.loss` in W_Q, W_K, W_V, W_O (top of this file)."""
    model.fit(params, batch, problem, config)
    forward = model.forward(params, batch.tokens, problem, config)
    G = neuron_gradient(slope(forward.F, batch, config), forward.hidden, problem, config)
    dO = jnp.einsum(
        "bla,blm->am", forward.values, G
    ).T  # this order of operands avoids a copy of G into another memory layout
    D = G @ params.output
    dQ, dK, dV = [], [], []
    for layer in reversed(range(config.num_layers)):
        X, q, k, p = (
            forward.inputs[layer],
            forward.queries[layer],
            forward.keys[layer],
            forward.attention[layer],
        )
        C = jnp.einsum("bhlj,bje->bhle", p, X)
        dV.append(jnp.einsum("bla,bhle->hae", D, C))
        dC = jnp.einsum("bla,hae->bhle", D, params.value[layer])
        e = softmax_vjp(p, jnp.einsum("bhle,bje->bhlj", dC, X))
        dq, dk = jnp.einsum("bhlj,bhjq->bhlq", e, k), jnp.einsum("bhlj,bhlq->bhjq", e, q)
        dQ.append(jnp.einsum("bhlq,bld->hqd", dq, X))
        dK.append(jnp.einsum("bhlq,bld->hqd", dk, X))
        if layer > 0:  # X = X_before + v_before, so both get the gradient in X
            D = (
                jnp.einsum("bhlj,bhle->bje", p, dC)
                + jnp.einsum("bhlq,hqd->bld", dq, params.query[layer])
                + jnp.einsum("bhlq,hqd->bld", dk, params.key[layer])
                + (D if layer + 1 < config.num_layers else 0)
            )
    stacked = lambda several: jnp.stack(several[::-1])
    return Params(stacked(dQ), stacked(dK), stacked(dV), dO)


def balance_drift(params: Params, problem: Problem, config: Config) -> Float[Array, " law"]:
    """|change of a difference of Gram matrices| over the sum of both |changes|.

    It is zero under gradient flow, O(eta) otherwise, and 0 at the start.

    QK: W_Q W_Q^T - W_K W_K^T of every head; VO: sum_h W_V W_V^T of the last layer - W_O^T W_O.
    """
    start = model.initial(problem, config)

    def grams(p: Params) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        V = jnp.einsum("had,hbd->ab", p.value[-1], p.value[-1])
        return (p.query @ p.query.mT, p.key @ p.key.mT), (V, p.output.T @ p.output)

    size = lambda x: jnp.sqrt(jnp.sum(x**2))
    drifts = []
    for (a, b), (a0, b0) in zip(grams(params), grams(start), strict=True):
        moved, total = size((a - a0) - (b - b0)), size(a - a0) + size(b - b0)
        drifts.append(moved / jnp.where(total > 0, total, 1))
    return jnp.stack(drifts)
