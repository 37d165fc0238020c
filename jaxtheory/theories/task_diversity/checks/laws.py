"""Checks of the moments, of the errors of given weights, and of those of the minimum."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Compared, check
from jaxtheory.ops import linalg
from jaxtheory.theories.task_diversity import data, laws, model
from jaxtheory.theories.task_diversity.checks import literal, material
from jaxtheory.theories.task_diversity.model import Config, Params

COUNT = 4000  # prompts of a sample


@check("task_moments: quadrature", material.PAPER, "equal")
def task_moments_by_quadrature(key: Array, config: Config) -> Compared:
    """The moments of prompts with tasks of any norm, exactly: polynomials of Gaussian numbers."""
    if not material.is_unpadded(config):
        return None
    tasks = material.tasks(key, config)
    moments = laws.task_moments(tasks, config)
    want = literal.moments(tasks, Size.wrap(config.length).cap, config.noise_variance)
    return moments, laws.Moments(*want)


@check("fresh_moments: quadrature", material.PAPER, "equal")
def fresh_moments_by_quadrature(key: Array, config: Config) -> Compared:
    """The moments of fresh tasks against those of the tasks +-sqrt(d) e_i.

    The latter have the same mean and second moment.
    """
    if not material.is_unpadded(config):
        return None
    moments = laws.fresh_moments(config)
    return moments, laws.Moments(*_fresh(config))


def _fresh(config: Config) -> tuple[Array, Array, Array]:
    d = Size.wrap(config.dimension).cap
    tasks = d**0.5 * jnp.concatenate([jnp.eye(d), -jnp.eye(d)])
    return literal.moments(tasks, Size.wrap(config.length).cap, config.noise_variance)


@check("errors: drawn prompts", material.PAPER, "sample")
def errors_by_draws(key: Array, config: Config) -> Compared:
    """Both errors of weights against means over drawn prompts."""
    if not material.is_unpadded(config):
        return None
    one, two, three = jax.random.split(key, 3)
    large_config = config.replace(num_prompts=COUNT)
    tasks = data.on_sphere(one, config.num_tasks, config)
    params = jax.tree.map(lambda x: x / 4, material.weights(two, config))
    at = jnp.arange(COUNT) % len(tasks)
    train_tasks = tasks[at]
    fresh = data.on_sphere(three, COUNT, config)
    if config.tasks == "fresh":
        train_tasks = data.on_sphere(one, COUNT, config)

    def squares(key: Array, w: Array) -> Array:
        batch = data.batch(data.prompts(key, w, large_config), large_config)
        return (batch.y - model.output(params, batch)) ** 2

    rows = jnp.stack([squares(two, fresh), squares(three, train_tasks)], axis=1)
    want = jnp.stack(laws.errors(params, tasks, config))
    return want, jnp.mean(rows, axis=0), jnp.std(rows, axis=0) / COUNT**0.5


@check("errors: moments by quadrature", material.PAPER, "equal")
def errors_by_matrices(key: Array, config: Config) -> Compared:
    """Both errors of weights by traces of the moments from quadrature."""
    if not material.is_unpadded(config):
        return None
    params, tasks = material.weights(key, config), material.tasks(key, config)
    G = jnp.roll(literal.weights(params), 1, axis=1)
    d = len(G)

    def error(moments: tuple[Array, Array, Array]) -> Array:
        second, cross, total = moments
        return total - 2 / d * jnp.trace(G @ cross.T) + jnp.trace(G @ second @ G.T) / d

    fresh = _fresh(config)
    length = Size.wrap(config.length).cap
    train_moments = literal.moments(tasks, length, config.noise_variance)
    want = error(fresh), error(fresh if config.tasks == "fresh" else train_moments)
    return laws.errors(params, tasks, config), laws.Errors(*want)


@check("best: normal equations", "derived", "equal")
def best_by_solve(key: Array, config: Config) -> Compared:
    """The least error, from the normal equations."""
    if not material.is_unpadded(config):
        return None
    second, cross, total = _fresh(config)
    G = linalg.solve(second, cross.T)
    return laws.best(config), total - jnp.trace(cross @ G) / len(cross)


@check("bayes: Marchenko-Pastur density", material.PAPER, "equal")
def bayes_by_density(key: Array, config: Config) -> Compared:
    """The error of ridge regression by the Marchenko-Pastur law of the examples of a prompt."""
    d, l = Size.wrap(config.dimension).cap, Size.wrap(config.length).cap
    if not material.is_unpadded(config) or d == l:
        return None
    rho = 0.3 + jnp.asarray(config.noise_variance, float)
    values, mass = literal.wishart(l / d)
    want = rho + jnp.sum(mass / (1 + l / d * values / rho))
    return laws.bayes(config.replace(noise_variance=rho)), want


@check("stieltjes: its equation and slope", material.PAPER, "equal")
def stieltjes_by_equation(key: Array, config: Config) -> Compared:
    """m solves z m^2 / kappa + (z + 1 - 1/kappa) m = 1, and its slope is that of autodiff."""
    _, _, inverse, rho = laws.scales(config)
    z = 0.3 + rho
    m, slope = laws.stieltjes(z, inverse)
    left_side = z * inverse * m**2 + (z + 1 - inverse) * m
    want = -jax.grad(lambda z: laws.stieltjes(z, inverse)[0])(z)
    return (left_side, slope), (jnp.ones(()), want)


@check("stieltjes: Marchenko-Pastur density", material.PAPER, "equal")
def stieltjes_by_density(key: Array, config: Config) -> Compared:
    """m and its slope by integrals of the Marchenko-Pastur density."""
    if not material.is_unpadded(config):
        return None
    z = 0.3 + jnp.asarray(config.noise_variance, float)
    values, mass = _spectrum(config)
    inverse = laws.scales(config).inverse
    want = jnp.sum(mass / (values + z)), jnp.sum(mass / (values + z) ** 2)
    return laws.stieltjes(z, inverse), want


def _spectrum(config: Config) -> literal.Spectrum:
    """The limiting eigenvalues of R."""
    if config.tasks == "fresh":
        return literal.Spectrum(jnp.ones(1), jnp.ones(1))
    return literal.wishart(Size.wrap(config.num_tasks).cap / Size.wrap(config.dimension).cap)


@check("limit: Marchenko-Pastur density", "derived", "equal")
def limit_by_density(key: Array, config: Config) -> Compared:
    """The errors in the limit by sums over the Marchenko-Pastur law."""
    if not material.is_unpadded(config):
        return None
    d, l, n = (Size.wrap(s).cap for s in (config.dimension, config.length, config.num_prompts))
    rho = jnp.asarray(config.noise_variance, float)
    x, tau = (1 + rho) * d / l, jnp.asarray(n / d**2)
    ridge = jnp.asarray(config.ridge, float)
    want = literal.in_the_limit(_spectrum(config), x, tau, rho, ridge)
    return laws.limit(config), laws.Errors(*want)


@check("published: limit at lambda = 0", material.PAPER, "equal")
def published_by_equivalents(key: Array, config: Config) -> Compared:
    """Result 1 as printed against the limit of the deterministic equivalents at lambda = 0.

    tau is on both sides of 1.
    """
    plain = config.replace(ridge=0.0, dimension=4)
    configs = [plain.replace(num_prompts=n) for n in (5, 40)]
    got, want = ([f(c) for c in configs] for f in (laws.published, lambda c: laws.limit(c).icl))
    return jnp.stack(got), jnp.stack(want)


@check("equivalent: all weights", "derived", "equal")
def equivalent_on_all_weights(key: Array, config: Config) -> Compared:
    """The errors at the run's tasks by matrices on all d (d + 1) weights."""
    if not material.is_unpadded(config):
        return None
    tasks = material.tasks(key, config)
    fresh = _fresh(config)
    length, n = Size.wrap(config.length).cap, Size.wrap(config.num_prompts).cap
    train_moments = literal.moments(tasks, length, config.noise_variance)
    train_moments = fresh if config.tasks == "fresh" else train_moments
    ridge = jnp.asarray(config.ridge, float)
    want = literal.on_all_weights(train_moments, fresh, n, ridge)
    return laws.equivalent(tasks, config), laws.Errors(*want)


