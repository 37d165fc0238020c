"""Gradients in closed form, on prompts and by the moments of f = beta^T A x."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.theories.in_context_regression import model
from jaxtheory.theories.in_context_regression.model import (
    Batch,
    Config,
    Literal,
    Merged,
    Moments,
    Params,
    Problem,
    Separate,
)


def gradient(params: Params, batch: Batch, _problem: Problem, config: Config) -> Params:
    """The gradient of L = mean (y - f)^2.

    With r = 2 (f - y) / P,

    dL/dA = sum_p r beta x^T,  literal: dL/dv_h = sum_p r S U_h x,  dL/dU_h = sum_p r S v_h x^T
    """
    model.fit(params, batch, config)
    r = 2 * batch.weight * (model.output(params, batch) - batch.y)
    if isinstance(params, Literal):
        rS = r[:, None, None] * batch.S
        dv = jnp.einsum("pik,hkj,pj->hi", rS, params.U, batch.x)
        dU = jnp.einsum("pik,hk,pj->hij", rS, params.v, batch.x)
        return Literal(dv, dU)
    beta = batch.S[:, 0, 1:]
    return by_heads(params, (r[:, None] * beta).T @ batch.x)


def by_heads(params: Merged | Separate, slope: Float[Array, "D D"]) -> Merged | Separate:
    """The gradient in the weights of the heads from that in A = sum_h v_h U_h."""
    if isinstance(params, Merged):
        dv = jnp.einsum("hij,ij->h", params.U, slope)
        return Merged(dv, params.v[:, None, None] * slope[None])
    v, K, Q = params
    dv = jnp.einsum("hri,ij,hrj->h", K, slope, Q)
    dK = v[:, None, None] * jnp.einsum("ij,hrj->hri", slope, Q)
    dQ = v[:, None, None] * jnp.einsum("hri,ij->hrj", K, slope)
    return Separate(dv, dK, dQ)


def slope(A: Float[Array, "D D"], moments: Moments) -> Float[Array, "D D"]:
    """The gradient of c - 2 <b, A> + <A, G A> in A."""
    return 2 * (jnp.einsum("ijkl,kl->ij", moments.G, A) - moments.b)


def by_moments(A: Float[Array, "D D"], moments: Moments) -> Float[Array, ""]:
    """The loss c - 2 <b, A> + <A, G A>."""
    product = jnp.einsum("ijkl,kl->ij", moments.G, A)
    return moments.c - 2 * jnp.sum(moments.b * A) + jnp.sum(A * product)
