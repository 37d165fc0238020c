"""Closed-form gradients of the layer and its exact reduction to two parameters.

With e = dl/ds, that is s_k - 1[k = i*] for averaged labels, (f - y_{i*}) y_k for drawn ones, and 0
for the query:

    g = dl/dz = (diag s - s s^T) e,   dW = E sum_k g_k h_k h_q^T,   dxi1 = E [sum_k g_k t_k + g_q],
                                                                    dxi2 = -E g_q

For averaged labels g_k = s_k (s_k - Q + s* - 1[k = i*]) and g_q = s_q (s* - Q). Where xi1 >= 0, s*
is the largest s_k, so g_q >= 0 and xi2 does not fall. As sum_k g_k + g_q = 0, with t* = t_{i*},

    sum_k g_k t_k + g_q = sum_{k != i*} g_k (t_k - t*) + g_q (1 - t*)
    s* - Q = s* (sum_{k != i*} s_k + s_q) - sum_{k != i*} s_k^2

four sums over the other examples, without cancellation where s* is near 1, which are all that a
step on two parameters needs.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.ops import attention
from jaxtheory.ops.sizes import sums
from jaxtheory.theories.nearest_neighbor import model
from jaxtheory.theories.nearest_neighbor.model import (
    Config,
    Full,
    Params,
    Problem,
    Prompts,
    Reduced,
)


def logit_gradient(s: Float[Array, "tokens B"], prompts: Prompts) -> Float[Array, "tokens B"]:
    """g, the gradient of half a squared error in the logits, per prompt. Source: derived."""
    averaged = prompts.y is None
    e = (
        s[:-1] - model.at_nearest(prompts).astype(s.dtype)
        if averaged
        else model.deviation(s, prompts)[None, :] * prompts.y.T
    )
    return attention.softmax_vjp(s, jnp.pad(e, ((0, 1), (0, 0))), axis=0)


def gradient(params: Params, batch: Prompts, _problem: Problem, config: Config) -> Params:
    """The gradient of `model.loss` in (xi1, xi2), or in W: the mean over batch.

    The column of W that meets the query's y, which is 0, has gradient 0 on every prompt. Source:
    derived.
    """
    if isinstance(params, Reduced) and batch.y is None:
        return averaged_gradient(params, batch, config)
    g = batch.weight[None, :] * logit_gradient(model.attend(params, batch, config), batch)
    of_query = g[-1]
    if isinstance(params, Reduced):
        return Reduced(jnp.sum(g[:-1] * batch.t.T) + jnp.sum(of_query), -jnp.sum(of_query))
    q, y = batch.q, jnp.zeros_like(batch.t) if batch.y is None else batch.y
    at_x = jnp.sum(g[:-1].T[:, :, None] * batch.x, axis=1) + of_query[:, None] * q
    keys = jnp.concatenate(
        [at_x, jnp.sum(g[:-1] * y.T, axis=0)[:, None], of_query[:, None]], axis=1
    )
    query = jnp.concatenate(
        [q, jnp.zeros_like(of_query)[:, None], jnp.ones_like(of_query)[:, None]], axis=1
    )
    return Full(keys.T @ query)


def averaged_gradient(params: Reduced, batch: Prompts, config: Config) -> Reduced:
    """The gradient in (xi1, xi2) for averaged labels, in one pass over the tokens.

    The largest logit belongs to the largest or the smallest t, or to the query.

    Source: derived.
    """
    model.fit(params, batch, config)
    t, real, query_logit = batch.t.T, config.context.mask()[:, None], params.xi1 - params.xi2
    high, low = (jnp.max(jnp.where(real, sign * t, -jnp.inf), axis=0) for sign in (1, -1))
    top = jnp.maximum(jnp.maximum(params.xi1 * high, -params.xi1 * low), query_logit)
    best, rivals = model.picked(t, batch), real & ~model.at_nearest(batch)
    away, at = jnp.where(rivals, t - best[None, :], 0), params.xi1 * best - top
    e = jnp.where(rivals, jnp.exp(params.xi1 * away + at[None, :]), 0)
    first, squares, moved, squares_moved = sums(e, e * e, e * away, e * e * away, axis=0)
    query, star = jnp.exp(query_logit - top), jnp.exp(at)
    inverse = 1 / (star + first + query)
    rise = (star * (first + query) - squares) * inverse * inverse  # s* - Q
    of_query = query * inverse * rise
    through = (squares_moved * inverse + rise * moved) * inverse + of_query * (1 - best)
    at_examples, at_query = sums(batch.weight * through, batch.weight * of_query, axis=0)
    return Reduced(at_examples, -at_query)


def reduce(params: Params, config: Config) -> Reduced:
    """The two parameters (tr W_11 / d, -W_33) of the structured matrix closest to W."""
    if isinstance(params, Reduced):
        return params
    d = params.W.shape[0] - 2
    inside = jnp.where(config.dimension.mask(), jnp.diag(params.W)[:d], 0)
    return Reduced(jnp.sum(inside) / config.dimension.real, -params.W[-1, -1])


def lift(params: Reduced, config: Config) -> Full:
    """The matrix W = diag(xi1 I_d, 0, -xi2), which is the same function of a prompt."""
    inside = jnp.where(config.dimension.mask(), params.xi1, 0)
    return Full(
        jnp.diag(jnp.concatenate([inside, jnp.stack([jnp.zeros_like(params.xi2), -params.xi2])]))
    )


def rates(config: Config) -> Reduced:
    """The rates at which xi1 and xi2 move when W moves at rate eta: eta / d and eta.

    The reason is that dL/dxi1 = tr dL/dW_11 while xi1 = tr W_11 / d.

    Source: derived; the source leaves the 1/d out.
    """
    eta = jnp.asarray(config.learning_rate, float)
    return Reduced(eta / config.dimension.real, eta)


def off_structure(params: Params, config: Config) -> dict[str, Float[Array, ""]]:
    """Three distances from the two-parameter form, which are 0 for that form.

    They are |W - diag(xi1 I, 0, -xi2)|_F with xi1 = tr W_11 / d and xi2 = -W_33, the largest entry
    off the diagonal, and max - min of diag W_11.
    """
    if not isinstance(params, Full):
        return dict.fromkeys(
            ("off_structure", "off_diagonal", "diagonal_spread"), jnp.zeros_like(params.xi1)
        )
    W, inside = params.W, config.dimension.mask()
    residual = W - lift(reduce(params, config), config).W
    diagonal = jnp.diag(W)[:-2]
    spread = jnp.max(jnp.where(inside, diagonal, -jnp.inf)) - jnp.min(
        jnp.where(inside, diagonal, jnp.inf)
    )
    off = jnp.sqrt(jnp.sum(residual**2))
    return {
        "off_structure": off,
        "off_diagonal": jnp.max(jnp.abs(W - jnp.diag(jnp.diag(W)))),
        "diagonal_spread": spread,
    }
