"""Closed derivatives of the pruning loss and its one-shot scores.

Everything passes through the logits Z = X W~ X^T of the masked weights W~: with B = dL_attn/dW~ =
(1/S) sum_s X_s^T p_s X_s,

    fused mask   dL/dM   = W o B + lambda M
    two masks    dL/dM_Q = W_Q o (B B_K) + lambda M_Q,   dL/dM_K = W_K o (B^T A_Q) + lambda M_K,
                                                         A_Q = M_Q o W_Q, B_K = M_K o W_K
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.ops.attention import softmax_vjp
from jaxtheory.theories.attention_pruning import model
from jaxtheory.theories.attention_pruning.model import (
    Batch,
    Config,
    FactorMasks,
    FusedMask,
    Params,
    Problem,
)

POWER_ITERATIONS = 30


def logit_gradient(
    f: Float[Array, "*rows n"], c: Float[Array, "*rows n"]
) -> Float[Array, "*rows n"]:
    """p = f o c - (<f, c>_row 1^T) o f, the gradient of (1/2) ||softmax(z) - f*||^2 in z.

    Here c = f - f*.

    Source: definitions C.4-C.7 and D.4 (p = p_1 - p_2 with p_1 = f o c, p_2 = diag(p_1 1) f).
    """
    return softmax_vjp(f, c)


def logit_hessian(
    f: Float[Array, "*rows n"], c: Float[Array, "*rows n"], s: Float[Array, "*rows n"]
) -> Float[Array, "*rows n"]:
    """The derivative of p along s, row by row.

    With f' = f o (s - <f, s>) and m = <f, c>,

    p' = f' o (c - m) + f o (f' - <f', c> - <f, f'>).
    """
    df = softmax_vjp(f, s)
    m = jnp.sum(f * c, axis=-1, keepdims=True)
    dm = jnp.sum(df * (c + f), axis=-1, keepdims=True)
    return df * (c - m) + f * (df - dm)


def outer_sum(p: Float[Array, "S L L"], inputs: Float[Array, "S L d"]) -> Float[Array, "d d"]:
    """sum_s X_s^T p_s X_s."""
    return jnp.einsum("sli,slj->ij", inputs, p @ inputs)


def weight_gradient(
    f: Float[Array, "S L L"], c: Float[Array, "S L L"], batch: Batch, config: Config
) -> Float[Array, "d d"]:
    """B, the gradient of L_attn in the masked weights."""
    return outer_sum(logit_gradient(f, c), batch.inputs) / config.num_sequences.real


def gradient(
    params: Params,
    batch: Batch,
    problem: Problem,
    config: Config,
    f_star: Float[Array, "S L L"] | None = None,
) -> Params:
    """The gradient of the loss in the mask, W o (X^T p(M) X) + lambda M, or its two-mask form.

    The two-mask form is at the top of this file. Pass f_star where it is known, so that a training
    step need not recompute it.

    Source: theorem 5.3 = D.5; two masks: derived from equation (1).
    """
    model.fit(params, batch, problem, config)
    f_star = model.target(batch, problem, config) if f_star is None else f_star
    f = model.forward(params, batch, problem, config)
    B = weight_gradient(f, f - f_star, batch, config)
    lam = config.regularization
    if isinstance(params, FusedMask):
        return FusedMask(problem.weights * B + lam * params.mask)
    A_Q, B_K = model.masked_factors(params, problem)
    return FactorMasks(
        problem.query * (B @ B_K) + lam * params.query, problem.key * (B.T @ A_Q) + lam * params.key
    )


def hessian_vector_product(
    params: Params, direction: Params, batch: Batch, problem: Problem, config: Config
) -> Params:
    """The derivative of `gradient` along `direction` V.

    It is W o (X^T p' X) + lambda V, with p' along s = X (V o W) X^T.

    With two masks W~' = V_Q' B_K^T + A_Q V_K'^T, V' = V o W, and the product rule adds B V_K' and
    B^T V_Q'.
    """
    f, c = model.residual(params, batch, problem, config)
    X, S, lam = batch.inputs, config.num_sequences.real, config.regularization
    V: Any = direction  # of the same form as params
    if isinstance(params, FusedMask):
        s = (X @ (V.mask * problem.weights)) @ X.mT
        return FusedMask(problem.weights * outer_sum(logit_hessian(f, c, s), X) / S + lam * V.mask)
    A_Q, B_K = model.masked_factors(params, problem)
    dA_Q, dB_K = model.masked_factors(V, problem)
    s = (X @ (dA_Q @ B_K.T + A_Q @ dB_K.T)) @ X.mT
    B, dB = weight_gradient(f, c, batch, config), outer_sum(logit_hessian(f, c, s), X) / S
    return FactorMasks(
        problem.query * (dB @ B_K + B @ dB_K) + lam * V.query,
        problem.key * (dB.T @ A_Q + B.T @ dA_Q) + lam * V.key,
    )


def norm(x: Params | Array) -> Float[Array, ""]:
    """Frobenius norm of an array, or over all masks."""
    return jnp.sqrt(sum(jnp.sum(mask**2) for mask in jax.tree.leaves(x)))


def hessian_norm(params: Params, problem: Problem, config: Config) -> Float[Array, ""]:
    """A lower bound on ||Hessian of the loss||_2, from 30 power iterations.

    The iterations use Hessian-vector products.
    """

    def iterate(_: Array | int, carry: tuple[Params, Array]) -> tuple[Params, Array]:
        Hv = hessian_vector_product(params, carry[0], Batch(problem.inputs), problem, config)
        length = norm(Hv)
        return jax.tree.map(lambda x: x / length, Hv), length

    valid = model.entries(config)
    v = jax.tree.map(lambda x: jnp.where(valid, problem.uniform[2] - 0.5, 0), params)
    v = jax.tree.map(lambda x: x / norm(v), v)
    return jax.lax.fori_loop(0, POWER_ITERATIONS, iterate, (v, jnp.zeros_like(norm(v))))[1]


def saliency(mask: FusedMask, batch: Batch, problem: Problem, config: Config) -> FusedMask:
    """The saliency -(1/lambda) W o (X^T p(M) X).

    A mask is stationary where it equals its own saliency. At M = 0 (uniform attention) the saliency
    is the limit of the fitted mask for large lambda: a one-shot score. Source: derived.
    """
    B = weight_gradient(*model.residual(mask, batch, problem, config), batch, config)
    return FusedMask(-problem.weights * B / config.regularization)


def curvature_score(batch: Batch, problem: Problem, config: Config) -> Float[Array, "d d"]:
    """The diagonal of the Hessian of L_attn at M = 1, a one-shot score.

    At M = 1, c = 0, so Gauss-Newton is exact:

    h_ij = W_ij^2 (1/S) sum_s sum_r X_ri^2 ||J_r X_:j||^2,   J_r = diag(f_r) - f_r f_r^T.

    It needs O(S L^2 d) memory. Source: derived.
    """
    f, X = model.target(batch, problem, config), batch.inputs
    JX = f[..., None] * (X[:, None] - (f @ X)[:, :, None])  # (S, r, token, j)
    spread = jnp.sum(JX**2, axis=2)
    return problem.weights**2 * jnp.einsum("sri,srj->ij", X**2, spread) / config.num_sequences.real
