"""Checks of the six-number reduction and of the laws after selection."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtheory.core.theory import Check
from jaxtheory.theories.group_sparse import literal, model, population, training
from jaxtheory.theories.group_sparse.model import Batch, Config, Params, Problem
from jaxtheory.theories.group_sparse.population import RATE, Reduced

DERIVED = "derived"
MANY = 4000
Compared = tuple[Any, ...] | None


def basis(v: Float[Array, " d"]) -> Float[Array, "d d"]:
    """An orthogonal symmetric matrix whose first column is v (up to rounding, not v = e_1)."""
    w = v - jnp.eye(len(v))[0]
    return jnp.eye(len(v)) - 2 * w[:, None] * w[None, :] / (w @ w)


def completed(batch: Batch, problem: Problem, config: Config) -> Batch:
    """The sample with its images under all signed permutations of an orthogonal basis of v*'s complement, the reflection of v* and the
    permutations of the other groups: as symmetric as the population in all that the gradient sees.
    """
    d, D = config.group_dim.cap, config.num_groups.cap
    turns, signs = [], []
    for sign in (1, -1):
        for order in itertools.permutations(range(d - 1)):
            for flips in itertools.product((1, -1), repeat=d - 1):
                turn = np.zeros((d, d))
                turn[0, 0] = sign
                turn[1 + np.arange(d - 1), 1 + np.array(order)] = flips
                turns.append(turn)
                signs.append(sign)
    H = basis(problem.truth)
    O = jnp.einsum("ab,gbc,cd->gad", H, np.array(turns), H)
    j = jnp.asarray(config.relevant_group, int) - 1
    others = jnp.arange(D - 1) + (jnp.arange(D - 1) >= j).astype(int)
    place = [jnp.zeros(D, int).at[j].set(j).at[others].set(others[np.array(p)]) for p in itertools.permutations(range(D - 1))]
    images = jnp.einsum("gab,bjn->gajn", O, batch.x)[:, :, jnp.stack(place), :]
    x = jnp.moveaxis(images, (1, 3), (0, 1)).reshape(d, D, -1)
    y = jnp.broadcast_to((np.array(signs, float)[:, None] * batch.y[None])[:, None], (len(signs), len(place), len(batch.y))).reshape(-1)
    return Batch(x, y, jnp.full(y.shape, 1 / y.size))


def setting(key: Array, config: Config) -> tuple[Problem, Reduced]:
    """A problem and six numbers that the descent can reach: at D = 2, own = -pull."""
    problem, params = literal.case(key, config)
    reduced = Reduced(*(2 * jnp.concatenate([jnp.ravel(x) for x in params])[:6]))
    if config.num_groups.cap == 2:
        reduced = reduced._replace(own=-reduced.pull)
    return problem, reduced


def gathered(params: Params) -> Float[Array, " n"]:
    """All blocks in one array, so that they are compared on one scale."""
    return jnp.concatenate([jnp.ravel(x) for x in params])


def small(config: Config) -> bool:
    return literal.whole(config) and config.partition == "contiguous" and config.num_samples.cap > 1


def velocity_completed(key: Array, config: Config) -> Compared:
    """Autodiff of the token-by-token loss on the completed sample, all blocks: v2, W12 and W21 do not move."""
    if not small(config):
        return None
    problem, reduced = setting(key, config)
    rate = population.velocity(reduced, problem.train, problem, config)
    params = population.embed(reduced, problem, config)
    want = jax.grad(literal.loss)(params, completed(problem.train, problem, config))
    return gathered(population.embed(rate, problem, config)), gathered(want)


def velocity_quadrature(key: Array, config: Config) -> Compared:
    """D = d = 2: the velocity on a grid of quadrature nodes against the projected gradient of single samples."""
    if not small(config) or config.num_groups.cap > 2 or config.group_dim.cap > 2:
        return None
    problem, reduced = setting(key, config.replace(num_samples=model.Size(MANY)))
    z, w = np.polynomial.hermite_e.hermegauss(12)
    s, h = np.polynomial.legendre.leggauss(24)
    s, h = 3.5 * (s + 1), 3.5 * h
    h = h * np.exp(-(s**2) / 2) * np.sqrt(2 / np.pi)
    grid = np.stack(np.meshgrid(s, z, z, z, indexing="ij")).reshape(4, -1) * config.noise_scale
    weight = np.einsum("a,b,c,d->abcd", h, *[w / w.sum()] * 3).ravel()
    H = basis(problem.truth)
    star = model.relevant(config)
    # <v*, x_{j*}> > 0 and y = 1: the other half follows from x -> x - 2 <v*, x> v*, y -> -y
    own, other = (H[:, :1] * grid[None, i] + H[:, 1:] * grid[None, i + 2] for i in (0, 1))
    x = own[:, None, :] * star[None, :, None] + other[:, None, :] * (1 - star)[None, :, None]
    nodes = Batch(x, jnp.ones(len(weight)), jnp.asarray(weight))
    params = population.embed(reduced, problem, config)
    slope = jax.grad(model.loss)
    single = lambda x, y: population.project(slope(params, Batch(x[:, :, None], y[None], jnp.ones(1)), problem, config), problem, config)
    each = jnp.stack(jax.vmap(single, in_axes=(2, 0))(problem.train.x, problem.train.y))
    got = jnp.stack(population.velocity(reduced, nodes, problem, config))
    return got, jnp.mean(each, axis=1), jnp.std(each, axis=1) / MANY**0.5 + 1e-6


def embed_project(key: Array, config: Config) -> Compared:
    """project inverts embed, and |W|^2 = |W'|^2 + |W - W'|^2 for any W: W' is the nearest."""
    problem, reduced = setting(key, config)
    blocks = jax.tree.map(lambda x: x, model.init(key, problem, config))
    d, D = config.group_dim.mask().astype(float), config.num_groups.mask().astype(float)
    W11 = jax.random.normal(key, (len(d), len(d))) * d[:, None] * d[None, :]
    near = population.embed(population.project(blocks._replace(W11=W11), problem, config), problem, config).W11
    free = jax.random.normal(jax.random.fold_in(key, 1), (len(D), len(D))) * D[:, None] * D[None, :]
    sums = jnp.sum(free, axis=0, keepdims=True) / config.num_groups.real
    A = (free - sums) * D[:, None]  # columns sum to 0, as those of any gradient
    P, rho = model.encodings(config), (config.num_groups.real + 1) / 2
    W22 = P @ A @ P.T / rho**2
    near22 = population.embed(population.project(blocks._replace(W22=W22), problem, config), problem, config).W22
    again = population.project(population.embed(reduced, problem, config), problem, config)
    square = lambda x: jnp.sum(x**2)
    got = jnp.stack(again), square(near) + square(W11 - near), square(near22) + square(W22 - near22)
    return got, (jnp.stack(reduced), square(W11), square(W22))


