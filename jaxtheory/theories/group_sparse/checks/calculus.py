"""Checks of the gradient and of the six-number reduction."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.group_sparse import calculus, model
from jaxtheory.theories.group_sparse.checks import literal, material
from jaxtheory.theories.group_sparse.model import Batch, Config, Linear


def gradient_by_token(key: Array, config: Config) -> Compared:
    """In v and W."""
    if not material.whole(config):
        return None
    problem, params = material.case(key, config)
    return calculus.gradient(params, problem.train, problem, config), jax.grad(literal.loss)(
        params, problem.train
    )


def gradient_linear(key: Array, config: Config) -> Compared:
    """In beta."""
    if not material.whole(config):
        return None
    problem, params = material.case(key, config)
    beta = params.W12
    got = calculus.gradient(Linear(beta), problem.train, problem, config)
    return got.beta, jax.grad(literal.linear_loss)(beta, problem.train)


def velocity_completed(key: Array, config: Config) -> Compared:
    """Autodiff of the token-by-token loss on the completed sample, all blocks: v2, W12 and W21 do
    not move.
    """
    if not material.small(config):
        return None
    problem, reduced = material.setting(key, config)
    rate = calculus.velocity(reduced, problem.train, problem, config)
    params = calculus.embed(reduced, problem, config)
    want = jax.grad(literal.loss)(params, literal.completed(problem.train, problem, config))
    return material.gathered(calculus.embed(rate, problem, config)), material.gathered(want)


def velocity_quadrature(key: Array, config: Config) -> Compared:
    """D = d = 2: the velocity on a grid of quadrature nodes against the projected gradient of
    single samples.
    """
    if not material.small(config) or config.num_groups.cap > 2 or config.group_dim.cap > 2:
        return None
    problem, reduced = material.setting(key, config.replace(num_samples=Size(material.MANY)))
    z, w = np.polynomial.hermite_e.hermegauss(12)
    s, h = np.polynomial.legendre.leggauss(24)
    s, h = 3.5 * (s + 1), 3.5 * h
    h = h * np.exp(-(s**2) / 2) * np.sqrt(2 / np.pi)
    grid = np.stack(np.meshgrid(s, z, z, z, indexing="ij")).reshape(4, -1) * config.noise_scale
    weight = np.einsum("a,b,c,d->abcd", h, *[w / w.sum()] * 3).ravel()
    H = literal.basis(problem.truth)
    star = model.relevant(config)
    # <v*, x_{j*}> > 0 and y = 1: the other half follows from x -> x - 2 <v*, x> v*, y -> -y
    own, other = (H[:, :1] * grid[None, i] + H[:, 1:] * grid[None, i + 2] for i in (0, 1))
    x = own[:, None, :] * star[None, :, None] + other[:, None, :] * (1 - star)[None, :, None]
    nodes = Batch(x, jnp.ones(len(weight)), jnp.asarray(weight))
    params = calculus.embed(reduced, problem, config)
    slope = jax.grad(model.loss)
    single = lambda x, y: calculus.project(
        slope(params, Batch(x[:, :, None], y[None], jnp.ones(1)), problem, config), problem, config
    )
    each = jnp.stack(jax.vmap(single, in_axes=(2, 0))(problem.train.x, problem.train.y))
    got = jnp.stack(calculus.velocity(reduced, nodes, problem, config))
    return got, jnp.mean(each, axis=1), jnp.std(each, axis=1) / material.MANY**0.5 + 1e-6


def embed_project(key: Array, config: Config) -> Compared:
    """project inverts embed, and |W|^2 = |W'|^2 + |W - W'|^2 for any W: W' is the nearest."""
    problem, reduced = material.setting(key, config)
    blocks = jax.tree.map(lambda x: x, model.init(key, problem, config))
    d, D = config.group_dim.mask().astype(float), config.num_groups.mask().astype(float)
    W11 = jax.random.normal(key, (len(d), len(d))) * d[:, None] * d[None, :]
    near = calculus.embed(
        calculus.project(blocks._replace(W11=W11), problem, config), problem, config
    ).W11
    free = jax.random.normal(jax.random.fold_in(key, 1), (len(D), len(D))) * D[:, None] * D[None, :]
    sums = jnp.sum(free, axis=0, keepdims=True) / config.num_groups.real
    A = (free - sums) * D[:, None]  # columns sum to 0, as those of any gradient
    P, rho = model.encodings(config), (config.num_groups.real + 1) / 2
    W22 = P @ A @ P.T / rho**2
    near22 = calculus.embed(
        calculus.project(blocks._replace(W22=W22), problem, config), problem, config
    ).W22
    again = calculus.project(calculus.embed(reduced, problem, config), problem, config)
    square = lambda x: jnp.sum(x**2)
    got = jnp.stack(again), square(near) + square(W11 - near), square(near22) + square(W22 - near22)
    return got, (jnp.stack(reduced), square(W11), square(W22))


CHECKS = (
    Check(
        "gradient: autodiff of the token-by-token loss in v and W",
        material.PAPER,
        "equal",
        gradient_by_token,
    ),
    Check("gradient: autodiff of the linear predictor", "derived", "equal", gradient_linear),
    Check(
        "velocity: full gradient on the completed sample", "derived", "equal", velocity_completed
    ),
    Check("velocity: quadrature at D = d = 2", "derived", "sample", velocity_quadrature),
    Check("embed: inverted by the nearest layer of its form", "derived", "equal", embed_project),
    Check("project: inverts embed", "derived", "equal", embed_project),
)
