"""Neurons and changes, projected on patterns and classes, and neurons that stay small or die."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxtheory.ops.positions import indices
from jaxtheory.theories.low_rank import data, model
from jaxtheory.theories.low_rank.model import Config, Params, Problem

SMALL = 0.33  # a change is small below this share of the 95 % quantile


def projections(
    params: Params, problem: Problem, config: Config
) -> Float[Array, "matrix left right"]:
    """mu_i^T Delta W mu_j for W_Q, W_K and W_V of the last layer.

    The left mu_i is as W(0) carries it. With several heads, their rows are summed.

    Source: equations (7)-(10).
    """
    delta, U = model.change(params, problem, config), problem.patterns
    start = model.initial(problem, config).query[-1] / config.init_diagonal
    query, key = (
        jnp.einsum("hqe,ie,hqd,jd->ij", start, U, W[-1], U) for W in (delta.query, delta.key)
    )
    left_patterns = model.embed(U, config.value_dim)
    return jnp.stack([query, key, jnp.einsum("ia,had,jd->ij", left_patterns, delta.value[-1], U)])


def neuron_projections(
    params: Params, problem: Problem, config: Config
) -> Float[Array, "neuron pattern"]:
    """The projections o_i^T mu_j. Source: equations (11), (12)."""
    return params.output @ model.embed(problem.patterns, config.value_dim).T


def activity(params: Params, problem: Problem, config: Config) -> Float[Array, "C m"]:
    """o_i^T W_V m_c, which is positive where neuron i is active on the mean token of class c.

    Attention is uniform, and the values are those of the last layer.
    """
    return data.class_means(problem, config) @ jnp.sum(params.value[-1], axis=0).T @ params.output.T


def own_class(problem: Problem, config: Config) -> Int[Array, " m"]:
    """The class that neuron i supports: 0 where sum_l a_(l),i > 0, else 1.

    With several outputs it is the class of the largest sum, the first one among ties.
    """
    total = jnp.sum(problem.signs, axis=2)
    if config.task == "binary":
        return jnp.where(total[0] > 0, 0, 1).astype(jnp.int32)
    shown = jnp.where(config.num_classes.mask()[:, None], total, -jnp.inf)
    return jnp.argmax(shown, axis=0).astype(jnp.int32)


def dead(params: Params, problem: Problem, config: Config) -> Bool[Array, " m"]:
    """True for neurons that are inactive on the mean token of every class."""
    alive = (activity(params, problem, config) > 0) & config.num_classes.mask()[:, None]
    return ~jnp.any(alive, axis=0) & config.num_neurons.mask()


def small_set(
    norms: Float[Array, " m"], config: Config
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The place of the largest ratio of consecutive sorted norms, and that ratio.

    The place is a share of neurons. Ranks run from 10 % to 90 %.
    """
    m = config.num_neurons
    s = jnp.sort(jnp.where(m.mask(), norms, jnp.inf))
    place = 1 + indices(m.cap)
    inside = (10 * place >= m.n) & (10 * place <= 9 * m.n)
    following = jnp.append(s[1:], jnp.inf)
    ratio = jnp.where(
        inside, jnp.where(s > 0, following / jnp.maximum(s, jnp.finfo(s.dtype).tiny), 1), 0
    )
    best = jnp.argmax(ratio)
    return jnp.where(ratio[best] > 0, place[best].astype(s.dtype) / m.real, 0), ratio[best]


def small_changes(norms: Float[Array, " m"], config: Config) -> Float[Array, ""]:
    """The share of neurons with |o_i - o_i(0)| below 0.33 of its 95 % quantile.

    The quantile is the ceil(0.95 m)-th smallest.
    """
    m = config.num_neurons
    s = jnp.sort(jnp.where(m.mask(), norms, jnp.inf))
    top = jnp.take(s, (95 * m.n + 99) // 100 - 1)
    return jnp.sum(m.mask() & (norms < SMALL * top)).astype(s.dtype) / m.real
