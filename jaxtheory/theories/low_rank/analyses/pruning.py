"""Neurons of W_O ranked and removed: one forward pass, a sort, a cumulative sum for all rates.

    F_k = sum_i f_ik,   f_ik = (1/|S|) sum_{l in S} a_(l),ik relu(h_il),   so F without the first q
                        neurons of an order is a tail sum

A rate rho removes round(rho m) neurons (halves up); scores that are equal up to rounding are ties,
in the order of neurons. Source: corollary 1; the identity is derived.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxtheory.ops.positions import indices
from jaxtheory.theories.low_rank import model
from jaxtheory.theories.low_rank.model import Batch, Config, Params, Problem

STEPS = 200  # rates 0, 1/200, .., 1
RATES = tuple(j / STEPS for j in range(STEPS + 1))
TIE = 64  # scores closer than this many units of rounding of the largest are equal
ORDERS = ("small", "large", "random", "change", "saliency")


def contributions(
    hidden: Float[Array, "n L m"], problem: Problem, config: Config
) -> Float[Array, "n m K"]:
    """The contributions f_ik of each sample."""
    A, weight = model.output_weights(problem, config), model.query_weights(config)
    if config.output == "shared":
        active = jnp.einsum("l,blm->bm", weight, jax.nn.relu(hidden))
        return active[:, :, None] * A[:, :, 0].T[None]
    return jnp.einsum("blm,kml->bmk", jax.nn.relu(hidden), A * weight[None, None, :])


def norms(W: Float[Array, "m ma"]) -> Float[Array, " m"]:
    """The norm |o_i| of each neuron."""
    return jnp.sqrt(jnp.sum(W**2, axis=1))


def scores(
    params: Params, problem: Problem, config: Config, saliency: Float[Array, " m"]
) -> Float[Array, "order m"]:
    """The sort key of each order, by which the smallest is removed first.

    The keys are |o_i|, -|o_i|, a drawn number, |o_i - o_i(0)|, mean |f_i|.
    """
    size, moved = norms(params.output), norms(model.change(params, problem, config).output)
    return jnp.stack([size, -size, problem.shuffle, moved, saliency])


def saliency(params: Params, problem: Problem, config: Config) -> Float[Array, " m"]:
    """The mean over the training set of sum_k |f_ik|."""
    train = problem.train
    f = contributions(model.forward(params, train.tokens, problem, config).hidden, problem, config)
    return jnp.einsum("n,nmk->m", train.weight, jnp.abs(f))


def order(score: Float[Array, "*orders m"], shown: Bool[Array, " m"]) -> Int[Array, "*orders m"]:
    """The places of neurons by score, ties in their own order.

    Neurons that are not shown come last.

    Neurons that are active on the same tokens move by one vector, so their |o_i - o_i(0)| differ
    only in the last bits, which depend on how sums are padded. So each of the sorted scores that is
    within TIE units of rounding of the one before counts as equal to it.
    """
    first = jnp.argsort(jnp.where(shown, score, jnp.inf), axis=-1)
    s = jnp.take_along_axis(jnp.where(shown, score, jnp.inf), first, axis=-1)
    size = jnp.max(jnp.where(shown, jnp.abs(score), 0), axis=-1, keepdims=True)
    new = s[..., 1:] > s[..., :-1] + TIE * jnp.finfo(score.dtype).eps * size
    group = jnp.cumsum(jnp.pad(new, [(0, 0)] * (new.ndim - 1) + [(1, 0)]), axis=-1)
    return jnp.take_along_axis(first, jnp.argsort(group * shown.size + first, axis=-1), axis=-1)


def removed(config: Config) -> Int[Array, " rate"]:
    """round(rho m) for each rate, with halves rounded up, in integers."""
    return (2 * indices(STEPS + 1) * config.num_neurons.n + STEPS) // (2 * STEPS)


def losses_of(
    f: Float[Array, "n m K"], chosen: Int[Array, " m"], batch: Batch, config: Config
) -> Float[Array, " rate"]:
    """The loss at each rate, where neurons are removed in the chosen order.

    It is computed from the neurons' contributions f.
    """
    tails = jnp.cumsum(f[:, chosen[::-1]], axis=1)[:, ::-1]  # tails[:, q]: without the first q
    F = jnp.concatenate([tails, jnp.zeros_like(tails[:, :1])], axis=1)[:, removed(config)]
    return jax.vmap(lambda one: model.hinge(one, batch, config), in_axes=1)(F)


def curves(params: Params, problem: Problem, config: Config) -> Float[Array, "rate order"]:
    """The test loss at every rate and for every order.

    It takes one pass over the test set and one over the training set (saliency).
    """
    f = contributions(
        model.forward(params, problem.test.tokens, problem, config).hidden, problem, config
    )
    score = scores(params, problem, config, saliency(params, problem, config))
    orders = order(score, config.num_neurons.mask())
    return jax.vmap(lambda chosen: losses_of(f, chosen, problem.test, config), out_axes=1)(orders)
