"""Checks of the population: nested quadrature, draws, closed forms of the gap, limits."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import betainc, gammaln
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.nearest_neighbor import calculus, model, training
from jaxtheory.theories.nearest_neighbor.checks import literal, material
from jaxtheory.theories.nearest_neighbor.laws import population
from jaxtheory.theories.nearest_neighbor.model import Config, Reduced

MANY = 20000


def loss_nested(key: Array, config: Config) -> Compared:
    """Also the weights, of sum 1."""
    if not literal.nested(config):
        return None
    params, prompts = material.setting(key, config), literal.ordered(config)
    got = population.loss(params, config), jnp.ones(())
    return got, (model.loss(params, prompts, material.UNREAD, config), jnp.sum(prompts.weight))


def loss_sampled(key: Array, config: Config) -> Compared:
    """Loss and gradient on examples on the sphere."""
    return (
        material.against(key, material.drawn(key, config, Size(MANY))._replace(y=None), config)
        if material.law_seen(config)
        else None
    )


def gradient_nested(key: Array, config: Config) -> Compared:
    """The closed gradient per prompt, integrated over every example."""
    if not literal.nested(config):
        return None
    params = material.setting(key, config)
    return population.gradient(params, config), calculus.gradient(
        params, literal.ordered(config), material.UNREAD, config
    )


def flow_is_a_step(key: Array, config: Config) -> Compared:
    """Flow is a population step over eta."""
    params = material.setting(key, config)
    moved = training.population_step(key, 0, params, (), material.UNREAD, config)
    return population.flow(params, config), jax.tree.map(
        lambda new, old: (new - old) / config.learning_rate, moved, params
    )


def gap_density_closed(key: Array, config: Config) -> Compared:
    """N = 2 and 3: N (N-1) int f^2 / 2^(N-2) = N (N-1) B(d-2, 1/2) / B((d-1)/2, 1/2)^2 / 2^(N-2); d
    = 3: N / 2; N = 1: 0.

    For N = 3 since F(t) + F(-t) = 1. On the example's own size and on these.
    """
    if not material.law_seen(config):
        return None
    want, got = [], []
    for d, N in ((3, 2), (3, 5), (3, 33), (4, 2), (5, 3), (16, 3), (32, 2), (7, 1)):
        square = literal.beta(d - 2) / literal.beta((d - 1) / 2) ** 2 if N <= 3 else 0
        want.append(N / 2 if d == 3 else N * (N - 1) * square / 2.0 ** (N - 2))
        got.append(population.gap_density(Config(dimension=d, context=N)))
    padded = Config(dimension=Size(7, jnp.asarray(3)), context=Size(9, jnp.asarray(5)))
    return jnp.stack([*got, population.gap_density(padded)]), jnp.asarray([*want, 2.5])


def gap_density_incomplete(_key: Array, config: Config) -> Compared:
    """The integral in t with F the incomplete beta function, of the example's d and N."""
    if not material.law_seen(config) or config.context.cap < 2 or config.dimension.cap < 3:
        return None
    d, N = (jnp.asarray(size.real, float) for size in (config.dimension, config.context))
    x, w = (jnp.asarray(z) for z in np.polynomial.legendre.leggauss(60))
    angle, a = jnp.pi * (1 + x) / 2, (d - 1) / 2
    squared = jnp.sin(angle) ** (2 * d - 5) / jnp.exp(
        2 * (gammaln(a) + gammaln(0.5) - gammaln(d / 2))
    )
    F = betainc(a, a, (1 + jnp.cos(angle)) / 2)
    return population.gap_density(config), N * (N - 1) * jnp.pi / 2 * jnp.sum(
        w * squared * F ** (N - 2)
    )


