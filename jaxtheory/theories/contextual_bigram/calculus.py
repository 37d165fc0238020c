"""Closed gradients of the mini-batch loss, and the maps that training applies to A.

The maps are the proximal map, threshold, projection and rounding.

With p = X a^(k), r = V p - e_y and averages over the batch:

    g_V = E r p^T,      g_{a^(k)}[t] = E 1[x_{T+1} = k] (V^T r)_{x_t}

A column whose token is not a query of the batch has gradient 0.
"""

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float

from jaxtheory.core.config import Size
from jaxtheory.ops import draws, linalg
from jaxtheory.ops.attention import softmax_vjp
from jaxtheory.theories.contextual_bigram import model
from jaxtheory.theories.contextual_bigram.model import Batch, Config, Params, Problem


def gradient(params: Params, batch: Batch, _problem: Problem, config: Config) -> Params:
    """The gradient of the mean loss in A and V, not preconditioned. Source: lemma B.3."""
    p, r = model.residuals(params, batch, config)
    r = r * config.batch_size.weights()[:, None]
    return Params(attention_gradient(r @ params.value, batch, config), r.T @ p)


def attention_gradient(u: Float[Array, "B N"], batch: Batch, config: Config) -> Float[Array, "T N"]:
    """sum_i u_i[x_it] e_{k_i}^T: each sample's gradient at its tokens, added up per last token.

    With few tokens, u_i[x_it] = u_iN + sum_n (u_in - u_iN) 1[x_it = n], a product with the same
    matrix as in `model.occupancy`.
    """
    N, x, k = config.num_states.cap, batch.tokens, batch.query
    if N > model.SELECTED:
        pull = jnp.take_along_axis(u, x.astype(jnp.int32), axis=1)
        total = jnp.zeros((N, x.shape[1]), u.dtype).at[k].add(pull)
    else:
        hot = model.occurrences(batch, config).astype(u.dtype)
        n = hot.shape[1]
        baseline = jnp.sum(u[:, n:], axis=1, keepdims=True)  # 0 where each token has its own n
        queries = jax.nn.one_hot(k, N, dtype=u.dtype, axis=0)
        contributions = queries[:, :, None] * (u[:, :n] - baseline)[None]
        total = contributions.reshape(N, -1) @ hot.reshape(-1, x.shape[1]) + queries @ baseline
    return draws.masked(total.T, config.length)


def centered(g: Float[Array, "n m"], n: Size) -> Float[Array, "n m"]:
    """(I - 1 1^T / n) g: each column minus the mean of its valid entries."""
    return jnp.where(n.mask()[:, None], g - jnp.sum(g, axis=0, keepdims=True) / n.real, 0)


def inverse(mu: Float[Array, " N"]) -> Float[Array, " N"]:
    """The inverse 1 / mu, zero for padded tokens."""
    return linalg.quotient(jnp.ones_like(mu), mu)


def preconditioned(gradient: Params, problem: Problem, config: Config) -> Params:
    """The gradients (I - 1 1^T / T) g_{a^(k)} / mu_k and (I - 1 1^T / N) g_V diag(1 / mu).

    Steps along them keep 1^T A and 1^T V.

    Source: equation (4).
    """
    scale = inverse(problem.stationary)[None, :]
    return Params(
        centered(gradient.attention, config.length) * scale,
        centered(gradient.value, config.num_states) * scale,
    )


def softmax_gradient(a: Float[Array, "T N"], g: Float[Array, "T N"]) -> Float[Array, "T N"]:
    """(diag a - a a^T) g per column: the gradient in logits w, where a = softmax(w).

    It is that of a loss with gradient g in a. Source: section 5.2.
    """
    return softmax_vjp(a, g, axis=0)


