"""Checks of the gradient and of the reduction."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.nearest_neighbor import calculus, model, training
from jaxtheory.theories.nearest_neighbor.checks import literal, material
from jaxtheory.theories.nearest_neighbor.model import Config, Full, Prompts, Reduced


@check("gradient: autodiff of the source's matrix form in W", material.PAPER, "equal")
def gradient_dense(key: Array, config: Config) -> Compared:
    """The gradient of W against the dense form, with the row that meets labels.

    That row is 0 on average over symmetric labels.
    """
    if not literal.dense(config):
        return None
    prompts, params = material.prompts_of(key, config), material.full(key, config)
    return calculus.gradient(params, prompts, material.UNREAD, config), jax.grad(
        literal.whole_loss
    )(params, prompts, config)


@check("gradient: autodiff of the loss", "derived", "equal")
def gradient_autodiff(key: Array, config: Config) -> Compared:
    """The gradient in (xi1, xi2) by autodiff, and in W where the matrix form is not computed."""
    prompts = material.prompts_of(key, config)
    params: list[model.Params] = [material.setting(key, config)]
    if not literal.dense(config):
        params.append(material.full(key, config))
    got = [calculus.gradient(p, prompts, material.UNREAD, config) for p in params]
    return got, [jax.grad(model.loss)(p, prompts, material.UNREAD, config) for p in params]


@check("logit_gradient: written out", "derived", "equal")
def logit_gradient_printed(key: Array, config: Config) -> Compared:
    """The gradient in the logits, written out for averaged and for given labels.

    The printed form is g_k = s_k (s_k - Q + s* - 1[k = i*]), g_q = s_q (s* - Q) for averaged
    labels, and g_k = s_k (f - y*) (y_k - f), g_q = -s_q (f - y*) f for given ones. Both sum to 0
    over the prompt.
    """
    prompts = material.prompts_of(key, config)
    s = model.attend(material.setting(key, config), prompts, config)
    nearest = model.at_nearest(prompts).astype(s.dtype)
    if prompts.y is None:
        Q = jnp.sum(s[:-1] ** 2, axis=0, keepdims=True)
        best = jnp.max(s[:-1], axis=0, keepdims=True)
        g, of_query = s[:-1] * (s[:-1] - Q + best - nearest), s[-1:] * (best - Q)
    else:
        y = prompts.y.T
        f = jnp.sum(s[:-1] * y, axis=0, keepdims=True)
        error = f - jnp.sum(nearest * y, axis=0, keepdims=True)
        g, of_query = s[:-1] * error * (y - f), -s[-1:] * error * f
    got = calculus.logit_gradient(s, prompts)
    return (got, jnp.sum(got, axis=0)), (
        jnp.concatenate([g, of_query]),
        jnp.zeros_like(prompts.weight),
    )


@check("gradient: xi2 never falls", "derived", "bound")
def mask_grows(key: Array, config: Config) -> Compared:
    """The slope dL/dxi2 is at most 0 for averaged labels."""
    if config.labels != "averaged":
        return None
    slope: Any = calculus.gradient(
        material.setting(key, config), material.prompts_of(key, config), material.UNREAD, config
    )
    return slope.xi2, jnp.zeros(())


@check("reduce: closest structured matrix", "derived", "equal")
def reduce_is_closest(key: Array, config: Config) -> Compared:
    """The distance of the reduction from W is least, and reduce(lift(params)) = params.

    It is least since its gradient in (xi1, xi2) is 0.
    """
    W, params = material.full(key, config), material.setting(key, config)
    distance = lambda p: jnp.sum((W.W - calculus.lift(p, config).W) ** 2)
    slope = jax.grad(distance)(calculus.reduce(W, config))
    return (slope, calculus.reduce(calculus.lift(params, config), config)), (
        Reduced(jnp.zeros(()), jnp.zeros(())),
        params,
    )


@check("rates: descent on W, seen in (xi1, xi2)", "derived; the source leaves the 1/d out", "equal")
def rates_of_descent(key: Array, config: Config) -> Compared:
    """The reduction of a step in W is a step in (xi1, xi2), on any prompts."""
    prompts, params = material.prompts_of(key, config), material.setting(key, config)
    rates = calculus.rates(config)
    slope = calculus.gradient(params, prompts, material.UNREAD, config)
    W = calculus.lift(params, config)
    full_slope: Any = calculus.gradient(W, prompts, material.UNREAD, config)
    moved = Full(W.W - config.learning_rate * full_slope.W)
    return jax.tree.map(lambda p, g, rate: p - rate * g, params, slope, rates), calculus.reduce(
        moved, config
    )


def symmetrized(prompts: Prompts, config: Config) -> Prompts:
    """Each prompt under the 2^d d! signed permutations of coordinates.

    Only multiples of the identity commute with all of them.
    """
    d = config.dimension.cap
    signs = itertools.product((-1.0, 1.0), repeat=d)
    maps = jnp.asarray(
        np.array([np.diag(s)[list(p)] for s in signs for p in itertools.permutations(range(d))])
    )
    x, q = (
        jnp.einsum("gij,b...j->gb...i", maps, z).reshape(-1, *z.shape[1:])
        for z in (prompts.x, prompts.q)
    )
    copies = lambda z: jnp.tile(z, (len(maps),) + (1,) * (z.ndim - 1))
    return Prompts(
        x, q, copies(prompts.t), copies(prompts.nearest), None, copies(prompts.weight) / len(maps)
    )


@check(
    "lift: the run of W on symmetrized prompts",
    f"{material.PAPER}, proposition on the form of W",
    "equal",
)
def symmetric_run(key: Array, config: Config) -> Compared:
    """Three steps of W on symmetrized prompts against three of (xi1, xi2), as matrices."""
    if not material.unpadded(config) or config.labels != "averaged" or config.dimension.cap > 3:
        return None
    prompts = symmetrized(material.prompts_of(key, config), config)
    W, params = calculus.lift(material.setting(key, config), config), material.setting(key, config)
    for t in range(3):
        W = training.literal_step(key, t, W, prompts, material.UNREAD, config)
        params = training.step(key, t, params, prompts, material.UNREAD, config)
    return W, calculus.lift(params, config)


@check("off_structure: Pythagoras, pairs of entries", "derived", "equal")
def off_structure_norm(key: Array, config: Config) -> Compared:
    """The first distance by Pythagoras, and the other two from all pairs of entries.

    The square of the first is |W|^2 - d xi1^2 - xi2^2.
    """
    W, d = material.full(key, config).W, config.dimension.real
    xi1, xi2 = jnp.trace(W[:-2, :-2]) / d, -W[-1, -1]
    distances = calculus.off_structure(Full(W), config)
    place = jnp.arange(len(W))
    off = jnp.where(place[:, None] != place[None, :], jnp.abs(W), 0)
    diagonal = jnp.diag(W)[:-2]
    valid_pairs = config.dimension.mask()[:, None] & config.dimension.mask()[None, :]
    gaps = jnp.where(valid_pairs, diagonal[:, None] - diagonal[None, :], 0)
    return [distances["off_structure"], distances["off_diagonal"], distances["diagonal_spread"]], [
        jnp.sqrt(jnp.sum(W**2) - d * xi1**2 - xi2**2),
        jnp.max(off),
        jnp.max(gaps),
    ]