def power_laws_flow(key: Array, config: Config) -> Compared:
    """The two laws solve d xi1 / dt = -(eta / d) dL/dxi1 with L = C p(0) / xi1, C by quadrature of
    (1 + e^x)^-2.
    """
    if not material.law_seen(config) or config.context.cap < 2 or config.dimension.cap < 3:
        return None
    x, w = np.polynomial.legendre.leggauss(200)
    x = 20 * (1 + x)
    tie = float(np.sum(20 * w / (1 + np.exp(x)) ** 2))
    times = jnp.array([3.0, 40.0, 500.0])
    one = lambda t: population.power_laws(t, config)[0]
    xi1, speed = jax.vmap(one)(times), jax.vmap(jax.grad(one))(times)
    p = population.gap_density(config)
    eta, d = config.learning_rate, config.dimension.real
    return (speed, population.power_laws(times, config)[1]), (
        eta / d * tie * p / xi1**2,
        tie * p / xi1,
    )


def ties_decide(key: Array, config: Config) -> Compared:
    """xi1 L / (C p(0)) -> 1: within .1 at xi1 = 30, no query attention; d = 3 and 4, N
    = 2 and 5.
    """
    if not material.law_seen(config) or config.context.cap != 1:
        return None  # once is enough
    params = Reduced(jnp.asarray(30.0), jnp.asarray(90.0))
    cases = [Config(dimension=d, context=N) for d in (3, 4) for N in (2, 5)]
    ratios = [
        params.xi1 * population.loss(params, c) / (population.TIE * population.gap_density(c))
        for c in cases
    ]
    return jnp.abs(jnp.stack(ratios) - 1), jnp.full(4, 0.1)


def nearest_density_beta(_key: Array, config: Config) -> Compared:
    """h from the incomplete beta function; not for d = 2, where 1 - t^2 cancels at the ends."""
    if not material.law_seen(config) or config.dimension.cap < 3:
        return None
    d, N = (jnp.asarray(size.real, float) for size in (config.dimension, config.context))
    h, t = population.nearest_density(config)
    a = (d - 1) / 2
    f = (1 - t**2) ** (a - 1) * jnp.exp(gammaln(d / 2) - gammaln(a) - gammaln(0.5))
    return h, N * f * betainc(a, a, (1 + t) / 2) ** (N - 1)


def valley_balance(_key: Array, config: Config) -> Compared:
    """Where xi1 is about 20: t is that of (d + r^2) xi1^3, h balances, and the population's flow
    has the speed of xi1 to leading order.
    """
    if not material.law_seen(config) or config.context.cap != 1:
        return None  # once is enough
    got = []
    for case in (
        Config(dimension=3, context=8),
        Config(dimension=4, context=4),
        Config(dimension=8, context=16, learning_rate=3.0),
    ):
        p, eta, d = population.gap_density(case), case.learning_rate, case.dimension.real
        t = 20.0**3 * (d + 1.2**2) / (3 * population.TIE * p * eta)
        xi1, xi2 = population.valley(t, case)
        r = xi2 / xi1
        exact = xi1**3 * (d + r**2) / (3 * population.TIE * p * eta * t)
        h, at = population.nearest_density(case)
        balance = (
            jnp.exp(jnp.interp(r, 1 - at, jnp.log(h)))
            * (d + r**2)
            * xi1
            / (2 * r * population.TIE * p)
        )
        speed = eta * population.flow(Reduced(xi1, xi2), case).xi1 * 3 * t / xi1
        got.append(jnp.stack([exact, balance, speed]))
    return jnp.abs(jnp.stack(got) - 1), jnp.broadcast_to(jnp.array([1e-12, 0.01, 0.4]), (3, 3))


CHECKS = (
    Check("loss: the population's, example by example", "derived", "equal", loss_nested),
    Check("loss: the population's, on drawn examples", "derived", "sample", loss_sampled),
    Check("gradient: the population's, example by example", "derived", "equal", gradient_nested),
    Check("flow: a step over eta", "derived", "equal", flow_is_a_step),
    Check("gap_density: closed forms", "derived", "equal", gap_density_closed),
    Check(
        "gap_density: with the incomplete beta function", "derived", "equal", gap_density_incomplete
    ),
    Check("power_laws: the flow of near ties", "derived", "equal", power_laws_flow),
    Check("power_laws: the loss of large xi1", "derived", "bound", ties_decide),
    Check(
        "nearest_density: with the incomplete beta function",
        "derived",
        "equal",
        nearest_density_beta,
    ),
    Check("valley: balance, and the population's flow", "derived", "bound", valley_balance),
)
