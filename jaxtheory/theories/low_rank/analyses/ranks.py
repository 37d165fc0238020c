"""Singular values of the changes, their ranks, and truncation to a rank."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxtheory.ops import linalg
from jaxtheory.ops.positions import indices
from jaxtheory.theories.low_rank import model
from jaxtheory.theories.low_rank.analyses import attention, pruning
from jaxtheory.theories.low_rank.model import Config, Params, Problem

Value = TypeVar("Value")


def matrices(params: Params) -> list[Float[Array, "rows columns"]]:
    """All matrices, in the order of `model.matrix_names`."""
    heads = [W.reshape(-1, *W.shape[-2:]) for W in params[:3]]
    return [W for stack in heads for W in stack] + [params.output]


def full_rank(config: Config) -> int:
    """The largest possible rank of a change, from the capacities of the sizes."""
    d, m_a, m = config.dimension.cap, config.value_dim.cap, config.num_neurons.cap
    return max(min(model.head_dim(config).cap, d), min(m_a, d), min(m, m_a))


def safe(function: Callable[[Array], Value], W: Float[Array, "*heads rows columns"]) -> Value:
    """function(W), or NaN where W is not finite, since a factorization must not get such a W."""
    good = jnp.all(jnp.isfinite(W))
    return jax.tree.map(lambda x: jnp.where(good, x, jnp.nan), function(jnp.where(good, W, 0)))


def singular_values(delta: Params, config: Config) -> Float[Array, "matrix index"]:
    """The singular values of each matrix, the largest first, zero beyond its own number.

    They are NaN where a matrix is not finite.
    """
    rows = [safe(linalg.singular_values, W) for W in matrices(delta)]
    return jnp.stack([jnp.zeros(full_rank(config), s.dtype).at[: len(s)].set(s) for s in rows])


def rank_limit(config: Config) -> Int[Array, " matrix"]:
    """The smaller side of each matrix."""
    d, m_a, m, head_count = (
        config.dimension.n,
        config.value_dim.n,
        config.num_neurons.n,
        config.num_layers * config.num_heads,
    )
    sides = [(model.head_dim(config).n, d)] * 2 * head_count + [(m_a, d)] * head_count + [(m, m_a)]
    return jnp.stack([jnp.minimum(*(jnp.asarray(n, jnp.int32) for n in pair)) for pair in sides])


def gap_rank(
    s: Float[Array, "matrix index"], limit: Int[Array, " matrix"]
) -> Int[Array, " matrix"]:
    """The r < limit with the largest s_r / s_(r+1); 0 for a zero matrix, 1 for limit 1.

    s_(r+1) counts as at least 0.03 s_1.
    """
    floor = jnp.maximum(0.03 * s[:, :1], jnp.finfo(s.dtype).tiny)
    following = jnp.pad(s[:, 1:], ((0, 0), (0, 1)))
    ratio = jnp.where(
        indices(s.shape[1])[None, :] + 1 < limit[:, None], s / jnp.maximum(following, floor), 0
    )
    return jnp.where(s[:, 0] > 0, 1 + jnp.argmax(ratio, axis=1), 0)


def factorized(delta: Params) -> tuple[Params, Params, Params]:
    """U, s and V^T of every matrix, from one decomposition each."""
    u, s, vt = zip(*(safe(linalg.svd, W) for W in delta), strict=True)
    return Params(*u), Params(*s), Params(*vt)


def truncated(start: Params, factors: tuple[Params, Params, Params], rank: Params) -> Params:
    """W(0) + sum_{j <= rank} s_j u_j v_j^T, with a (traced) rank for each of the four matrices."""

    def one(W: Array, u: Array, s: Array, vt: Array, r: Array) -> Array:
        spectrum = jnp.where(indices(s.shape[-1]) < r, s, 0)
        return W + (u * spectrum[..., None, :]) @ vt

    return jax.tree.map(one, start, *factors, rank)


def truncation(params: Params, problem: Problem, config: Config) -> dict[str, Array]:
    """Test loss and attention with changes cut to low rank.

    All changes are cut to rank 1, 2, .., or one of them to rank 1. The losses at rank r with the
    small neurons removed are included.

    The truncation is not unique where s_r = s_(r+1).
    """
    start = model.initial(problem, config)
    factors = factorized(model.change(params, problem, config))
    n = full_rank(config)
    single_ranks = np.full((4, 4), n, np.int32)
    np.fill_diagonal(single_ranks, 1)
    ranks = jnp.concatenate(
        [jnp.broadcast_to(indices(n)[:, None] + 1, (n, 4)), jnp.asarray(single_ranks)]
    )
    loss, error, mass, relevant_mass = jax.lax.map(
        lambda rank: attention.evaluate(truncated(start, factors, Params(*rank)), problem, config),
        ranks,
    )
    r = jnp.asarray(config.truncation_rank)
    cut = truncated(start, factors, Params(r, r, r, r))
    f = pruning.contributions(
        model.forward(cut, problem.test.tokens, problem, config).hidden, problem, config
    )
    small = pruning.order(pruning.norms(cut.output), config.num_neurons.mask())
    return {
        "truncated_loss": loss[:n],
        "truncated_error": error[:n],
        "truncated_attention": mass[:n],
        "truncated_query_attention": relevant_mass[:n],
        "alone_truncated_loss": loss[n:],
        "pruned_truncated_loss": pruning.losses_of(f, small, problem.test, config),
    }