def population_run(key: Array, config: Config) -> Compared:
    """Three steps from 0 against gradient descent on the completed sample."""
    if not small(config):
        return None
    problem, _ = setting(key, config)
    whole = completed(problem.train, problem, config)
    reduced: Any = population.start()
    params: Any = model.init(key, problem, config)
    for t in range(3):
        reduced = training.population_step(key, t, reduced, problem.train, problem, config)
        params = training.step(key, t, params, whole, problem, config)
    return gathered(population.embed(reduced, problem, config)), gathered(params)


def first_step_sampled(key: Array, config: Config) -> Compared:
    """The mean gradient at 0 of a large sample; W does not move at all."""
    many = config.replace(num_samples=model.Size(MANY))
    problem, _ = literal.case(key, many)
    zero = model.init(key, problem, many)
    single = lambda x, y: jax.grad(model.loss)(zero, Batch(x[:, :, None], y[None], jnp.ones(1)), problem, many)
    each = jax.vmap(single, in_axes=(2, 0))(problem.train.x, problem.train.y)
    mean = jax.tree.map(lambda x: jnp.mean(x, axis=0), each)
    return mean, population.first_step(problem, config), jax.tree.map(lambda x: jnp.std(x, axis=0) / MANY**0.5, each)


# After selection


def tanh_sinh(low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the double exponential rule on [low, high]."""
    t = np.arange(-200, 201) * 0.02
    x, w = np.tanh(np.pi / 2 * np.sinh(t)), 0.02 * np.pi / 2 * np.cosh(t) / np.cosh(np.pi / 2 * np.sinh(t)) ** 2
    return low + (high - low) * (x + 1) / 2, w * (high - low) / 2


def half_normal() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of E g(|z|), split at .1 and 1."""
    parts = [tanh_sinh(*ends) for ends in ((0.0, 0.1), (0.1, 1.0), (1.0, 12.0))]
    x, w = (np.concatenate(side) for side in zip(*parts, strict=True))
    return x, w * np.exp(-(x**2) / 2) * np.sqrt(2 / np.pi)


def selected_loss_quadrature(_key: Array, config: Config) -> Compared:
    """Another quadrature; at c = 0 log 2; and the loss of the literal layer with all scores on j* is the sample's version of it."""
    x, w = half_normal()
    c = jnp.asarray([0.0, 0.3, 2.0, 8.0])
    s = config.num_groups.real * config.noise_scale * c[:, None] * x[None, :]
    return jax.vmap(lambda c: population.selected_loss(c, config))(c), jnp.sum(w[None, :] * jnp.log1p(jnp.exp(-s)), axis=1)


def selected_loss_bound(_key: Array, config: Config) -> Compared:
    """L(c) <= RATE / (D c sigma_x), and at large c within 1 % of it: the asymptotic law is an upper bound."""
    c = jnp.asarray([0.1, 1.0, 10.0, 100.0])
    law = RATE / (config.num_groups.real * c * config.noise_scale)
    found = jax.vmap(lambda c: population.selected_loss(c, config))(c)
    return jnp.concatenate([found, 0.99 * law[-1:]]), jnp.concatenate([law, found[-1:]])


def selected_loss_layer(key: Array, config: Config) -> Compared:
    """The layer itself with v = c v* and all attention on j*, on a large sample."""
    if not literal.whole(config):
        return None
    many = config.replace(num_samples=model.Size(MANY))
    problem, _ = literal.case(key, many)
    full = Reduced(*map(jnp.asarray, (0.8, 0.0, 0.0, 200.0, 200.0, -200.0)))
    f = model.output(population.embed(full, problem, many), problem.train.x, many)
    each = jnp.logaddexp(0.0, -problem.train.y * f)
    return jnp.mean(each), population.selected_loss(jnp.asarray(0.8), config), jnp.std(each) / MANY**0.5


def selected_run_steps(_key: Array, config: Config) -> Compared:
    """c_{t+1} - c_t = eta E D |u| sigma(-D c |u|), and L at each c."""
    x, w = half_normal()
    c, L = population.selected_run(config, 6)
    s = config.num_groups.real * config.noise_scale * x[None, :]
    pull = jnp.sum(w[None, :] * s * jax.nn.sigmoid(-c[:-1, None] * s), axis=1)
    return (jnp.diff(c), L), (config.learning_rate * pull, jnp.sum(w[None, :] * jnp.log1p(jnp.exp(-c[:, None] * s)), axis=1))


def growth_rate(_key: Array, config: Config) -> Compared:
    """c' = eta RATE / (D c^2 sigma_x), with RATE as an integral."""
    t = jnp.asarray([0.5, 10.0, 3000.0])
    s, w = (np.concatenate(side) for side in zip(tanh_sinh(0.0, 2.0), tanh_sinh(2.0, 60.0), strict=True))
    rate = 2 / np.sqrt(2 * np.pi) * np.sum(w * np.log1p(np.exp(-s)))
    c = population.growth(t, config)
    found = jax.vmap(jax.grad(lambda t: population.growth(t, config)))(t)
    return found * c**2, jnp.broadcast_to(config.learning_rate * rate / (config.num_groups.real * config.noise_scale), (3,))


def decay_follows(_key: Array, config: Config) -> Compared:
    """L = RATE / (D c sigma_x) along the growth of c."""
    t = jnp.asarray([0.5, 10.0, 3000.0])
    return population.decay(t, config), RATE / (config.num_groups.real * config.noise_scale * population.growth(t, config))


POPULATION_CHECKS = (
    Check("velocity: full gradient on the completed sample", DERIVED, "equal", velocity_completed),
    Check("velocity: quadrature at D = d = 2", DERIVED, "sample", velocity_quadrature),
    Check("embed: inverted by the nearest layer of its form", DERIVED, "equal", embed_project),
    Check("project: inverts embed", DERIVED, "equal", embed_project),
    Check("population_step: descent on the completed sample", DERIVED, "equal", population_run),
    Check("first_step: mean gradient of a large sample", "arXiv 2504.08638; constant derived", "sample", first_step_sampled),
    Check("selected_loss: another quadrature", DERIVED, "equal", selected_loss_quadrature),
    Check("selected_loss: below its asymptotic law", DERIVED, "bound", selected_loss_bound),
    Check("selected_loss: the layer with all attention on j*", DERIVED, "sample", selected_loss_layer),
    Check("selected_run: steps of another quadrature", DERIVED, "equal", selected_run_steps),
    Check("growth: solves its equation", DERIVED, "equal", growth_rate),
    Check("decay: the loss along the growth", DERIVED, "equal", decay_follows),
)
