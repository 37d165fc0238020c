"""The model as the source writes it, prompt by prompt, and references for moments and errors.

Moments of Gaussians come from quadrature; errors of the minimum from matrices on all d (d + 1)
weights, or from a spectrum of R.
"""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtheory.ops import linalg
from jaxtheory.theories.task_diversity.model import Params


def features(
    x: Float[Array, "l d"], y: Float[Array, " l"], query: Float[Array, " d"]
) -> Float[Array, "d h"]:
    """x [(d/l) sum y_i x_i^T, (1/l) sum y_i^2] of one prompt, as the source orders it."""
    l, d = x.shape
    beta = sum(y[i] * x[i] for i in range(l)) * d / l
    return jnp.outer(query, jnp.append(beta, sum(y[i] ** 2 for i in range(l)) / l))


def weights(params: Params) -> Float[Array, "d h"]:
    """[Gamma, gamma]."""
    return jnp.concatenate([params.Gamma, params.gamma[:, None]], axis=1)


def attention(
    params: Params, x: Float[Array, "l d"], y: Float[Array, " l"], query: Float[Array, " d"]
) -> Float[Array, ""]:
    """The entry (d + 1, l + 1) of (1/l) V Z Z^T M Z.

    V_22 = 2, M_11 = d Gamma^T / 2 and M_21 = gamma / 2; V_21 = 0, and entries that do not reach the
    output are 1.
    """
    l, d = x.shape
    V = jnp.ones((d + 1, d + 1)).at[-1].set(jnp.append(jnp.zeros(d), 2.0))
    M = jnp.ones((d + 1, d + 1)).at[:d, :d].set(d * params.Gamma.T / 2)
    M = M.at[d, :d].set(params.gamma / 2)
    Z = jnp.block([[x.T, query[:, None]], [y[None, :], jnp.zeros((1, 1))]])
    return (V @ Z @ Z.T @ M @ Z / l)[-1, -1]


def quadrature(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes [node, count] and weights for the expectation over `count` standard normal numbers.

    It is exact for polynomials of degree 5 in each number.
    """
    root = 3**0.5
    nodes = np.array(list(itertools.product((-root, 0.0, root), repeat=count)))
    weights = np.array(list(itertools.product((1 / 6, 2 / 3, 1 / 6), repeat=count)))
    return nodes.reshape(-1, count), weights.reshape(-1, count).prod(axis=1)


def moments(
    tasks: Float[Array, "k d"], length: int, rho: Float[Array, ""] | float
) -> tuple[Array, Array, Array]:
    """E h h^T, E w h^T and E y^2 of prompts with these tasks, h = (q, beta), by quadrature."""
    k, d = tasks.shape
    nodes, weight = quadrature(length * (d + 1))
    x = nodes[:, : length * d].reshape(-1, length, d) / d**0.5
    noise = nodes[:, length * d :] * jnp.sqrt(jnp.asarray(rho, float))
    second, cross, total = (jnp.zeros(shape) for shape in ((d + 1, d + 1), (d, d + 1), ()))
    for j in range(k):
        y = jnp.einsum("mld,d->ml", x, tasks[j]) + noise
        q = jnp.mean(y**2, axis=1, keepdims=True)
        h = jnp.concatenate([q, d * jnp.mean(y[:, :, None] * x, axis=1)], axis=1)
        second = second + jnp.einsum("m,mi,mj->ij", weight, h, h) / k
        cross = cross + tasks[j][:, None] * (weight @ h)[None, :] / k
        total = total + weight @ y[:, 0] ** 2 / k
    return second, cross, total


class Spectrum(NamedTuple):
    """A law of eigenvalues."""

    values: Float[Array, " m"]
    weights: Float[Array, " m"]


def wishart(kappa: float, count: int = 400) -> Spectrum:
    """The limiting eigenvalues of (1/k) sum_j w_j w_j^T, k = kappa d.

    They are Gauss-Chebyshev nodes of the Marchenko-Pastur density, with the atom at 0 for
    kappa < 1.
    """
    c = 1 / kappa
    angle = np.pi * np.arange(1, count + 1) / (count + 1)
    values = 1 + c + 2 * c**0.5 * np.cos(angle)
    mass = 2 / (count + 1) * np.sin(angle) ** 2 / values
    atom = max(0.0, 1 - kappa)
    return Spectrum(jnp.asarray([0.0, *values]), jnp.asarray([atom, *mass]))


def threshold(share: Callable, ratio: Array, ridge: Array, top: Array) -> Array:
    """nu by Newton's method from above on ratio (nu - lambda) - nu share(nu), which is convex."""
    equation = lambda nu: ratio * (nu - ridge) - nu * share(nu)
    step = lambda _, nu: nu - equation(nu) / jax.grad(equation)(nu)
    return jax.lax.fori_loop(0, 60, step, ridge + top / ratio)


def in_the_limit(
    spectrum: Spectrum, x: Array, tau: Array, rho: Array, ridge: Array
) -> tuple[Array, Array]:
    """The errors by sums over a spectrum of R: M = x + R seen, M = 1 + x fresh."""
    r, p = spectrum
    M = x + r
    nu = threshold(lambda nu: jnp.sum(p * M / (M + nu)), tau, ridge, 1 + x)
    g = r / (M + nu)
    idg = 1 + rho + jnp.sum(p * (g**2 * M - 2 * g * r))
    idg = idg / (1 - jnp.sum(p * (M / (M + nu)) ** 2) / tau)
    icl = 1 + rho + jnp.sum(p * (g**2 * (1 + x) - 2 * g))
    return icl + idg / tau * jnp.sum(p * (1 + x) * M / (M + nu) ** 2), idg


def on_all_weights(
    train: tuple[Array, Array, Array],
    fresh: tuple[Array, Array, Array],
    count: int,
    ridge: Array,
) -> tuple[Array, Array]:
    """The errors of ridge regression on `count` samples of all d (d + 1) features.

    They follow from the covariance S of the features and their covariance c with the target: the
    textbook form, with the penalty lambda / d.
    """
    d = train[1].shape[0]
    S, T = (jnp.kron(jnp.eye(d) / d, m[0]) for m in (train, fresh))
    c, b = ((m[1] / d).ravel() for m in (train, fresh))
    p = len(S)
    values = linalg.singular_values(S)
    shift = ridge / d
    nu = threshold(
        lambda nu: jnp.sum(values / (values + nu)), jnp.asarray(1.0 * count), shift, jnp.trace(S)
    )
    inverse = linalg.solve(S + nu * jnp.eye(p), jnp.eye(p))
    mean = inverse @ c
    risk = lambda m, cov, cross: m[2] + mean @ cov @ mean - 2 * mean @ cross
    idg = risk(train, S, c) / (1 - jnp.trace(S @ inverse @ S @ inverse) / count)
    return risk(fresh, T, b) + idg / count * jnp.trace(T @ inverse @ S @ inverse), idg
