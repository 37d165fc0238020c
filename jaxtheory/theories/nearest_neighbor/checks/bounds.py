"""Checks of the bounds under shift."""

import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.nearest_neighbor import data, model
from jaxtheory.theories.nearest_neighbor.checks import material
from jaxtheory.theories.nearest_neighbor.laws import bounds
from jaxtheory.theories.nearest_neighbor.model import Config, Prompts, Reduced


@check("bound: largest deviation", "derived", "bound")
def bound_holds(key: Array, config: Config) -> Compared:
    """The bound holds on separated test prompts and on flipped ones, for large parameters."""
    test, delta = material.drawn(key, config), config.separation
    flipped = data.flipped(data.at_example(test), delta, config)
    sets = ((data.relabeled(test, delta), delta), (flipped, bounds.flipped_separation(config)))
    params = Reduced(*(5 * xi for xi in material.setting(key, config)))
    got = [material.deviations(params, prompts, config) for prompts, _ in sets]
    want = [bounds.bound(params, prompts, gap, config) + 1e-13 for prompts, gap in sets]
    return jnp.stack(got), jnp.stack(want)


def worst(best: float, params: Reduced, config: Config) -> tuple[Prompts, Array, Array]:
    """A worst-case prompt, and its attention on the others and on the query.

    Its other examples are 1 away with the opposite label, and t* = best. The attention is computed
    by plain exponentials.
    """
    rivals = config.context.mask() & (jnp.arange(config.context.cap) > 0)
    t = jnp.where(rivals, best - 0.5, best)[None]
    y = jnp.where(rivals, 3.0, -3.0)[None]
    prompts = Prompts(None, None, t, jnp.zeros(1, jnp.int32), y, jnp.ones(1))
    weights = jnp.where(rivals, jnp.exp(-params.xi1 / 2), 0)
    of_query = jnp.exp(params.xi1 * (1 - best) - params.xi2)
    total = 1 + jnp.sum(weights) + of_query
    return prompts, weights / total, of_query / total


@check("bound: attained by the worst prompts", "derived", "equal")
def bound_attained(_key: Array, config: Config) -> Compared:
    """The ratio error / bound in the limit of the worst prompts.

    In some of them the others' attention is the largest error, in some the query's.
    """
    if not material.law_seen(config):
        return None
    ratios = []
    for best, xi1, xi2 in ((1.0, 70.0, 200.0), (0.2, 90.0, 104.0), (0.2, 70.0, 91.0)):
        params = Reduced(jnp.asarray(xi1), jnp.asarray(xi2))
        prompts, s, of_query = worst(best, params, config)
        error = 6 * jnp.sum(s) + 3 * of_query
        limit = bounds.bound(params, prompts, 1.0, config)[0]
        ratios.append(jnp.where(limit > 0, error, 1) / jnp.where(limit > 0, limit, 1))
    return jnp.stack(ratios), jnp.ones(3)


@check("shift_bound: largest error", "derived", "bound")
def shift_bound_holds(key: Array, config: Config) -> Compared:
    """The bound holds on flipped prompts, for large parameters.

    The error of averaged labels comes from the attention itself. The bound is loose, since the
    flipped prompts are not the worst ones.
    """
    flipped = data.flipped(data.at_example(material.drawn(key, config)), config.separation, config)
    params = Reduced(*(5 * xi for xi in material.setting(key, config)))
    s = model.attend(params, flipped, config)
    error = jnp.sum(s[:-1] ** 2, axis=0) - 2 * model.picked(s[:-1], flipped) + 1
    want = bounds.shift_bound(params, bounds.flipped_separation(config), config) + 1e-13
    return jnp.max(jnp.where(flipped.weight > 0, error, 0)), want


@check("shift_bound: attained by the worst prompts", "derived", "equal")
def shift_bound_attained(_key: Array, config: Config) -> Compared:
    """The bound is attained in the limit by the worst prompts, in each term.

    It is 2 where nothing is learned.
    """
    if not material.law_seen(config) or config.context.cap == 1:
        return None
    ratios = [bounds.shift_bound(Reduced(jnp.zeros(()), jnp.zeros(())), 1.0, config) / 2]
    for xi1, xi2 in ((70.0, 200.0), (90.0, 32.0), (70.0, 35.0)):
        params = Reduced(jnp.asarray(xi1), jnp.asarray(xi2))
        _, s, of_query = worst(1.0, params, config)
        error = jnp.sum(s**2) + (jnp.sum(s) + of_query) ** 2
        ratios.append(error / bounds.shift_bound(params, 1.0, config))
    return jnp.stack(ratios), jnp.ones(4)
