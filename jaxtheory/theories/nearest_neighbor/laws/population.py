"""The population: the loss of infinitely many prompts, and the ties that decide how it decays.

For any d and N the loss is a Laplace integral. The loss sees a prompt through t_1..t_N alone, which
are independent with (t + 1)/2 ~ Beta((d-1)/2, (d-1)/2). Write t = cos theta, of density sin^(d-2)
theta, w = exp(xi1 (t - 1)), c = exp(-xi2), Z = w_1 + .. + w_N + c. As 1/Z = int e^(-uZ) du, 1/Z^2 =
int u e^(-uZ) du:

    E s* = N int e^(-uc) E[w e^(-uw) G_u(t)^(N-1)] du,   G_u(t) = E[e^(-uw); below t]
    E Q  = N int u e^(-uc) E[w^2 e^(-uw)] (E e^(-uw))^(N-1) du,   L = 1/2 (E Q - 2 E s* + 1)

Source: derived. The source has the population loss only as an expectation.
"""

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import betainc, gammaln
from jaxtyping import Array, Float, Int

from jaxtheory.theories.nearest_neighbor.model import Config, Reduced

# nodes in theta and in u: the loss is exact to 1e-12 for xi1 <= 7, 1e-6 at 20, 1e-3 at 40
ANGLES, SCALES = (
    112,
    80,
)
RESOLVED = 40.0
# Nodes in theta reach 9 / sqrt(d - 2) to both sides of pi/2, where the density is 1e-18 of its
# largest value.
WIDTH = 9.0
TIE = math.log(2) - 0.5  # int_0^inf (1 + e^x)^-2 dx
BALANCES, HALVINGS = 100, 60  # the first balance is sought at 100 ratios xi2 / xi1


class Grid(NamedTuple):
    """Nodes theta, the weights of their law, and sums for expectations below a node.

    The sums give E[f; below t] from f at the nodes.
    """

    angle: Float[Array, " a"]
    density: Float[Array, " a"]  # of theta
    law: Float[Array, " a"]
    cumulative: Float[Array, "a a"]


