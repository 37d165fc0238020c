"""Checks of the population by nested quadrature, draws, closed forms of the gap, and limits."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.nearest_neighbor import model
from jaxtheory.theories.nearest_neighbor.checks import literal, material
from jaxtheory.theories.nearest_neighbor.laws import population
from jaxtheory.theories.nearest_neighbor.model import Config, Reduced

MANY = 20000
CASES = ((3, 8), (4, 4), (5, 3), (7, 6))  # (d, N) whose law of one inner product is elementary


def case(d: Array, N: Array, eta: float = 1.0) -> Config:
    """A config of traced sizes, so that one program serves several."""
    return Config(dimension=Size(40, d), context=Size(40, N), learning_rate=eta)


def once(config: Config) -> bool:
    """True for configs on which formulas are checked that do not depend on the example."""
    return literal.nested(config) and config.context.cap > 1


@check("loss: the population's, example by example", "derived", "equal")
def loss_nested(key: Array, config: Config) -> Compared:
    """The loss by nested quadrature, and the weights, which sum to 1."""
    if not literal.nested(config):
        return None
    params, prompts = material.setting(key, config), literal.ordered(config)
    got = population.loss(params, config), jnp.ones(())
    return got, (model.loss(params, prompts, material.UNREAD, config), jnp.sum(prompts.weight))


@check("loss: the population's, on drawn examples", "derived", "sample")
def loss_sampled(key: Array, config: Config) -> Compared:
    """Loss and gradient on examples drawn on the sphere, with padded sizes."""
    if not material.law_seen(config) or material.unpadded(config):
        return None
    return material.against(key, material.drawn(key, config, Size(MANY))._replace(y=None), config)


@check("gradient: the population's, example by example", "derived", "equal")
def gradient_nested(key: Array, config: Config) -> Compared:
    """Autodiff of the loss of each prompt, integrated over every example."""
    if not literal.nested(config):
        return None
    params = material.setting(key, config)
    return population.gradient(params, config), literal.nested_slope(params, config)


@check("flow: example by example", "derived", "equal")
def flow_nested(key: Array, config: Config) -> Compared:
    """The flow is (-1/d, -1) times the slope, integrated over every example."""
    if not once(config):
        return None
    params = material.setting(key, config)
    slope = literal.nested_slope(params, config)
    return population.flow(params, config), Reduced(-slope.xi1 / config.dimension.cap, -slope.xi2)


@check("gap_density: closed forms", "derived", "equal")
def gap_density_closed(_key: Array, config: Config) -> Compared:
    """Closed forms of p(0) for N <= 3 or d = 3, else quadrature of elementary f and F.

    N = 2 and 3: N (N-1) int f^2 / 2^(N-2) = N (N-1) B(d-2, 1/2) / B((d-1)/2, 1/2)^2 / 2^(N-2),
    as F(t) + F(-t) = 1; d = 3: N / 2; N = 1: 0.
    """
    if not once(config):
        return None
    sizes = [(3, 2), (3, 5), (3, 33), (4, 2), (5, 3), (16, 3), (32, 2), (7, 1), *CASES]
    want = []
    for d, N in sizes[:8]:
        square = literal.beta(d - 2) / literal.beta((d - 1) / 2) ** 2 if N <= 3 else 0
        want.append(N / 2 if d == 3 else N * (N - 1) * square / 2.0 ** (N - 2))
    want += [literal.gap(d, N) for d, N in CASES]
    d, N = jnp.asarray(sizes).T
    return jax.vmap(lambda d, N: population.gap_density(case(d, N)))(d, N), jnp.asarray(want)


@check("power_laws: the flow of near ties", "derived", "equal")
def power_laws_flow(_key: Array, config: Config) -> Compared:
    """The two laws solve d xi1 / dt = -(eta / d) dL/dxi1 with L = C p(0) / xi1, from xi0 = 0.7.

    C comes from quadrature of (1 + e^x)^-2, and p(0) = N / 2 for d = 3.
    """
    if not material.law_seen(config) or config.context.cap < 2:
        return None
    config = config.replace(initial_alignment=0.7)
    x, w = np.polynomial.legendre.leggauss(200)
    x = 20 * (1 + x)
    tie = float(np.sum(20 * w / (1 + np.exp(x)) ** 2)) * config.context.real / 2
    times = jnp.array([3.0, 40.0, 500.0])
    xi1, speed = jax.vmap(jax.value_and_grad(lambda t: population.power_laws(t, config)[0]))(times)
    return (speed, population.power_laws(times, config)[1], xi1[0]), (
        config.learning_rate / 3 * tie / xi1**2,
        tie / xi1,
        jnp.cbrt(0.7**3 + 3 * config.learning_rate / 3 * tie * times[0]),
    )


@check("power_laws: the loss of large xi1", "derived", "bound")
def ties_decide(_key: Array, config: Config) -> Compared:
    """The limit xi1 L -> C p(0) without query attention, to within 0.02.

    It is extrapolated from xi1 = 10 and 20.
    """
    if not once(config):
        return None
    d, N = jnp.asarray(((3, 2), *CASES)).T
    ends = jnp.array([10.0, 20.0])

    def limit(d: Array, N: Array) -> Array:
        values = jax.vmap(lambda x: x * population.loss(Reduced(x, 9 * x), case(d, N)))(ends)
        return (2 * values[1] - values[0]) / population.power_laws(jnp.ones(1), case(d, N))[1][0]

    laws = jax.vmap(lambda d, N: population.power_laws(jnp.ones(1), case(d, N))[0][0])(d, N)
    return jnp.abs(jax.vmap(limit)(d, N) / laws - 1), jnp.full(len(d), 0.02)


@check("log_nearest_density: elementary cases", "derived", "equal")
def nearest_density_elementary(_key: Array, config: Config) -> Compared:
    """The density N f F^(N-1) with elementary f and F."""
    if not once(config):
        return None
    t = np.linspace(-0.9, 0.95, 8)
    want = []
    for d, N in ((2, 3), *CASES):
        f, F = literal.law(d, t)
        want.append(np.log(N * f * F ** (N - 1)))
    d, N = jnp.asarray(((2, 3), *CASES)).T
    log_density = lambda d, N: population.log_nearest_density(jnp.asarray(t), case(d, N))
    return jax.vmap(log_density)(d, N), jnp.asarray(np.stack(want))


@check("valley: balance and time", "derived", "equal")
def valley_balance(_key: Array, config: Config) -> Compared:
    """The time and the balance at xi1 of about 10, 20 and 90.

    t is that of (d + r^2) xi1^3, and h balances, with elementary f and F.
    """
    if not once(config):
        return None
    ratios, d, N = [], *(jnp.asarray(z) for z in np.transpose(CASES))
    tie = (np.log(2) - 0.5) * np.array([literal.gap(*sizes) for sizes in CASES])
    times = np.array([1e3, 8e3, 7e5])[None, :] / tie[:, None]
    eta = 1.7
    xi1, xi2 = jax.vmap(lambda t, d, N: population.valley(t, case(d, N, eta)))(
        jnp.asarray(times), d, N
    )
    r, tie = xi2 / xi1, tie[:, None]
    for i, (dim, context) in enumerate(CASES):
        f, F = literal.law(dim, 1 - r[i], jnp)
        ratios.append(context * f * F ** (context - 1) * (dim + r[i] ** 2) * xi1[i] / 2 / r[i])
    cubes = xi1**3 * (d[:, None].astype(float) + r**2) / (3 * eta * times)
    return (cubes / tie, jnp.stack(ratios) / tie), (jnp.ones(r.shape), jnp.ones(r.shape))