def soft_threshold(
    a: Float[Array, "*n"], lam: Float[ArrayLike, ""], config: Config
) -> Float[Array, "*n"]:
    """The proximal map of the second stage, entry by entry.

    It subtracts lambda itself, not eta lambda.

    two_case   a - lambda where a >= lambda, else 0: negative entries vanish too, which is most of
               the denoising
    textbook   sign(a) max(|a| - lambda, 0), the prox of lambda |a|_1

    As lambda -> 0 the first tends to max(a, 0), while lambda = 0 means no proximal map.
    Source: equation (6); the two cases are the source's. It is not known if the source takes lambda
    or eta lambda.
    """
    if config.prox == "textbook":
        return jnp.sign(a) * jnp.maximum(jnp.abs(a) - lam, 0)
    return jnp.maximum(a - lam, 0)


def projected(A: Float[Array, "T N"], config: Config) -> Float[Array, "T N"]:
    """a + (1 - 1^T a) / T per column, the projection onto the affine space 1^T a = 1.

    It does not project onto the simplex. Source: equation (6).
    """
    short = (1 - jnp.sum(A, axis=0, keepdims=True)) / config.length.real
    return jnp.where(model.valid(config), A + short, 0)


def largest(A: Float[Array, "T N"], config: Config) -> Float[Array, "1 N"]:
    """The largest entry of each column, -inf for padded tokens."""
    return jnp.max(jnp.where(model.valid(config), A, -jnp.inf), axis=0, keepdims=True)


def on_simplex(A: Float[Array, "T N"], config: Config) -> Float[Array, "T N"]:
    """The projection of each column onto the probability simplex, an ablation of the proximal map.

    The l1 norm is constant on the simplex. The projection is max(a - nu, 0) with nu = (a_(1) + .. +
    a_(n) - 1) / n over the n largest entries, n the last for which a_(n) > nu.
    """
    valid, top = model.valid(config), largest(A, config)
    # padded entries get a value too low to be among the largest
    a = jnp.where(valid, A, jnp.where(jnp.isfinite(top), top, 0) - 2)
    down = -jnp.sort(-a, axis=0)
    n = jnp.arange(1, len(A) + 1, dtype=A.dtype)[:, None]
    nu = (jnp.cumsum(down, axis=0) - 1) / n
    last = jnp.maximum(jnp.sum(down > nu, axis=0, keepdims=True) - 1, 0)
    return jnp.where(valid, jnp.maximum(a - jnp.take_along_axis(nu, last, axis=0), 0), 0)


def proximal(
    A: Float[Array, "T N"], lam: Float[ArrayLike, ""], config: Config
) -> Float[Array, "T N"]:
    """The proximal map and the projection of one step of the second stage."""
    return (
        on_simplex(A, config)
        if config.prox == "simplex"
        else projected(soft_threshold(A, lam, config), config)
    )


def support_mask(
    A: Float[Array, "T N"], share: Float[ArrayLike, ""], config: Config
) -> Bool[Array, "T N"]:
    """True for entries of at least `share` times the largest of their column.

    It is True nowhere where the largest is not positive.

    Source: section E.1 and appendix F, with a fixed threshold; ours is relative, since the entries'
    scale alpha_A is not known.
    """
    top = largest(A, config)
    return model.valid(config) & (top > 0) & (share * top <= A)


def thresholded(
    A: Float[Array, "T N"], share: Float[ArrayLike, ""], config: Config
) -> Float[Array, "T N"]:
    """A with small entries set to zero, then projected onto columns of sum 1.

    Source: section E.1.
    """
    return projected(jnp.where(support_mask(A, share, config), A, 0), config)


def rounded(
    A: Float[Array, "T N"], share: Float[ArrayLike, ""], config: Config
) -> Float[Array, "T N"]:
    """A with small entries set to zero and the others divided by their sum. The map is idempotent.
    A column without a positive entry becomes uniform.

    Source: appendix F.
    """
    large = jnp.where(support_mask(A, share, config), A, 0)
    total = jnp.sum(large, axis=0, keepdims=True)
    return jnp.where(
        total > 0, large / jnp.where(total > 0, total, 1), model.uniform_attention(config)
    )


def empty_columns(A: Float[Array, "T N"], config: Config) -> Bool[Array, " N"]:
    """True for columns without a positive entry, which rounding cannot use."""
    return config.num_states.mask() & ~(largest(A, config)[0] > 0)
