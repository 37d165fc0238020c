"""Checks of the prompts."""

import math

import jax.numpy as jnp
from jax.scipy.special import betainc
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.nearest_neighbor import data, model
from jaxtheory.theories.nearest_neighbor.checks import material
from jaxtheory.theories.nearest_neighbor.laws import bounds
from jaxtheory.theories.nearest_neighbor.model import Config

MANY, MORE = 4000, 20000


@check("problem: unit vectors and their nearest", material.PAPER, "equal")
def prompts_valid(key: Array, config: Config) -> Compared:
    """Unit vectors, their inner products and the nearest example by distance.

    In the tests under shift the query is its nearest example.
    """
    problem = data.problem(key, config)
    got, want = [], []
    for prompts in problem:
        real = (prompts.weight > 0)[:, None] & config.context.mask()[None, :]
        distance = jnp.where(real, jnp.sum((prompts.x - prompts.q[:, None, :]) ** 2, axis=2), 0)
        ranked = jnp.where(config.context.mask()[None, :], distance, jnp.inf)
        got += [
            jnp.sum(prompts.x**2, axis=2),
            distance,
            prompts.nearest.astype(float),
            jnp.sum(prompts.weight),
        ]
        want += [
            real.astype(float),
            jnp.where(real, 2 - 2 * prompts.t, 0),
            jnp.argmin(ranked, axis=1).astype(float),
            jnp.ones(()),
        ]
    shift = problem.shift
    return (got, model.picked(shift.t.T, shift)), (want, (shift.weight > 0).astype(float))


@check("draw_prompts: moments", material.PAPER, "sample")
def prompts_moments(key: Array, config: Config) -> Compared:
    """Moments of prompts and labels over many examples.

    E x x^T = E q q^T = I/d, E t^2 = 1/d, E t^4 = 3/(d (d + 2)), and labels have mean 0 and
    variance 1. Exact are t = <x, q>, the weights, and the squares of labels +-1.
    """
    test = data.draw_prompts(key, Size(MANY), config)
    d, x, t, y = (
        config.dimension.real,
        test.x[:, 0],
        test.t[:, -1 if material.unpadded(config) else 0],
        test.y[:, 0],
    )
    columns = [x[:, 0] * x[:, 1], x[:, 0] ** 2, test.q[:, 1] ** 2, t**2, t**4, y, y**2]
    wrong = jnp.abs(jnp.sum(x * test.q, axis=1) - test.t[:, 0]) > 1e-12
    columns += [wrong.astype(float), MANY * test.weight]
    want = [0, 1 / d, 1 / d, 1 / d, 3 / (d * (d + 2)), 0, 1, 0, 1]
    return (
        jnp.mean(jnp.stack(columns), axis=1),
        jnp.stack([jnp.asarray(w, float) for w in want]),
        jnp.std(jnp.stack(columns), axis=1) / math.sqrt(MANY),
    )


@check("flipped: separation", f"{material.PAPER}, appendix B", "equal")
def flipped_separates(key: Array, config: Config) -> Compared:
    """Examples other than x_{i*} = q are separated from it, and the rest stays.

    Zeros: what the others lack to min(delta, 4 - delta); how far the new x_j is from x_j and -x_j,
    and t from theirs; how far examples moved that were farther than delta.
    """
    shift, delta = data.at_example(material.drawn(key, config)), config.separation
    moved = data.flipped(shift, delta, config)
    real = config.context.mask()[None, :] & (shift.weight > 0)[:, None]
    rivals = ~model.at_nearest(shift).T & real
    distance = jnp.sum((moved.x - moved.q[:, None, :]) ** 2, axis=2)
    least = jnp.min(jnp.where(rivals, distance, 4))
    near = rivals & (2 - 2 * shift.t <= delta)
    return [
        jnp.minimum(least - bounds.flipped_separation(config), 0),
        jnp.abs(moved.x) - jnp.abs(shift.x),
        moved.t - jnp.sum(moved.x * moved.q[:, None, :], axis=2),
        jnp.where(near, 0, moved.t - shift.t),
        moved[1:2] + moved[3:],
    ], [
        jnp.zeros(()),
        jnp.zeros_like(shift.x),
        *[jnp.zeros_like(shift.t)] * 2,
        shift[1:2] + shift[3:],
    ]


@check("relabeled: separation", f"{material.PAPER}, theorem on shift", "equal")
def relabeled_separates(key: Array, config: Config) -> Compared:
    """Examples of another label are separated from the nearest, and the rest stays.

    Zeros: what examples of another label lack to delta farther than the nearest; by how much labels
    of farther ones changed.
    """
    test, delta = material.drawn(key, config), jnp.asarray(config.separation)
    moved = data.relabeled(test, delta)
    farther = 2 * (model.picked(test.t.T, test)[:, None] - test.t)
    valid = config.context.mask()[None, :] & (test.weight > 0)[:, None]
    mismatches = valid & (moved.y != model.picked(test.y.T, test)[:, None])
    lacking = jnp.minimum(jnp.min(jnp.where(mismatches, farther, 4)) - delta, 0)
    changed = jnp.where(valid & (farther >= delta), moved.y - test.y, 0)
    zeros = jnp.zeros(()), jnp.zeros_like(test.y)
    return (lacking, changed, moved._replace(y=None)), (*zeros, test._replace(y=None))


@check("inner_products: Beta law", "derived", "sample")
def inner_products_law(key: Array, config: Config) -> Compared:
    """The distribution function of inner products at five points.

    It comes from the incomplete beta function, and neighbors are independent.
    """
    if not material.law_seen(config):
        return None
    a = (jnp.asarray(config.dimension.real, float) - 1) / 2
    t = data.inner_products(key, MORE, config)
    last = config.context.cap - 1 if config.context.value is None else 0
    points = jnp.array([-0.8, -0.4, 0.1, 0.5, 0.9])
    below = [(t[:, i, None] <= points[None, :]).astype(float) for i in (0, last)]
    law = betainc(a, a, (1 + points) / 2)
    joint = jnp.mean(below[0] * below[1], axis=0)
    want = jnp.stack([law, law, law**2 if last else law])
    return (
        jnp.stack([*(jnp.mean(b, axis=0) for b in below), joint]),
        want,
        jnp.sqrt(want * (1 - want) / MORE),
    )


@check("fresh: loss and gradient of the population", "derived", "sample")
def fresh_sampled(key: Array, config: Config) -> Compared:
    """Loss and gradient on Beta-distributed inner products, with weights of sum 1."""
    if not material.law_seen(config) or material.unpadded(config):
        return None
    large_config = config.replace(num_prompts=Size(MORE))
    prompts = data.fresh(key, material.UNREAD, large_config)
    got, want, error = material.against(key, prompts, config)
    return [got, jnp.sum(prompts.weight)], [want, jnp.ones(())], [error, jnp.zeros(())]
