"""Checks of the first step, and of what follows once attention has selected the group."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.group_sparse import calculus, laws, model
from jaxtheory.theories.group_sparse.checks import material
from jaxtheory.theories.group_sparse.model import Batch, Config


def tanh_sinh(low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the double exponential rule on [low, high]."""
    t = np.arange(-200, 201) * 0.02
    x, w = (
        np.tanh(np.pi / 2 * np.sinh(t)),
        0.02 * np.pi / 2 * np.cosh(t) / np.cosh(np.pi / 2 * np.sinh(t)) ** 2,
    )
    return low + (high - low) * (x + 1) / 2, w * (high - low) / 2


def half_normal() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of E g(|z|), split at .1 and 1."""
    parts = [tanh_sinh(*ends) for ends in ((0.0, 0.1), (0.1, 1.0), (1.0, 12.0))]
    x, w = (np.concatenate(side) for side in zip(*parts, strict=True))
    return x, w * np.exp(-(x**2) / 2) * np.sqrt(2 / np.pi)


def first_step_sampled(key: Array, config: Config) -> Compared:
    """The mean gradient at 0 of a large sample; W does not move at all."""
    many = config.replace(num_samples=Size(material.MANY))
    problem, _ = material.case(key, many)
    zero = model.init(key, problem, many)
    single = lambda x, y: jax.grad(model.loss)(
        zero, Batch(x[:, :, None], y[None], jnp.ones(1)), problem, many
    )
    each = jax.vmap(single, in_axes=(2, 0))(problem.train.x, problem.train.y)
    mean = jax.tree.map(lambda x: jnp.mean(x, axis=0), each)
    return (
        mean,
        laws.first_step(problem, config),
        jax.tree.map(lambda x: jnp.std(x, axis=0) / material.MANY**0.5, each),
    )


def selected_loss_quadrature(_key: Array, config: Config) -> Compared:
    """Another quadrature; at c = 0 log 2; and the loss of the literal layer with all scores on j*
    is the sample's version of it.
    """
    x, w = half_normal()
    c = jnp.asarray([0.0, 0.3, 2.0, 8.0])
    s = config.num_groups.real * config.noise_scale * c[:, None] * x[None, :]
    return jax.vmap(lambda c: laws.selected_loss(c, config))(c), jnp.sum(
        w[None, :] * jnp.log1p(jnp.exp(-s)), axis=1
    )


def selected_loss_bound(_key: Array, config: Config) -> Compared:
    """L(c) <= RATE / (D c sigma_x), and at large c within 1 % of it: the asymptotic law is an upper
    bound.
    """
    c = jnp.asarray([0.1, 1.0, 10.0, 100.0])
    law = laws.RATE / (config.num_groups.real * c * config.noise_scale)
    found = jax.vmap(lambda c: laws.selected_loss(c, config))(c)
    return jnp.concatenate([found, 0.99 * law[-1:]]), jnp.concatenate([law, found[-1:]])


def selected_loss_layer(key: Array, config: Config) -> Compared:
    """The layer itself with v = c v* and all attention on j*, on a large sample."""
    if not material.whole(config):
        return None
    many = config.replace(num_samples=Size(material.MANY))
    problem, _ = material.case(key, many)
    full = calculus.Reduced(*map(jnp.asarray, (0.8, 0.0, 0.0, 200.0, 200.0, -200.0)))
    f = model.output(calculus.embed(full, problem, many), problem.train.x, many)
    each = jnp.logaddexp(0.0, -problem.train.y * f)
    return (
        jnp.mean(each),
        laws.selected_loss(jnp.asarray(0.8), config),
        jnp.std(each) / material.MANY**0.5,
    )


def selected_run_steps(_key: Array, config: Config) -> Compared:
    """c_{t+1} - c_t = eta E D |u| sigma(-D c |u|), and L at each c."""
    x, w = half_normal()
    c, L = laws.selected_run(config, 6)
    s = config.num_groups.real * config.noise_scale * x[None, :]
    pull = jnp.sum(w[None, :] * s * jax.nn.sigmoid(-c[:-1, None] * s), axis=1)
    return (jnp.diff(c), L), (
        config.learning_rate * pull,
        jnp.sum(w[None, :] * jnp.log1p(jnp.exp(-c[:, None] * s)), axis=1),
    )


def growth_rate(_key: Array, config: Config) -> Compared:
    """c' = eta RATE / (D c^2 sigma_x), with RATE as an integral."""
    t = jnp.asarray([0.5, 10.0, 3000.0])
    s, w = (
        np.concatenate(side) for side in zip(tanh_sinh(0.0, 2.0), tanh_sinh(2.0, 60.0), strict=True)
    )
    rate = 2 / np.sqrt(2 * np.pi) * np.sum(w * np.log1p(np.exp(-s)))
    c = laws.growth(t, config)
    found = jax.vmap(jax.grad(lambda t: laws.growth(t, config)))(t)
    return found * c**2, jnp.broadcast_to(
        config.learning_rate * rate / (config.num_groups.real * config.noise_scale), (3,)
    )


def decay_follows(_key: Array, config: Config) -> Compared:
    """L = RATE / (D c sigma_x) along the growth of c."""
    t = jnp.asarray([0.5, 10.0, 3000.0])
    return laws.decay(t, config), laws.RATE / (
        config.num_groups.real * config.noise_scale * laws.growth(t, config)
    )


CHECKS = (
    Check(
        "first_step: mean gradient of a large sample",
        "arXiv 2504.08638; constant derived",
        "sample",
        first_step_sampled,
    ),
    Check("selected_loss: another quadrature", "derived", "equal", selected_loss_quadrature),
    Check("selected_loss: below its asymptotic law", "derived", "bound", selected_loss_bound),
    Check(
        "selected_loss: the layer with all attention on j*",
        "derived",
        "sample",
        selected_loss_layer,
    ),
    Check("selected_run: steps of another quadrature", "derived", "equal", selected_run_steps),
    Check("growth: solves its equation", "derived", "equal", growth_rate),
    Check("decay: the loss along the growth", "derived", "equal", decay_follows),
)
