"""The exact reduction of the population's gradient descent to six numbers, and what follows once attention has selected the group.

The law of (X, y) does not change under (i) rotations of all x_j that fix v*, (ii) x_j -> x_j - 2 <v*, x_j> v* with y -> -y,
(iii) permutations of the groups other than j*. Descent from 0 therefore stays at

    v = [c v*; 0],   W12 = 0,  W21 = 0,   W11 = a v* v*^T + b (I - v* v*^T),   A = P^T W22 P constant on five classes of (k, j):

(j*, j*), (j*, l), (k, j*), (k, k), (k, l); the columns of A sum to 0, which leaves three of them (two at D = 2).

With u_j = <v*, x_j> and G the Gram matrix of what is orthogonal to v*, scores are a u_k u_j + b G_kj + A_kj and f = c sum_k u_k sum_j S_kj.

With all attention on j* (S_{j* j} = 1), f = D c u_{j*} and L(c) = E log(1 + exp(-D c |u|)), u ~ N(0, sigma_x^2). For large c only small
u count: L ~ RATE / (D c sigma_x), so that c^3 ~ 3 eta RATE t / (D sigma_x) and L ~ (RATE / (D sigma_x))^(2/3) (3 eta t)^(-1/3).

Source: derived; "Transformer Learns Optimal Variable Selection in Group-Sparse Classification" states the form of v and the selection.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtheory.theories.group_sparse import calculus, model
from jaxtheory.theories.group_sparse.model import Batch, Config, Params, Problem

RATE = 2 / math.sqrt(2 * math.pi) * math.pi**2 / 12  # twice the density of z at 0, times the integral of log(1 + e^-s): .6563
NODES = 48


class Reduced(NamedTuple):
    """The layer on the invariant set; at D = 2, `own` is -`pull`."""

    c: Float[Array, ""]
    a: Float[Array, ""]
    b: Float[Array, ""]
    selected: Float[Array, ""]  # A_{j* j*}
    pull: Float[Array, ""]  # A_{j* l}, l != j*
    own: Float[Array, ""]  # A_kk, k != j*


def start() -> Reduced:
    """v = 0, W = 0."""
    return Reduced(*(jnp.zeros(()) for _ in Reduced._fields))


def classes(config: Config) -> tuple[Float[Array, "D D"], Float[Array, "D D"], Float[Array, "D D"]]:
    """Indicators over (k, j) of (j*, j*), (j*, l) and (k, k) with k, l != j*."""
    star = model.relevant(config)
    other = jnp.where(config.num_groups.mask(), 1 - star, 0)
    return star[:, None] * star[None, :], star[:, None] * other[None, :], jnp.diag(other)


def positions(reduced: Reduced, config: Config) -> Float[Array, "D D"]:
    """A, whose columns sum to 0: A_{k j*} = -A_{j* j*} / (D - 1) and A_kl = -(A_{j* l} + A_kk) / (D - 2)."""
    star = model.relevant(config)
    other = jnp.where(config.num_groups.mask(), 1 - star, 0)
    D = jnp.asarray(config.num_groups.real, float)
    rest = -(reduced.pull + reduced.own) / jnp.maximum(D - 2, 1)
    first, second, third = classes(config)
    fourth = other[:, None] * star[None, :]
    fifth = other[:, None] * other[None, :] - third
    return (
        reduced.selected * first
        + reduced.pull * second
        + reduced.own * third
        - reduced.selected / (D - 1) * fourth
        + jnp.where(D > 2, rest, 0) * fifth
    )


def embed(reduced: Reduced, problem: Problem, config: Config) -> Params:
    """The layer with these six numbers: W22 = P A P^T / rho^2."""
    d, D, v = config.group_dim, config.num_groups, problem.truth
    along = v[:, None] * v[None, :]
    P = model.encodings(config)
    rho = (jnp.asarray(D.real, float) + 1) / 2
    return Params(
        reduced.c * v,
        jnp.zeros(D.cap),
        reduced.a * along + reduced.b * (jnp.diag(d.mask().astype(float)) - along),
        jnp.zeros((d.cap, D.cap)),
        jnp.zeros((D.cap, d.cap)),
        P @ positions(reduced, config) @ P.T / rho**2,
    )


def averages(W11: Float[Array, "d d"], A: Float[Array, "D D"], v: Float[Array, " d"], config: Config) -> tuple[Float[Array, ""], ...]:
    """a, b and the three class means of A of the nearest invariant matrices."""
    a = v @ W11 @ v
    return a, (jnp.trace(W11) - a) / (config.group_dim.real - 1), *(jnp.sum(A * i) / jnp.sum(i) for i in classes(config))


def project(params: Params, problem: Problem, config: Config) -> Reduced:
    """The six numbers of the nearest invariant layer: averages over the symmetries. project(embed(reduced)) = reduced."""
    A = model.positional(params, config)[3]
    return Reduced(params.v1 @ problem.truth, *averages(params.W11, A, problem.truth, config))


def velocity(reduced: Reduced, batch: Batch, problem: Problem, config: Config) -> Reduced:
    """How fast the six numbers move per unit of -eta: the gradient averaged over the symmetries, from D x D arrays per sample alone.

    It is the full gradient on the sample completed by all symmetries, and the population's as n grows.
    A moves at rho^2 times dL/dA, since W22 = P A P^T / rho^2.
    """
    x = batch.x
    u = model.along(problem.truth, x)
    uu = u[:, None, :] * u[None, :, :]
    G = jnp.sum(x[:, :, None, :] * x[:, None, :, :], axis=0) - uu
    z = reduced.a * uu + reduced.b * G + positions(reduced, config)[:, :, None]
    S = model.select(z, config)
    read = jnp.sum(u[:, None, :] * S, axis=0)
    g = calculus.slope(reduced.c * jnp.sum(read, axis=0), batch)
    R = reduced.c * g[None, None, :] * S * (u[:, None, :] - read[None])
    rho = (jnp.asarray(config.num_groups.real, float) + 1) / 2
    dA = jnp.sum(R, axis=2)
    of_A = (rho**2 * jnp.sum(dA * i) / jnp.sum(i) for i in classes(config))
    return Reduced(jnp.sum(g[None, :] * read), jnp.sum(R * uu), jnp.sum(R * G) / (config.group_dim.real - 1), *of_A)


def first_step(problem: Problem, config: Config) -> Params:
    """The population's gradient at 0: dv1 = -(1/2) sigma_x sqrt(2/pi) v*, all else 0. Uniform attention: S 1_D = 1_D."""
    zero = jax.tree.map(jnp.zeros_like, embed(start(), problem, config))
    return zero._replace(v1=-0.5 * config.noise_scale * math.sqrt(2 / math.pi) * problem.truth)


