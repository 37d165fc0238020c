"""Checks of the gradient and of the reduction."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.nearest_neighbor import calculus, model, training
from jaxtheory.theories.nearest_neighbor.checks import literal, material
from jaxtheory.theories.nearest_neighbor.model import Config, Full, Prompts, Reduced


def gradient_dense(key: Array, config: Config) -> Compared:
    """The gradient of W against the dense form. The row that meets labels is included: it is 0 on
    average over symmetric labels.
    """
    if not literal.dense(config):
        return None
    prompts, params = material.prompts_of(key, config), material.full(key, config)
    return calculus.gradient(params, prompts, material.UNREAD, config), jax.grad(
        literal.whole_loss
    )(params, prompts, config)


def gradient_autodiff(key: Array, config: Config) -> Compared:
    """The gradient in (xi1, xi2) by autodiff, and in W where the matrix form is not computed."""
    prompts = material.prompts_of(key, config)
    params: list[model.Params] = [material.setting(key, config)]
    if not literal.dense(config):
        params.append(material.full(key, config))
    got = [calculus.gradient(p, prompts, material.UNREAD, config) for p in params]
    return got, [jax.grad(model.loss)(p, prompts, material.UNREAD, config) for p in params]


def logit_gradient_printed(key: Array, config: Config) -> Compared:
    """The printed form g_k = s_k (s_k - Q + s* - 1[k = i*]), g_q = s_q (s* - Q), which sums to 0
    over the prompt.
    """
    if config.labels != "averaged":
        return None
    prompts = material.prompts_of(key, config)
    s = model.attend(material.setting(key, config), prompts, config)
    Q = jnp.sum(s[:-1] ** 2, axis=0, keepdims=True)
    best = jnp.max(s[:-1], axis=0, keepdims=True)
    g = s[:-1] * (s[:-1] - Q + best - model.at_nearest(prompts).astype(s.dtype))
    got = calculus.logit_gradient(s, prompts)
    return (got, jnp.sum(got, axis=0)), (
        jnp.concatenate([g, s[-1:] * (best - Q)]),
        jnp.zeros_like(prompts.weight),
    )


def mask_grows(key: Array, config: Config) -> Compared:
    """The slope dL/dxi2 is at most 0 for averaged labels."""
    if config.labels != "averaged":
        return None
    return calculus.gradient(
        material.setting(key, config), material.prompts_of(key, config), material.UNREAD, config
    ).xi2, jnp.zeros(())


def reduce_is_closest(key: Array, config: Config) -> Compared:
    """The distance from W is least, since its gradient in (xi1, xi2) is 0; and reduce(lift(params))
    = params.
    """
    W, params = material.full(key, config), material.setting(key, config)
    distance = lambda p: jnp.sum((W.W - calculus.lift(p, config).W) ** 2)
    slope = jax.grad(distance)(calculus.reduce(W, config))
    return (slope, calculus.reduce(calculus.lift(params, config), config)), (
        Reduced(jnp.zeros(()), jnp.zeros(())),
        params,
    )


def rates_of_descent(key: Array, config: Config) -> Compared:
    """The reduction of a step in W is a step in (xi1, xi2), on any prompts."""
    prompts, params = material.prompts_of(key, config), material.setting(key, config)
    rates = calculus.rates(config)
    slope = calculus.gradient(params, prompts, material.UNREAD, config)
    W = calculus.lift(params, config)
    whole = calculus.gradient(W, prompts, material.UNREAD, config)
    moved = Full(W.W - config.learning_rate * whole.W)
    return jax.tree.map(lambda p, g, rate: p - rate * g, params, slope, rates), calculus.reduce(
        moved, config
    )


def symmetrized(prompts: Prompts, config: Config) -> Prompts:
    """Each prompt under the 2^d d! signed permutations of coordinates, with all of which only
    multiples of the identity commute.
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


def off_structure_norm(key: Array, config: Config) -> Compared:
    """By Pythagoras, |W|^2 - d xi1^2 - xi2^2 is the square of the first distance. The other two
    come from all pairs of entries.
    """
    W, d = material.full(key, config).W, config.dimension.real
    xi1, xi2 = jnp.trace(W[:-2, :-2]) / d, -W[-1, -1]
    distances = calculus.off_structure(Full(W), config)
    place = jnp.arange(len(W))
    off = jnp.where(place[:, None] != place[None, :], jnp.abs(W), 0)
    diagonal = jnp.diag(W)[:-2]
    both = config.dimension.mask()[:, None] & config.dimension.mask()[None, :]
    gaps = jnp.where(both, diagonal[:, None] - diagonal[None, :], 0)
    return [distances["off_structure"], distances["off_diagonal"], distances["diagonal_spread"]], [
        jnp.sqrt(jnp.sum(W**2) - d * xi1**2 - xi2**2),
        jnp.max(off),
        jnp.max(gaps),
    ]


CHECKS = (
    Check(
        "gradient: autodiff of the source's matrix form in W",
        material.PAPER,
        "equal",
        gradient_dense,
    ),
    Check("gradient: autodiff of the loss", "derived", "equal", gradient_autodiff),
    Check("logit_gradient: written out", "derived", "equal", logit_gradient_printed),
    Check("gradient: xi2 never falls", "derived", "bound", mask_grows),
    Check("reduce: closest structured matrix", "derived", "equal", reduce_is_closest),
    Check(
        "lift: the run of W on symmetrized prompts",
        f"{material.PAPER}, proposition on the form of W",
        "equal",
        symmetric_run,
    ),
    Check(
        "rates: descent on W, seen in (xi1, xi2)",
        "derived; the source leaves the 1/d out",
        "equal",
        rates_of_descent,
    ),
    Check("off_structure: Pythagoras, pairs of entries", "derived", "equal", off_structure_norm),
)
