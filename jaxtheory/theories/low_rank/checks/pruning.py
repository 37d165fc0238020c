"""Checks of the losses with neurons removed."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.low_rank import model
from jaxtheory.theories.low_rank.analyses import pruning
from jaxtheory.theories.low_rank.checks import literal, material
from jaxtheory.theories.low_rank.model import Config


@check("contributions: neuron by neuron", "derived", "equal")
def contributions_literal(key: Array, config: Config) -> Compared:
    """The contributions on a batch, and mean |f_i| on the training set.

    The last two examples add nothing.
    """
    if config.num_layers > 1 or config.value_dim.cap == 2:
        return None
    params, batch, problem = material.setting(key, config)
    hidden = model.forward(params, batch.tokens, problem, config).hidden
    f = pruning.contributions(hidden, problem, config)
    contributions = jax.vmap(lambda X: literal.neurons(params, X, problem, config))(batch.tokens)
    train = jax.vmap(lambda X: literal.neurons(params, X, problem, config))(problem.train.tokens)
    return (f, pruning.saliency(params, problem, config)), (
        contributions.mT,
        jnp.mean(jnp.sum(jnp.abs(train), axis=1), axis=0),
    )


@check("curves: one evaluation per rate", f"{material.PAPER}, corollary 1", "equal")
def curves_literal(key: Array, config: Config) -> Compared:
    """Every rate and order against the loss token by token with that many rows of W_O set to zero.
    The last two examples add nothing.
    """
    if config.num_layers > 1 or config.value_dim.cap == 2:
        return None
    params, _, problem = material.setting(key, config)
    m = config.num_neurons.cap
    train = jax.vmap(lambda X: literal.neurons(params, X, problem, config))(problem.train.tokens)
    size = jnp.linalg.norm(params.output, axis=1)
    moved = jnp.linalg.norm(params.output - config.output_scale * problem.normal, axis=1)
    keys = jnp.stack(
        [size, -size, problem.shuffle, moved, jnp.mean(jnp.sum(jnp.abs(train), axis=1), axis=0)]
    )
    masks = literal.places(keys)[None] >= jnp.arange(m + 1)[:, None, None]  # (count, order, m)
    losses = jax.vmap(
        jax.vmap(lambda k: literal.loss(literal.without(params, k), problem.test, problem, config))
    )(masks)
    return pruning.curves(params, problem, config), losses[_counts(m)]


@check("removed: rounds halves up", "ours", "equal")
def removed_rounds(_key: Array, config: Config) -> Compared:
    """The numbers of removed neurons in rational arithmetic."""
    if not material.plain(config) or config.num_layers > 1:
        return None
    counts = _counts(config.num_neurons.cap)
    return pruning.removed(config).astype(float), jnp.asarray(counts, float)


def _counts(m: int) -> np.ndarray:
    """round(j m / 200), with halves rounded up."""
    return np.array([math.floor(Fraction(j * m, 200) + Fraction(1, 2)) for j in range(201)])


@check("order: ties by index", "ours", "equal")
def ties_by_index(key: Array, config: Config) -> Compared:
    """Three levels of scores, equal up to rounding, and the same in reverse.

    The last two neurons are not shown.
    """
    if not material.plain(config) or config.num_layers > 1:
        return None
    level = jax.random.randint(key, (40,), 0, 3).astype(float)
    near = (1 + level) * (1 + 1e-15 * jax.random.uniform(key, (40,)))
    want = jnp.argsort(literal.places(jnp.stack([level, -level])[:, :38]), axis=-1)
    padding = jnp.broadcast_to(jnp.asarray([38, 39]), (2, 2))
    places = pruning.order(jnp.stack([near, -near]), jnp.arange(40) < 38)
    return places.astype(float), jnp.concatenate([want, padding], axis=1).astype(float)