@functools.cache
def legendre(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on [-1, 1], and the matrix of integrals up to 1.

    The matrix integrates the interpolant from each node to 1. Column b is int_x^1 l_b, with
    l_b = sum_k (2k+1)/2 omega_b P_k(x_b) P_k and int_x^1 P_k = (P_(k-1) - P_(k+1))(x) / (2k+1).
    """
    x, omega = np.polynomial.legendre.leggauss(n)
    P = np.polynomial.legendre.legvander(x, n)
    k = np.arange(1, n)
    integrals = np.concatenate([1 - x[:, None], (P[:, :-2] - P[:, 2:]) / (2 * k + 1)], axis=1)
    return x, omega, integrals @ ((np.arange(n) + 0.5)[:, None] * omega * P[:, :n].T)


def grid(config: Config) -> Grid:
    """The law of one inner product on the nodes."""
    x, omega, upper = (jnp.asarray(array, float) for array in legendre(ANGLES))
    exponent = jnp.asarray(config.dimension.real, float) - 2
    half = jnp.minimum(WIDTH / jnp.sqrt(jnp.maximum(exponent, 1)), jnp.pi / 2)
    angle = jnp.pi / 2 + half * x
    density = jnp.exp(exponent * jnp.log(jnp.sin(angle)))
    total = jnp.sum(density * omega)
    return Grid(
        angle, density / (total * half), density * omega / total, upper * (density / total)[None, :]
    )


def power(base: Float[Array, "*n"], exponent: Array | int) -> Float[Array, "*n"]:
    """base^exponent for base >= 0, where 0 counts as the smallest positive number and 0^0 = 1."""
    return jnp.maximum(base, jnp.finfo(base.dtype).tiny) ** exponent


def loss(params: Reduced, config: Config) -> Float[Array, ""]:
    """The loss L(xi1, xi2) = 1/2 (E Q - 2 E s* + 1) for 0 <= xi1 <= 40; NaN beyond.

    Beyond, the nodes do not resolve it. The substitution u = exp(v - e^-v) / N makes the integrands
    decay fast at both ends of the v-grid.
    """
    N, (angle, _, law, below) = config.context.real, grid(config)
    xi1, xi2 = jnp.where(params.xi1 <= RESOLVED, params.xi1, jnp.nan), params.xi2
    w, c = jnp.exp(xi1 * (jnp.cos(angle) - 1)), jnp.exp(-xi2)
    last = jnp.maximum(jnp.minimum(2 * xi1, xi2 + jnp.log(jnp.asarray(N, xi1.dtype))), 0) + 4
    v, dv = jnp.linspace(-4.0, jax.lax.stop_gradient(last), SCALES, retstep=True)
    u = jnp.exp(v - jnp.exp(-v)) / N
    du = u * (1 + jnp.exp(-v)) * dv * jnp.exp(-u * c)
    E = jnp.exp(-u[:, None] * w[None, :])
    best = jnp.sum((law * w)[None, :] * E * power(E @ below.T, N - 1), axis=1)
    Q = (E @ (law * w**2)) * power(E @ law, N - 1)
    return (N * jnp.sum(du * (u * Q)) - 2 * N * jnp.sum(du * best) + 1) / 2


def gradient(params: Reduced, config: Config) -> Reduced:
    """The derivative of the integral, with the nodes held fixed."""
    return jax.grad(loss)(params, config)


def flow(params: Reduced, config: Config) -> Reduced:
    """The direction in which gradient descent on W moves (xi1, xi2), per unit of eta.

    It is (-1/d dL/dxi1, -dL/dxi2).
    """
    slope = gradient(params, config)
    return Reduced(-slope.xi1 / config.dimension.real, -slope.xi2)


# Decay of the loss


def gap_density(config: Config) -> Float[Array, ""]:
    """The density p(0) at 0 of the gap between the two largest t.

    It is N (N-1) int f(t)^2 F(t)^(N-2) dt. With f dt = density dtheta, f^2 dt = density^2 / sin
    theta dtheta. It is 0 for N = 1 and infinite for d = 2. Source: derived.
    """
    N = jnp.asarray(config.context.real, float)
    angle, density, law, below = grid(config)
    F = jnp.sum(below, axis=1)
    total = jnp.sum(law * density / jnp.sin(angle) * power(F, N - 2))
    finite = N * (N - 1) * jnp.where(N > 1, total, 0)
    return jnp.where((jnp.asarray(config.dimension.real, float) > 2) | (N < 2), finite, jnp.inf)


def power_laws(
    t: Int[Array, "*n"] | Float[Array, "*n"], config: Config
) -> tuple[Float[Array, "*n"], Float[Array, "*n"]]:
    """The laws of xi1 and L, valid once only near ties of the two nearest examples matter.

        xi1 = (xi0^3 + 3 C p(0) eta t / d)^(1/3),  L = C p(0) / xi1,  C = log 2 - 1/2

    A gap r between these leaves (1 + e^(xi1 r))^-2, whose mean is C p(0) / xi1; d xi1 / dt = (eta /
    d) C p(0) / xi1^2 then. Both are NaN where p(0) is 0 or infinite, or xi1 = 0. Source: derived.
    """
    p = gap_density(config)
    rate = 3 * TIE * p * config.learning_rate / config.dimension.real
    xi1 = jnp.cbrt(jnp.asarray(config.initial_alignment, float) ** 3 + rate * jnp.asarray(t, float))
    defined = (p > 0) & (p < jnp.inf)
    return jnp.where(defined, xi1, jnp.nan), jnp.where(
        defined & (xi1 > 0), TIE * p / jnp.where(xi1 > 0, xi1, 1), jnp.nan
    )


def log_nearest_density(t: Float[Array, "*n"], config: Config) -> Float[Array, "*n"]:
    """log h(t), where h = N f F^(N-1) is the density of t* = max_i t_i, for -1 < t < 1.

    f = (1 - t^2)^(a-1) / B(a, 1/2), F = I_((1+t)/2)(a, a), a = (d-1)/2. Source: derived.
    """
    d, N = (jnp.asarray(size.real, float) for size in (config.dimension, config.context))
    a = (d - 1) / 2
    f = (a - 1) * jnp.log1p(-(t**2)) + gammaln(a + 0.5) - gammaln(a) - gammaln(0.5)
    F = betainc(a, a, (1 + t) / 2)
    return jnp.log(N) + f + (N - 1) * jnp.log(jnp.maximum(F, jnp.finfo(F.dtype).tiny))


def valley(
    t: Int[Array, "*n"] | Float[Array, "*n"], config: Config
) -> tuple[Float[Array, "*n"], Float[Array, "*n"]]:
    """The laws of xi1 and xi2 where xi2 keeps up with xi1.

        xi1 = (3 C p(0) eta t / (d + r^2))^(1/3),  xi2 = r xi1

    The query then loses against most prompts. It ties with the nearest example at t* = 1 - r, which
    pulls xi2 by h(1 - r) / (2 xi1) and holds xi1 back by r times that. In balance, d xi2 = r d xi1,
    it is h(1 - r) (d + r^2) xi1 = 2 r C p(0): xi1 as a function of r, and t with it, which is
    inverted by halving. r then grows to 2, slowly. Both are NaN where p(0) is 0 or infinite, and
    before the balance. Source: derived.
    """
    d, p = config.dimension.real, gap_density(config)
    defined = (p > 0) & (p < jnp.inf)
    Cp = jnp.where(defined, TIE * p, 1)

    def log_time(r: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """log t at which xi2 = r xi1."""
        log_xi1 = jnp.log(2 * r * Cp / (d + r**2)) - log_nearest_density(1 - r, config)
        return 3 * log_xi1 + jnp.log((d + r**2) / (3 * Cp * config.learning_rate))

    def halve(_: Array | int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        middle = (ends[0] + ends[1]) / 2
        early = log_time(middle) < target
        return jnp.where(early, middle, ends[0]), jnp.where(early, ends[1], middle)

    nodes = jnp.linspace(0, 2, 2 * BALANCES + 1)[1::2]
    when = log_time(nodes)
    time = jnp.asarray(t, float)
    target = jnp.log(jnp.where(time > 0, time, 1))
    first = jnp.full_like(target, nodes[jnp.argmin(when)])
    r, _ = jax.lax.fori_loop(0, HALVINGS, halve, (first, jnp.full_like(target, 2)))
    xi1 = jnp.cbrt(3 * Cp * config.learning_rate * time / (d + r**2))
    defined = defined & (time > 0) & (target >= jnp.min(when))
    return jnp.where(defined, xi1, jnp.nan), jnp.where(defined, r * xi1, jnp.nan)
