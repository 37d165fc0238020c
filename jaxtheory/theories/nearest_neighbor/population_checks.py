"""Second routes to the population: nested quadrature, draws, closed forms of the gap, limits."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import betainc, gammaln
from jaxtyping import Array, Float

from jaxtheory.core.theory import Check
from jaxtheory.theories.nearest_neighbor import calculus, model, population, training
from jaxtheory.theories.nearest_neighbor.model import Config, Prompts, Reduced

MANY = 20000
NESTED = 3  # contexts of at most this many examples are integrated example by example
NODES = 30
UNREAD: Any = None  # a problem that is not looked at
Compared = tuple[Any, ...] | None  # (got, want) or (got, want, standard error); None where a check does not apply


def setting(key: Array, config: Config) -> Reduced:
    """Parameters away from special points."""
    xi = jax.random.uniform(jax.random.fold_in(key, 7), (2,), minval=0.3, maxval=3.0)
    return Reduced(xi[0], xi[1])


def drawn(key: Array, config: Config, count: model.Size | int | None = None) -> Prompts:
    """Prompts with labels as `model.draw_prompts` gives them, from one draw that compiles fast."""
    B, N, d = model.Size.wrap(count or config.num_test), config.context, config.dimension
    mask = B.mask()[:, None, None] & jnp.append(True, N.mask())[None, :, None] & jnp.append(True, d.mask())[None, None, :]
    points = jnp.where(mask, jax.random.normal(key, (B.cap, N.cap + 1, d.cap + 1)), 0)
    x = points[:, :, 1:] / jnp.where(mask[:, :, :1], jnp.linalg.norm(points[:, :, 1:], axis=2, keepdims=True), 1)
    y = points[:, 1:, 0]
    return model.make_prompts(x[:, 1:], x[:, 0], jnp.sign(y) if config.labels == "rademacher" else y, B, config)


def law_seen(config: Config) -> bool:
    """Whether the population is checked here: not again for training labels, which it does not see."""
    return config.labels == "averaged"


def beta(a: float) -> float:
    """B(a, 1/2), the integral of sin^(2a-1) over [0, pi]."""
    return math.exp(math.lgamma(a) + math.lgamma(0.5) - math.lgamma(a + 0.5))


def ordered(config: Config) -> tuple[Prompts, Float[Array, " n"]]:
    """Prompts whose first example is nearest, with weights of their law: t_1 on its nodes, each other on nodes of [theta_1, pi]."""
    d, N = config.dimension.cap, config.context.cap
    x, w = np.polynomial.legendre.leggauss(NODES)
    x, w = (1 + x) / 2, w / 2
    points = np.stack(np.meshgrid(*[np.arange(NODES)] * N, indexing="ij"), -1).reshape(-1, N)
    first = math.pi * x[points[:, :1]]
    rest = first + (math.pi - first) * x[points[:, 1:]]
    angles = np.concatenate([first, rest], axis=1)
    weight = N * math.pi * np.prod(w[points], axis=1) * np.prod(np.broadcast_to(math.pi - first, rest.shape), axis=1)
    weight = weight * np.prod(np.sin(angles) ** (d - 2) / beta((d - 1) / 2), axis=1)
    law = jnp.asarray(weight)
    return Prompts(None, None, jnp.asarray(np.cos(angles)), jnp.zeros(len(points), jnp.int32), None, law), law


def nested(config: Config) -> bool:
    return law_seen(config) and config.context.value is None and config.dimension.value is None and config.context.cap <= NESTED


def loss_nested(key: Array, config: Config) -> Compared:
    """Also the weights, of sum 1."""
    if not nested(config):
        return None
    prompts, law = ordered(config)
    params = setting(key, config)
    got = population.loss(params, config), jnp.ones(())
    return got, (model.loss(params, prompts, UNREAD, config), jnp.sum(law))


def gradient_nested(key: Array, config: Config) -> Compared:
    """The closed gradient per prompt, integrated over every example."""
    if not nested(config):
        return None
    params = setting(key, config)
    return population.gradient(params, config), calculus.gradient(params, ordered(config)[0], UNREAD, config)


def step_nested(key: Array, config: Config) -> Compared:
    if not nested(config):
        return None
    params, prompts = setting(key, config), ordered(config)[0]
    return training.population_step(key, 0, params, (), UNREAD, config), training.step(key, 0, params, prompts, UNREAD, config)


def flow_is_a_step(key: Array, config: Config) -> Compared:
    """Flow is a population step over eta."""
    params = setting(key, config)
    moved = training.population_step(key, 0, params, (), UNREAD, config)
    return population.flow(params, config), jax.tree.map(lambda new, old: (new - old) / config.learning_rate, moved, params)


def sampled(params: Reduced, prompts: Prompts, config: Config) -> tuple[Array, Array]:
    """Mean and standard error of loss, xi1- and xi2-gradient over prompts."""
    s = model.attend(params, prompts, config)
    g = calculus.logit_gradient(s, prompts)
    values = jnp.stack([model.squared_errors(s, prompts) / 2, jnp.sum(g[:, :-1] * prompts.t, axis=1) + g[:, -1], -g[:, -1]])
    return jnp.mean(values, axis=1), jnp.std(values, axis=1) / math.sqrt(values.shape[1])


def against(key: Array, prompts: Prompts, config: Config) -> Compared:
    """Sampled loss and gradient, and the population's."""
    params = setting(key, config)
    slope = population.gradient(params, config)
    found, error = sampled(params, prompts._replace(y=None), config)
    return found, jnp.stack([population.loss(params, config), slope.xi1, slope.xi2]), error


