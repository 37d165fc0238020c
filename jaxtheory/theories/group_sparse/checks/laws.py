"""Checks of the first step, and of the run after attention has selected the group."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.group_sparse import laws, model
from jaxtheory.theories.group_sparse.checks import literal, material
from jaxtheory.theories.group_sparse.model import Batch, Config, Problem


def tanh_sinh(low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the double exponential rule on [low, high]."""
    t = np.arange(-200, 201) * 0.02
    x, w = (
        np.tanh(np.pi / 2 * np.sinh(t)),
        0.02 * np.pi / 2 * np.cosh(t) / np.cosh(np.pi / 2 * np.sinh(t)) ** 2,
    )
    return low + (high - low) * (x + 1) / 2, w * (high - low) / 2


def half_normal() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of E g(|z|), with the integral split at 0.1 and 1."""
    parts = [tanh_sinh(*ends) for ends in ((0.0, 0.1), (0.1, 1.0), (1.0, 12.0))]
    x, w = (np.concatenate(side) for side in zip(*parts, strict=True))
    return x, w * np.exp(-(x**2) / 2) * np.sqrt(2 / np.pi)


def nodes(problem: Problem, config: Config) -> Batch:
    """Quadrature of |<v*, x_{j*}>|, with both signs of it and of the part orthogonal to v*."""
    u, w = half_normal()
    star, v = model.relevant(config), problem.truth
    x = problem.train.x[:, :, 0]
    residual = x - (v[:, None] * (v @ x)[None, :]) * star[None, :]
    signs = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    projection = jnp.ravel(signs[:, :1] * u[None, :]) * config.noise_scale
    across = np.repeat(signs[:, 1], len(u))
    direction = v[:, None] * star[None, :]
    features = (
        direction[:, :, None] * projection[None, None, :]
        + residual[:, :, None] * across[None, None, :]
    )
    return Batch(features, jnp.sign(projection), jnp.asarray(np.tile(w, 4) / 4))


@check("first_step: gradient at 0 under quadrature", "arXiv 2504.08638; constant derived", "equal")
def first_step_quadrature(key: Array, config: Config) -> Compared:
    """Autodiff of the token-by-token loss at 0 under quadrature. W does not move."""
    if not material.is_unpadded(config):
        return None
    problem, params = material.case(key, config)
    zero = jax.tree.map(jnp.zeros_like, params)
    want = jax.grad(literal.loss)(zero, nodes(problem, config))
    return material.gathered(laws.first_step(problem, config)), material.gathered(want)


@check("predict_boundary: Hessian at 0 by autodiff", "derived", "equal")
def bias_curvature(key: Array, config: Config) -> Compared:
    """The Hessian at 0 takes v2 = P 1 to this direction alone, times 2 / eta*.

    It is taken by autodiff on samples and their mirror images.
    """
    if not material.is_unpadded(config):
        return None
    problem, params = material.case(key, config)
    x, y, weight = problem.train
    symmetric_batch = Batch(
        jnp.concatenate([x, -x], axis=2),
        jnp.concatenate([y, -y]),
        jnp.concatenate([weight, weight]) / 2,
    )
    zero = jax.tree.map(jnp.zeros_like, params)
    D = config.num_groups.cap
    bias = zero._replace(v2=literal.sines(D) @ jnp.ones(D))
    slope = jax.grad(lambda params: literal.loss(params, symmetric_batch))
    _, moved = jax.jvp(slope, (zero,), (bias,))
    got = 2 / laws.predict_boundary(config) * material.gathered(bias)
    return got, material.gathered(moved)


@check("selected_loss: another quadrature", "derived", "equal")
def selected_loss_quadrature(_key: Array, config: Config) -> Compared:
    """The loss by another quadrature; at c = 0 it is log 2."""
    x, w = half_normal()
    c = jnp.asarray([0.0, 0.3, 2.0, 8.0])
    s = config.num_groups.real * config.noise_scale * c[:, None] * x[None, :]
    return jax.vmap(lambda c: laws.selected_loss(c, config))(c), jnp.sum(
        w[None, :] * jnp.log1p(jnp.exp(-s)), axis=1
    )


@check("selected_loss: below its asymptotic law", "derived", "bound")
def selected_loss_bound(_key: Array, config: Config) -> Compared:
    """L(c) <= RATE / (D c sigma_x), and within 1 % of it at large c.

    The asymptotic law is an upper bound.
    """
    c = jnp.asarray([0.1, 1.0, 10.0, 100.0])
    law = laws.RATE / (config.num_groups.real * c * config.noise_scale)
    losses = jax.vmap(lambda c: laws.selected_loss(c, config))(c)
    return jnp.concatenate([losses, 0.99 * law[-1:]]), jnp.concatenate([law, losses[-1:]])


@check("selected_loss: the layer with all attention on j*", "derived", "equal")
def selected_loss_layer(key: Array, config: Config) -> Compared:
    """The token-by-token layer with v = c v* and all attention on j*, under quadrature."""
    if not material.is_unpadded(config):
        return None
    problem, params = material.case(key, config)
    D = config.num_groups.cap
    P, A = literal.sines(D), 200 * model.relevant(config)[:, None] * jnp.ones((1, D))
    full = jax.tree.map(jnp.zeros_like, params)._replace(
        v1=0.8 * problem.truth, W22=P @ A @ P.T / ((D + 1) / 2) ** 2
    )
    return (
        laws.selected_loss(jnp.asarray(0.8), config),
        literal.loss(full, nodes(problem, config)),
    )


@check("selected_run: steps of another quadrature", "derived", "equal")
def selected_run_steps(_key: Array, config: Config) -> Compared:
    """c_0 = 0, c_{t+1} - c_t = eta E D |u| sigma(-D c |u|), and L at each c."""
    x, w = half_normal()
    c, L = laws.selected_run(config, 6)
    s = config.num_groups.real * config.noise_scale * x[None, :]
    pull = jnp.sum(w[None, :] * s * jax.nn.sigmoid(-c[:-1, None] * s), axis=1)
    return (c[0], jnp.diff(c), L), (
        jnp.zeros(()),
        config.learning_rate * pull,
        jnp.sum(w[None, :] * jnp.log1p(jnp.exp(-c[:, None] * s)), axis=1),
    )


@check("growth: solves its equation", "derived", "equal")
def growth_rate(_key: Array, config: Config) -> Compared:
    """The growth law solves c' = eta RATE / (D c^2 sigma_x), with RATE as an integral."""
    t = jnp.asarray([0.5, 10.0, 3000.0])
    s, w = (
        np.concatenate(side) for side in zip(tanh_sinh(0.0, 2.0), tanh_sinh(2.0, 60.0), strict=True)
    )
    rate = 2 / np.sqrt(2 * np.pi) * np.sum(w * np.log1p(np.exp(-s)))
    c = laws.growth(t, config)
    slopes = jax.vmap(jax.grad(lambda t: laws.growth(t, config)))(t)
    return slopes * c**2, jnp.broadcast_to(
        config.learning_rate * rate / (config.num_groups.real * config.noise_scale), (3,)
    )


@check("decay: the loss along the growth", "derived", "equal")
def decay_follows(_key: Array, config: Config) -> Compared:
    """The decay law is L = RATE / (D c sigma_x) along the growth of c."""
    t = jnp.asarray([0.5, 10.0, 3000.0])
    return laws.decay(t, config), laws.RATE / (
        config.num_groups.real * config.noise_scale * laws.growth(t, config)
    )