@check("equivalent: many prompts", "derived", "bound")
def equivalent_of_many_prompts(key: Array, config: Config) -> Compared:
    """On 10^9 prompts without a penalty the errors are those of the population's minimum."""
    if not material.is_unpadded(config):
        return None
    tasks = material.tasks(key, config)
    large_config = config.replace(ridge=0.0, num_prompts=Size(10**9, None))
    second, cross, _ = laws.seen_moments(tasks, config)
    G = linalg.solve(second, cross.T).T
    want = laws.errors(Params(G[:, 1:], G[:, 0]), tasks, config)
    got = laws.equivalent(tasks, large_config)
    return jnp.stack([jnp.abs(a / b - 1) for a, b in zip(got, want, strict=True)]), jnp.full(
        2, 1e-5
    )


@check("stopped: each time", "derived", "equal")
def stopped_by_penalty(key: Array, config: Config) -> Compared:
    """The errors of the penalty that stands for each time, and of zero weights at t = 0.

    Each time is computed for itself.
    """
    tasks, times = material.tasks(key, config), (0, 1, 7, 100)
    errors = laws.stopped(tasks, jnp.asarray(times, float), config)
    d = Size.wrap(config.dimension)
    zero = Params(jnp.zeros((d.cap, d.cap)), jnp.zeros(d.cap))
    want = [laws.errors(zero, tasks, config)]
    for t in times[1:]:
        more = jnp.asarray(d.real, float) / (2 * t * config.learning_rate)
        want.append(laws.equivalent(tasks, config.replace(ridge=config.ridge + more)))
    return errors, laws.Errors(*(jnp.stack(x) for x in zip(*want, strict=True)))
