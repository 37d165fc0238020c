"""The first step, and the run after attention has selected the group.

The laws of that run are the loss at a given value, and its decay.

With all attention on j* (S_{j* j} = 1), f = D c u_{j*} and L(c) = E log(1 + exp(-D c |u|)), u ~
N(0, sigma_x^2). For large c only small
u count: L ~ RATE / (D c sigma_x), so that c^3 ~ 3 eta RATE t / (D sigma_x) and L ~ (RATE / (D
sigma_x))^(2/3) (3 eta t)^(-1/3).

Source: derived.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtheory.theories.group_sparse import calculus
from jaxtheory.theories.group_sparse.model import Config, Params, Problem

# twice the density of z at 0, times the integral of log(1 + e^-s): 0.6563
RATE = 2 / math.sqrt(2 * math.pi) * math.pi**2 / 12
NODES = 48


def first_step(problem: Problem, config: Config) -> Params:
    """The population's gradient at 0: dv1 = -(1/2) sigma_x sqrt(2/pi) v*, and 0 in all else.
    Attention is uniform, so S 1_D = 1_D.
    """
    zero = jax.tree.map(jnp.zeros_like, calculus.embed(calculus.start(), problem, config))
    return zero._replace(v1=-0.5 * config.noise_scale * math.sqrt(2 / math.pi) * problem.truth)


def predict_boundary(config: Config) -> Float[Array, ""]:
    """The largest step size at which descent from 0 is stable in the bias, eta* = 16 / (D (D + 1)).

    The bias is v2 in the direction P 1, which gives all tokens the same value.

    There f = (v2, P 1) + ..., so that the curvature is |P 1|^2 / 4 = D rho / 4 = D (D + 1) / 8,
    and no other parameter mixes in on the population. It is the largest curvature at the start for
    sigma_x = 1. The bias is 0 on the population, which is why no such limit exists there; on
    samples the mean of the labels drives it. Source: derived.
    """
    D = jnp.asarray(config.num_groups.real, float)
    return 16 / (D * (D + 1))


def half_normal() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of E g(|z|), z ~ N(0, 1), for g with kinks near 0.

    They are Gauss-Legendre on pieces whose length halves towards 0.
    """
    x, w = np.polynomial.legendre.leggauss(NODES)
    ends = np.concatenate([[0.0], 12.0 * 0.5 ** np.arange(10, -1, -1)])
    nodes = (ends[:-1, None] + (x[None] + 1) / 2 * np.diff(ends)[:, None]).ravel()
    weights = (w[None] / 2 * np.diff(ends)[:, None]).ravel()
    return nodes, weights * np.exp(-(nodes**2) / 2) * np.sqrt(2 / np.pi)


def selected_loss(c: Float[Array, ""], config: Config) -> Float[Array, ""]:
    """L(c) = E log(1 + exp(-D c |u|)), the loss at |v1| = c under full selection.

    It is the least of all attention that does not read the features. Attention that picks large
    u_k u_{j*} gets below it.
    """
    z, w = (jnp.asarray(part, float) for part in half_normal())
    return jnp.sum(w * jax.nn.softplus(-config.num_groups.real * c * config.noise_scale * z))


def selected_run(config: Config, length: int) -> tuple[Float[Array, " t"], Float[Array, " t"]]:
    """The values c_t and L(c_t), t = 0..length - 1, of c <- c - eta L'(c) from 0.

    This is descent with all attention on j* from the start.
    """

    def step(
        c: Float[Array, ""], _: None
    ) -> tuple[Float[Array, ""], tuple[Float[Array, ""], Float[Array, ""]]]:
        value, slope = jax.value_and_grad(selected_loss)(c, config)
        return c - config.learning_rate * slope, (c, value)

    _, run = jax.lax.scan(step, jnp.zeros(()), length=length)
    return run


def growth(t: Float[Array, "*t"], config: Config) -> Float[Array, "*t"]:
    """The growth law c(t) = (3 eta RATE t / (D sigma_x))^(1/3).

    It solves c' = eta RATE / (D c^2 sigma_x).
    """
    return (
        3 * config.learning_rate * RATE * t / (config.num_groups.real * config.noise_scale)
    ) ** (1 / 3)


def decay(t: Float[Array, "*t"], config: Config) -> Float[Array, "*t"]:
    """The decay law L(t) = (RATE / (D sigma_x))^(2/3) (3 eta t)^(-1/3) for t > 0.

    The source's T* = 1 / (D^3 epsilon^3) would be D^(-1) t^(-1/3).
    """
    return (RATE / (config.num_groups.real * config.noise_scale)) ** (2 / 3) * (
        3 * config.learning_rate * t
    ) ** (-1 / 3)