def loss_sampled(key: Array, config: Config) -> Compared:
    """Loss and gradient on examples on the sphere."""
    return against(key, drawn(key, config, model.Size(MANY)), config) if law_seen(config) else None


def fresh_sampled(key: Array, config: Config) -> Compared:
    """Loss and gradient on Beta-distributed inner products."""
    many = config.replace(num_prompts=model.Size(MANY))
    return against(key, population.fresh(key, UNREAD, many), config) if law_seen(config) else None


def inner_products_law(key: Array, config: Config) -> Compared:
    """Their distribution function at five points, from the incomplete beta function; neighbours are independent."""
    if not law_seen(config):
        return None
    a = (jnp.asarray(config.dimension.real, float) - 1) / 2
    t = population.inner_products(key, MANY, config)
    last = config.context.cap - 1 if config.context.value is None else 0
    points = jnp.array([-0.8, -0.4, 0.1, 0.5, 0.9])
    below = [(t[:, i, None] <= points[None, :]).astype(float) for i in (0, last)]
    law = betainc(a, a, (1 + points) / 2)
    joint = jnp.mean(below[0] * below[1], axis=0)
    want = jnp.stack([law, law, law**2 if last else law])
    return jnp.stack([*(jnp.mean(b, axis=0) for b in below), joint]), want, jnp.sqrt(want * (1 - want) / MANY)


def gap_density_closed(key: Array, config: Config) -> Compared:
    """N = 2 and 3: N (N-1) int f^2 / 2^(N-2) = N (N-1) B(d-2, 1/2) / B((d-1)/2, 1/2)^2 / 2^(N-2); d = 3: N / 2; N = 1: 0.

    For N = 3 since F(t) + F(-t) = 1. On the example's own size and on these.
    """
    if not law_seen(config):
        return None
    want, got = [], []
    for d, N in ((3, 2), (3, 5), (3, 33), (4, 2), (5, 3), (16, 3), (32, 2), (7, 1)):
        square = beta(d - 2) / beta((d - 1) / 2) ** 2 if N <= 3 else 0
        want.append(N / 2 if d == 3 else N * (N - 1) * square / 2.0 ** (N - 2))
        got.append(population.gap_density(Config(dimension=d, context=N)))
    padded = Config(dimension=model.Size(7, jnp.asarray(3)), context=model.Size(9, jnp.asarray(5)))
    return jnp.stack([*got, population.gap_density(padded)]), jnp.asarray([*want, 2.5])


def gap_density_incomplete(_key: Array, config: Config) -> Compared:
    """The integral in t with F the incomplete beta function, of the example's d and N."""
    if not law_seen(config) or config.context.cap < 2 or config.dimension.cap < 3:
        return None
    d, N = (jnp.asarray(size.real, float) for size in (config.dimension, config.context))
    x, w = (jnp.asarray(z) for z in np.polynomial.legendre.leggauss(60))
    angle, a = jnp.pi * (1 + x) / 2, (d - 1) / 2
    squared = jnp.sin(angle) ** (2 * d - 5) / jnp.exp(2 * (gammaln(a) + gammaln(0.5) - gammaln(d / 2)))
    F = betainc(a, a, (1 + jnp.cos(angle)) / 2)
    return population.gap_density(config), N * (N - 1) * jnp.pi / 2 * jnp.sum(w * squared * F ** (N - 2))


