"""The layer as the source writes it, with labels enumerated, and the mean over prompts.

The mean is integrated example by example.
"""

import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtheory.theories.nearest_neighbor import model
from jaxtheory.theories.nearest_neighbor.checks import material
from jaxtheory.theories.nearest_neighbor.model import Config, Full, Prompts, Reduced

ENUMERABLE = 4  # labels of at most this many examples are enumerated
NESTED = 3  # contexts of at most this many examples are integrated example by example
NODES = 30


def dense(config: Config) -> bool:
    """True where the source's own form is computed."""
    return material.unpadded(config) and (
        config.labels != "averaged" or config.context.cap <= ENUMERABLE
    )


def dense_loss(params: Full, x: Array, q: Array, y: Array) -> Float[Array, ""]:
    """The loss of one prompt as the source writes it, with H as a matrix and i* by distance."""
    H = jnp.concatenate(
        [
            jnp.concatenate([x.T, y[None, :], jnp.zeros((1, len(y)))]),
            jnp.concatenate([q, jnp.zeros(1), jnp.ones(1)])[:, None],
        ],
        axis=1,
    )
    f = (H @ jax.nn.softmax(H.T @ params.W @ H[:, -1]))[-2]
    return (f - y[jnp.argmin(jnp.sum((x - q[None, :]) ** 2, axis=1))]) ** 2 / 2


def whole_loss(params: Full, prompts: Prompts, config: Config) -> Float[Array, ""]:
    """The mean of `dense_loss` over prompts and, where labels are averaged, over all 2^N labels."""
    if prompts.y is not None:
        return jnp.mean(
            jax.vmap(dense_loss, (None, 0, 0, 0))(params, prompts.x, prompts.q, prompts.y)
        )
    labels = jnp.asarray(np.array(list(itertools.product((-1.0, 1.0), repeat=config.context.cap))))
    over_labels = jax.vmap(dense_loss, (None, None, None, 0))
    return jnp.mean(jax.vmap(over_labels, (None, 0, 0, None))(params, prompts.x, prompts.q, labels))


def nested(config: Config) -> bool:
    """True where the population is integrated example by example."""
    return (
        material.law_seen(config)
        and config.context.value is None
        and config.dimension.value is None
        and config.context.cap <= NESTED
    )


def ordered(config: Config) -> Prompts:
    """Prompts whose first example is nearest, with weights of their law.

    The angle of t_1 is on its nodes, each other angle on nodes of [theta_1, pi].
    """
    d, N = config.dimension.cap, config.context.cap
    x, w = np.polynomial.legendre.leggauss(NODES)
    x, w = (1 + x) / 2, w / 2
    points = np.stack(np.meshgrid(*[np.arange(NODES)] * N, indexing="ij"), -1).reshape(-1, N)
    first = math.pi * x[points[:, :1]]
    other_angles = first + (math.pi - first) * x[points[:, 1:]]
    angles = np.concatenate([first, other_angles], axis=1)
    weight = (
        N
        * math.pi
        * np.prod(w[points], axis=1)
        * np.prod(np.broadcast_to(math.pi - first, other_angles.shape), axis=1)
    )
    weight = weight * np.prod(np.sin(angles) ** (d - 2) / beta((d - 1) / 2), axis=1)
    t, nearest = jnp.asarray(np.cos(angles)), jnp.zeros(len(points), jnp.int32)
    return Prompts(None, None, t, nearest, None, jnp.asarray(weight))


def beta(a: float | int) -> float:
    """The beta function B(a, 1/2), the integral of sin^(2a-1) over [0, pi]."""
    return math.exp(math.lgamma(a) + math.lgamma(0.5) - math.lgamma(a + 0.5))


def nested_slope(params: Reduced, config: Config) -> Reduced:
    """Autodiff of the loss over `ordered` prompts."""
    prompts = ordered(config)
    return jax.grad(lambda p: model.loss(p, prompts, material.UNREAD, config))(params)


def law(d: int, t: Any, numpy: Any = np) -> tuple[Any, Any]:
    """f and F of one inner product, elementary for d = 2, 4 and odd d.

    t is an array of the module `numpy`.
    """
    if d == 2:
        return 1 / (np.pi * (1 - t**2) ** 0.5), 0.5 + numpy.arcsin(t) / np.pi
    if d == 4:
        root = (1 - t**2) ** 0.5
        return 2 / np.pi * root, 0.5 + (t * root + numpy.arcsin(t)) / np.pi
    f = np.polynomial.Polynomial([1, 0, -1]) ** ((d - 3) // 2) / beta((d - 1) / 2)
    F = f.integ(lbnd=-1)
    return sum(c * t**k for k, c in enumerate(f.coef)), sum(c * t**k for k, c in enumerate(F.coef))


def gap(d: int, N: int) -> float:
    """The gap density N (N-1) int f^2 F^(N-2) dt by quadrature in the angle."""
    x, w = np.polynomial.legendre.leggauss(100)
    angle = np.pi * (1 + x) / 2
    f, F = law(d, np.cos(angle))
    return float(N * (N - 1) * np.pi / 2 * np.sum(w * np.sin(angle) * f**2 * F ** (N - 2)))