# All attention on the relevant group


def half_normal() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of E g(|z|), z ~ N(0, 1), for g with kinks near 0: Gauss-Legendre on pieces that halve towards 0."""
    x, w = np.polynomial.legendre.leggauss(NODES)
    ends = np.concatenate([[0.0], 12.0 * 0.5 ** np.arange(10, -1, -1)])
    nodes = (ends[:-1, None] + (x[None] + 1) / 2 * np.diff(ends)[:, None]).ravel()
    weights = (w[None] / 2 * np.diff(ends)[:, None]).ravel()
    return nodes, weights * np.exp(-(nodes**2) / 2) * np.sqrt(2 / np.pi)


def selected_loss(c: Float[Array, ""], config: Config) -> Float[Array, ""]:
    """L(c) = E log(1 + exp(-D c |u|)): the least loss at |v1| = c, which only full selection reaches."""
    z, w = (jnp.asarray(part, float) for part in half_normal())
    return jnp.sum(w * jax.nn.softplus(-config.num_groups.real * c * config.noise_scale * z))


def selected_run(config: Config, length: int) -> tuple[Float[Array, " t"], Float[Array, " t"]]:
    """c_t and L(c_t), t = 0..length - 1, of c <- c - eta L'(c) from 0: descent with all attention on j* from the start."""

    def step(c: Float[Array, ""], _: None) -> tuple[Float[Array, ""], tuple[Float[Array, ""], Float[Array, ""]]]:
        value, slope = jax.value_and_grad(selected_loss)(c, config)
        return c - config.learning_rate * slope, (c, value)

    _, run = jax.lax.scan(step, jnp.zeros(()), length=length)
    return run


def growth(t: Float[Array, "*t"], config: Config) -> Float[Array, "*t"]:
    """c(t) = (3 eta RATE t / (D sigma_x))^(1/3), the solution of c' = eta RATE / (D c^2 sigma_x)."""
    return (3 * config.learning_rate * RATE * t / (config.num_groups.real * config.noise_scale)) ** (1 / 3)


def decay(t: Float[Array, "*t"], config: Config) -> Float[Array, "*t"]:
    """L(t) = (RATE / (D sigma_x))^(2/3) (3 eta t)^(-1/3) for t > 0. The source's T* = 1 / (D^3 epsilon^3) would be D^(-1) t^(-1/3)."""
    return (RATE / (config.num_groups.real * config.noise_scale)) ** (2 / 3) * (3 * config.learning_rate * t) ** (-1 / 3)