def power_laws_flow(key: Array, config: Config) -> Compared:
    """The two laws solve d xi1 / dt = -(eta / d) dL/dxi1 with L = C p(0) / xi1, C by quadrature of (1 + e^x)^-2."""
    if not law_seen(config) or config.context.cap < 2 or config.dimension.cap < 3:
        return None
    x, w = np.polynomial.legendre.leggauss(200)
    x = 20 * (1 + x)
    tie = float(np.sum(20 * w / (1 + np.exp(x)) ** 2))
    times = jnp.array([3.0, 40.0, 500.0])
    one = lambda t: population.power_laws(t, config)[0]
    xi1, speed = jax.vmap(one)(times), jax.vmap(jax.grad(one))(times)
    p = population.gap_density(config)
    eta, d = config.learning_rate, config.dimension.real
    return (speed, population.power_laws(times, config)[1]), (eta / d * tie * p / xi1**2, tie * p / xi1)


def ties_decide(key: Array, config: Config) -> Compared:
    """xi1 L / (C p(0)) -> 1: within .1 at xi1 = 30, no query attention; d = 3 and 4, N = 2 and 5."""
    if not law_seen(config) or config.context.cap != 1:
        return None  # once is enough
    params = Reduced(jnp.asarray(30.0), jnp.asarray(90.0))
    cases = [Config(dimension=d, context=N) for d in (3, 4) for N in (2, 5)]
    ratio: Callable[[Config], Array] = lambda c: params.xi1 * population.loss(params, c) / (population.TIE * population.gap_density(c))
    return jnp.abs(jnp.stack([ratio(c) for c in cases]) - 1), jnp.full(4, 0.1)


def nearest_density_beta(_key: Array, config: Config) -> Compared:
    """h from the incomplete beta function; not for d = 2, where 1 - t^2 cancels at the ends."""
    if not law_seen(config) or config.dimension.cap < 3:
        return None
    d, N = (jnp.asarray(size.real, float) for size in (config.dimension, config.context))
    h, t = population.nearest_density(config)
    a = (d - 1) / 2
    f = (1 - t**2) ** (a - 1) * jnp.exp(gammaln(d / 2) - gammaln(a) - gammaln(0.5))
    return h, N * f * betainc(a, a, (1 + t) / 2) ** (N - 1)


def valley_balance(_key: Array, config: Config) -> Compared:
    """Where xi1 is about 20: t is that of (d + r^2) xi1^3, h balances, and the population's flow has the speed of xi1 to leading order."""
    if not law_seen(config) or config.context.cap != 1:
        return None  # once is enough
    got = []
    for case in (Config(dimension=3, context=8), Config(dimension=4, context=4), Config(dimension=8, context=16, learning_rate=3.0)):
        p, eta, d = population.gap_density(case), case.learning_rate, case.dimension.real
        t = 20.0**3 * (d + 1.2**2) / (3 * population.TIE * p * eta)
        xi1, xi2 = population.valley(t, case)
        r = xi2 / xi1
        exact = xi1**3 * (d + r**2) / (3 * population.TIE * p * eta * t)
        h, at = population.nearest_density(case)
        balance = jnp.exp(jnp.interp(r, 1 - at, jnp.log(h))) * (d + r**2) * xi1 / (2 * r * population.TIE * p)
        speed = eta * population.flow(Reduced(xi1, xi2), case).xi1 * 3 * t / xi1
        got.append(jnp.stack([exact, balance, speed]))
    return jnp.abs(jnp.stack(got) - 1), jnp.broadcast_to(jnp.array([1e-12, 0.01, 0.4]), (3, 3))


POPULATION_CHECKS = (
    Check("loss: the population's, example by example", "derived", "equal", loss_nested),
    Check("loss: the population's, on drawn examples", "derived", "sample", loss_sampled),
    Check("gradient: the population's, example by example", "derived", "equal", gradient_nested),
    Check("population_step: example by example", "derived", "equal", step_nested),
    Check("flow: a step over eta", "derived", "equal", flow_is_a_step),
    Check("inner_products: Beta law", "derived", "sample", inner_products_law),
    Check("fresh: loss and gradient of the population", "derived", "sample", fresh_sampled),
    Check("gap_density: closed forms", "derived", "equal", gap_density_closed),
    Check("gap_density: with the incomplete beta function", "derived", "equal", gap_density_incomplete),
    Check("power_laws: the flow of near ties", "derived", "equal", power_laws_flow),
    Check("nearest_density: with the incomplete beta function", "derived", "equal", nearest_density_beta),
    Check("valley: balance, and the population's flow", "derived", "bound", valley_balance),
    Check("power_laws: the loss of large xi1", "derived", "bound", ties_decide),
)
