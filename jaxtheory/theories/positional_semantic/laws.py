"""The error of any vector, exactly, and the minima of the energy in the limit of many features.

At n = alpha d, d -> infinity the energy L / d of a minimum is, by the replica method or by leaving
one sample out, the stationary value of

    Phi = lambda q / 2 - (q - theta^2 - m^2/rho^2) / (2 V) + alpha E M(chi, w)
    M = min over h of sum_l (h_l - w_l)^2 / (2 sigma^2 V) + sigma^2 sum_l (t_l(chi) - S_l(h))^2
    w_l = sigma sqrt(q) xi_l + s_l m
    chi_l = sigma (theta/sqrt(q) xi_l + sqrt(1 - theta^2/q) zeta_l),   xi, zeta ~ N(0, 1)

over q = |Q|^2/d, theta = Q* . Q/d, m = p . Q/sqrt(d) and V, where sigma^2 V is the response of a
sample's scores. With f_l = (h_l - w_l) / (sigma^2 V) at the minimum, stationary means

    V^ = -alpha sigma^2 E sum_l df_l/dw_l      q^ = alpha sigma^2 E sum_l f_l^2
    m^ = alpha E sum_l s_l f_l                 theta^ = alpha sigma^2 E sum_l df_l/dchi_l
    V = 1/(lambda + V^),   theta = V theta^,   m = rho^2 V m^
    q = V^2 (q^ + (theta^)^2 + rho^2 (m^)^2)

Data and Phi are the same under theta -> -theta (chi -> -chi) and m -> -m (the tokens exchanged), so
theta = 0 (positional) and m = 0 (semantic) are branches of their own. The minimum of the loss is
the branch of lesser energy. Expectations are over products of Gauss-Hermite nodes.

Source: derived; symmetry between replicas is assumed.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxtheory.core.config import Size
from jaxtheory.ops import linalg
from jaxtheory.theories.positional_semantic import calculus, model
from jaxtheory.theories.positional_semantic.model import Config, Overlaps

NODES = 8  # of each of the four variables
OUTER, INNER = 7, 6  # steps of Newton's method at each ratio, and for h in each of them
WAY = (0.0, 0.0, 0.25, 0.5, 0.75)  # to the first ratio, in logarithms


class Branch(NamedTuple):
    """A branch of minima at each ratio alpha."""

    q: Float[Array, " ratios"]
    theta: Float[Array, " ratios"]
    m: Float[Array, " ratios"]
    V: Float[Array, " ratios"]
    energy: Float[Array, " ratios"]
    test_error: Float[Array, " ratios"]
    residual: Float[Array, " ratios"]  # largest step left, relative


class Quadrature(NamedTuple):
    """Nodes xi_1, xi_2, zeta_1, zeta_2 of standard normals, or the first two, and their weights."""

    x: Float[Array, "variables nodes"]
    weight: Float[Array, " nodes"]

    def mean(self, values: Float[Array, " nodes"]) -> Float[Array, ""]:
        """The expectation."""
        return jnp.sum(self.weight * values)


def quadrature(number: int = NODES, variables: int = 4) -> Quadrature:
    """Products of Gauss-Hermite nodes, exact for polynomials of degree below 2 number in each.

    All expectations are symmetric under (1, 2) -> (-2, -1): half of the nodes stand for all.
    """
    x, w = np.polynomial.hermite_e.hermegauss(number)
    at = np.indices((number,) * variables).reshape(variables, -1)
    side = at[0] + at[1] - (number - 1)
    at, side = at[:, side >= 0], side[side >= 0]
    weight = np.prod((w / w.sum())[at], axis=0) * np.where(side > 0, 2, 1)
    return Quadrature(jnp.asarray(x[at], float), jnp.asarray(weight, float))


def fields(o: Overlaps, nodes: Quadrature, config: Config) -> tuple[Array, Array]:
    """w and t at the nodes, each [2, nodes]."""
    sigma, tiny = jnp.asarray(config.token_scale, float), jnp.finfo(nodes.x.dtype).tiny
    root = jnp.sqrt(jnp.maximum(o.q, tiny))
    share = jnp.clip(o.theta / root, -1, 1)
    rest = jnp.sqrt(jnp.maximum(1 - share**2, tiny))
    w = sigma * root * nodes.x[:2] + model.signed(o.m[None])
    return w, model.mixed(sigma * (share * nodes.x[:2] + rest * nodes.x[2:]), config)


def test_error(o: Overlaps, config: Config, number: int = 12) -> Float[Array, ""]:
    """E |y - f|^2 / d of fresh samples at any d, by quadrature.

    Two of d directions of x_1 - x_2 are seen by chi and h, so that
    g = sigma^2 (2 (d - 2) + (xi_1 - xi_2)^2 + (zeta_1 - zeta_2)^2) / d.
    """
    nodes, d = quadrature(number), jnp.asarray(Size.wrap(config.dimension).real, float)
    h, t = fields(o, nodes, config)
    gap = nodes.x[::2] - nodes.x[1::2]
    g = (2 * (d - 2) + jnp.sum(gap**2, axis=0)) / d
    error = nodes.mean(g * jnp.sum((t - model.attention(h)) ** 2, axis=0))
    return jnp.asarray(config.token_scale, float) ** 2 * error


def baseline(config: Config) -> Float[Array, ""]:
    """sigma^2 E |T - E T|^2, the limit of the least error of W x with a constant W of two rows."""
    nodes = quadrature(40, 2)
    t = model.mixed(jnp.asarray(config.token_scale, float) * nodes.x, config)
    gap = t - jax.vmap(nodes.mean)(t)[:, None]
    return 2 * jnp.asarray(config.token_scale, float) ** 2 * nodes.mean(jnp.sum(gap**2, axis=0))


def _step(h: Array, w: Array, t: Array, stiff: Array) -> tuple[Array, Array]:
    """A step of Newton's method for (1/2)|h - w|^2 + stiff sum (t - S)^2, damped where not convex.

    The second of the results has no damping and leaves the second derivatives out of the
    derivative: a step from the minimum is the minimum as a function of w, t and stiff.
    """
    force = h - w + 2 * stiff * calculus.slope(h, t)
    a, b, c = (2 * stiff * x for x in calculus.curvature(h, t))
    a, c = 1 + a, 1 + c
    least = (a + c) / 2 - jnp.sqrt(((a - c) / 2) ** 2 + b**2)
    more = jnp.maximum(0.3 - least, 0)

    def solved(a: Array, b: Array, c: Array) -> Array:
        rows = jnp.stack([c * force[0] - b * force[1], a * force[1] - b * force[0]])
        return rows / (a * c - b**2)[None]

    return solved(a + more, b, c + more), solved(*map(jax.lax.stop_gradient, (a, b, c)))


def nearest(h: Array, w: Array, t: Array, stiff: Array, steps: int = INNER) -> Array:
    """The minimum over h of (1/2)|h - w|^2 + stiff sum_l (t_l - S_l)^2 that is reached from h."""
    value = lambda x: (
        jnp.sum((x - w) ** 2, 0) / 2 + stiff * jnp.sum((t - model.attention(x)) ** 2, 0)
    )

    def step(_: Array | int, h: Array) -> Array:
        move, _undamped = _step(h, w, t, stiff)
        most = value(h) * (1 + 4 * jnp.finfo(h.dtype).eps)
        shorter = lambda _, x: jnp.where((value(x) <= most)[None], x, 0.7 * h + 0.3 * x)
        new = jax.lax.fori_loop(0, 4, shorter, h - move)
        return jnp.where((value(new) <= most)[None], new, h)

    return jax.lax.fori_loop(0, steps, step, h)


def potential(
    o: Overlaps, V: Array, h: Array, ratio: Array, nodes: Quadrature, config: Config
) -> Float[Array, ""]:
    """Phi, with h at the minima for these arguments; it also has the right second derivatives."""
    sigma, rho, ridge = (
        jnp.asarray(x, float) for x in (config.token_scale, config.position_norm, config.ridge)
    )
    w, t = fields(o, nodes, config)
    h = jax.lax.stop_gradient(h)
    h = h - _step(h, w, t, sigma**4 * V)[1]
    near = jnp.sum((h - w) ** 2, axis=0) / (2 * sigma**2 * V)
    M = near + sigma**2 * jnp.sum((t - model.attention(h)) ** 2, axis=0)
    rest = o.q - o.theta**2 - (o.m / rho) ** 2
    return ridge * o.q / 2 - rest / (2 * V) + ratio * nodes.mean(M)


def branch(start: str, ratios: Any, config: Config, number: int = NODES) -> Branch:
    """The branch of minima at each ratio alpha = n/d, in place of the config's.

    Newton's method follows it down from the largest ratio, or from 8, where its start is close to
    the minimum for large alpha. A `residual` that is not small says that there is no branch.

    Args:
        start: "positional" or "semantic".
        ratios: Values of alpha, falling.
        config: The config; sizes are not used.
        number: The number of nodes for each variable.
    """
    sigma, rho, omega, ridge = (
        jnp.asarray(x, float)
        for x in (config.token_scale, config.position_norm, config.mixture, config.ridge)
    )
    ratios = jnp.asarray(ratios, float)
    way, top = jnp.asarray(WAY), jnp.maximum(ratios[0], 8.0)
    path = jnp.concatenate([top * (ratios[0] / top) ** way, ratios])
    V = 1 / (ridge + 0.15 * path[0] * sigma**4)
    if start == "semantic":
        theta = jnp.sqrt(1 - omega)
        first = jnp.stack([1.1 * theta**2, theta, jnp.zeros(()), V])
    else:
        nodes = quadrature(number, 2)
        t = nodes.mean(model.mixed(sigma * nodes.x, config)[0])
        m = jnp.sqrt(jnp.maximum(jnp.log(t / (1 - t)), 0.01) / 2)
        first = jnp.stack([1.5 * (m / rho) ** 2, jnp.zeros(()), m, V])
    free = np.array([True, start == "semantic", start != "semantic", True])
    found = _follow(first, jnp.asarray(free), path, quadrature(number), config)
    return Branch(*(x[len(WAY) :] for x in found))


@jax.jit
def _follow(
    first: Float[Array, "4"],
    free: Bool[Array, "4"],
    path: Float[Array, " ratios"],
    nodes: Quadrature,
    config: Config,
) -> Branch:
    """Stationary points of Phi by Newton's method, each from that at the ratio before."""
    sigma = jnp.asarray(config.token_scale, float)

    def newton(_: Array | int, state: tuple) -> tuple:
        o, h, _old, ratio = state
        w, t = fields(Overlaps(*o[:3]), nodes, config)
        h = nearest(h, w, t, sigma**4 * o[3])
        phi = lambda o: potential(Overlaps(*o[:3]), o[3], h, ratio, nodes, config)
        slope, hessian = jax.grad(phi)(o), jax.jacfwd(jax.grad(phi))(o)
        both = free[:, None] & free[None, :]
        move = linalg.solve(jnp.where(both, hessian, jnp.eye(4)), jnp.where(free, slope, 0.0))
        relative = jnp.max(jnp.abs(move) / jnp.maximum(jnp.abs(o), 0.01))
        return o - move * jnp.minimum(1, 0.35 / relative), h, relative, ratio

    def at(state: tuple, ratio: Array) -> tuple:
        o, h, residual, _ = jax.lax.fori_loop(0, OUTER, newton, (*state, ratio, ratio))
        where = Overlaps(*o[:3])
        w, t = fields(where, nodes, config)
        energy = potential(where, o[3], h, ratio, nodes, config)
        error = 2 * sigma**2 * nodes.mean(jnp.sum((t - model.attention(w)) ** 2, axis=0))
        return (o, h), Branch(o[0], o[1], o[2], o[3], energy, error, residual)

    w, _ = fields(Overlaps(*first[:3]), nodes, config)
    return jax.lax.scan(at, (first, w), path)[1]
