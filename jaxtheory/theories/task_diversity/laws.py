"""Errors in closed form: of given weights, exactly; of the minimum, by deterministic equivalents.

For a prompt with task w and s = |w|^2 / d + rho, the moments of h = (q, beta) are

    E q^2 = (1 + 2/l) s^2,  E q beta = (1 + 2/l) s w,  E beta beta^T = (d/l) s I + (1 + 1/l) w w^T,
    E w h^T = (s w, w w^T),  E y^2 = s,

and weights G = (gamma, Gamma) have the error

    e(G) = E y^2 - (2/d) <G, E w h^T> + (1/d) <G, G E h h^T>.

A fresh w gives e_ICL (in-context learning), one of the k tasks e_IDG (in-distribution).

The minimum of L on n prompts, with M = E h h^T of the training tasks and A = E w h^T:

    n (1 - lambda/nu) = d tr M (M + nu)^-1,   G_nu = A (M + nu)^-1,
    e_IDG = e_IDG(G_nu) / (1 - (d/n) tr M^2 (M + nu)^-2),
    e_ICL = e_ICL(G_nu) + e_IDG (d/n) tr M_ICL M (M + nu)^-2

`equivalent` takes M of the run's own tasks at its d, l and n, `limit` that of the limit d -> inf at
l = alpha d, k = kappa d, n = tau d^2. At lambda = 0 the latter is Result 1 of the source, as
`published` has it. Both count prompts as if Z were Gaussian with its moments: not proved here.

Source: arXiv 2405.11751 (moments, Result 1) and its authors' public code, which has the limits of
e_ICL for lambda > 0 and of e_IDG for lambda -> 0; derived again here. `equivalent`, `stopped` and
the limit of e_IDG for lambda > 0 are ours.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.core.config import Size
from jaxtheory.ops import linalg
from jaxtheory.theories.task_diversity.model import Config, Data, Params

HALVINGS = 100  # of the interval of nu


class Moments(NamedTuple):
    """Moments of a prompt, h = (q, beta)."""

    second: Float[Array, "h h"]  # E h h^T, h = d + 1
    cross: Float[Array, "d h"]  # E w h^T
    total: Float[Array, ""]  # E y^2


class Errors(NamedTuple):
    """Errors on prompts with a fresh task and with one of the training tasks."""

    icl: Float[Array, ""]
    idg: Float[Array, ""]


class Scales(NamedTuple):
    """The four numbers of the limit."""

    x: Float[Array, ""]  # (1 + rho) / alpha
    tau: Float[Array, ""]  # n / d^2
    inverse: Float[Array, ""]  # 1 / kappa = d / k, 0 for fresh tasks
    rho: Float[Array, ""]


def task_moments(tasks: Float[Array, "k d"], config: Data) -> Moments:
    """The moments of prompts whose task is uniform among these."""
    l, d = (jnp.asarray(Size.wrap(n).real, float) for n in (config.length, config.dimension))
    weight = Size.wrap(config.num_tasks).weights()
    s = jnp.sum(tasks**2, axis=1) / d + config.noise_variance
    R = tasks.T @ (weight[:, None] * tasks)
    mean, total = (weight * s) @ tasks, jnp.sum(weight * s)
    eye = jnp.diag(Size.wrap(config.dimension).mask().astype(float))
    block = d / l * total * eye + (1 + 1 / l) * R
    return _assemble(jnp.sum(weight * s**2), (1 + 2 / l) * mean, block, mean, R, total, l)


def fresh_moments(config: Data) -> Moments:
    """The moments of prompts with a fresh task, uniform on the sphere of radius sqrt(d)."""
    l, d = (jnp.asarray(Size.wrap(n).real, float) for n in (config.length, config.dimension))
    s = 1 + jnp.asarray(config.noise_variance, float)
    eye = jnp.diag(Size.wrap(config.dimension).mask().astype(float))
    zero = jnp.zeros(len(eye))
    return _assemble(s**2, zero, (d / l * s + 1 + 1 / l) * eye, zero, eye, s, l)


def _assemble(
    power: Array, edge: Array, block: Array, mean: Array, R: Array, total: Array, l: Array
) -> Moments:
    """The moments of their blocks; power is the mean of s^2."""
    first = jnp.append((1 + 2 / l) * power, edge)[None, :]
    second = jnp.concatenate([first, jnp.concatenate([edge[:, None], block], axis=1)])
    return Moments(second, jnp.concatenate([mean[:, None], R], axis=1), total)


def seen_moments(tasks: Float[Array, "k d"], config: Data) -> Moments:
    """The moments of the training prompts: of these tasks, or of fresh ones."""
    return fresh_moments(config) if config.tasks == "fresh" else task_moments(tasks, config)


def error(params: Params, moments: Moments, config: Data) -> Float[Array, ""]:
    """The error E (y - f)^2 of weights, with the noise of y."""
    d = jnp.asarray(Size.wrap(config.dimension).real, float)
    G = jnp.concatenate([params.gamma[:, None], params.Gamma], axis=1)
    return moments.total + jnp.sum(G * (G @ moments.second - 2 * moments.cross)) / d


def errors(params: Params, tasks: Float[Array, "k d"], config: Data) -> Errors:
    """The two errors of weights."""
    train_moments, fresh = seen_moments(tasks, config), fresh_moments(config)
    return Errors(error(params, fresh, config), error(params, train_moments, config))


def best(config: Data) -> Float[Array, ""]:
    """The least e_ICL of any weights: rho + 1 - 1 / (1 + (1 + d (1 + rho)) / l)."""
    l, d = (jnp.asarray(Size.wrap(n).real, float) for n in (config.length, config.dimension))
    s = 1 + jnp.asarray(config.noise_variance, float)
    return s - 1 / (1 + (1 + d * s) / l)


def bayes(config: Data) -> Float[Array, ""]:
    """The limit of the error of the posterior mean on fresh tasks, ridge regression on the prompt:

    rho + z M_alpha(z),  z = rho / alpha,  M_alpha = m of `stieltjes` at kappa = alpha
    """
    l, d = (jnp.asarray(Size.wrap(n).real, float) for n in (config.length, config.dimension))
    rho, inverse = jnp.asarray(config.noise_variance, float), d / l
    z = rho * inverse
    b = z + 1 - inverse
    return rho + (jnp.sqrt(b**2 + 4 * z * inverse) - b) / (2 * inverse)


def scales(config: Data) -> Scales:
    """The numbers of the limit at the sizes of a config."""
    l, d, n, k = (
        jnp.asarray(Size.wrap(size).real, float)
        for size in (config.length, config.dimension, config.num_prompts, config.num_tasks)
    )
    rho = jnp.asarray(config.noise_variance, float)
    inverse = jnp.zeros(()) if config.tasks == "fresh" else d / k
    return Scales((1 + rho) * d / l, n / d**2, inverse, rho)


def stieltjes(z: Float[Array, ""], inverse: Float[Array, ""]) -> tuple[Array, Array]:
    """m(z) = lim (1/d) tr (R + z)^-1 and -m'(z), R = (1/k) sum_j w_j w_j^T, inverse = lim d/k:

    m = 2 / (b + sqrt(b^2 + 4 z inverse)),  b = z + 1 - inverse,  for z > 0
    """
    b = z + 1 - inverse
    root = jnp.sqrt(b**2 + 4 * z * inverse)
    m = 2 / (b + root)
    return m, m * (1 + inverse * m) / root


def published(config: Data) -> Float[Array, ""]:
    """e_ICL for lambda = 0 as the source prints it (Result 1); infinite at tau = 1.

    With x = (1 + rho)/alpha, M_kappa = m of `stieltjes`, m = M_kappa(x), mu = x M_(kappa/tau)(x):

    tau < 1   tau (1 + x) / (1 - tau) (1 - tau (1 - mu)^2 - mu (x - rho)/x)
              - 2 tau (1 - mu) + rho + 1
    tau > 1   (K - 1/(tau - 1)) (1 + x) (x m)^2 + (3 - 2 tau)/(tau - 1) m x^2
              + ((1 + rho) m/(tau - 1) + 1) x + rho m/(tau - 1) + rho

    with K = 1/(1 - kappa (m/(kappa + m))^2).
    """
    x, tau, inverse, rho = scales(config)
    m, _ = stieltjes(x, inverse)
    mu = x * stieltjes(x, inverse * tau)[0]
    over = tau - 1
    few_prompts = tau * (1 + x) / (1 - tau) * (1 - tau * (1 - mu) ** 2 - mu * (x - rho) / x)
    few_prompts = few_prompts - 2 * tau * (1 - mu) + rho + 1
    K = 1 / (1 - inverse * (m / (1 + inverse * m)) ** 2)
    many_prompts = (K - 1 / over) * (1 + x) * (x * m) ** 2 + (3 - 2 * tau) / over * m * x**2
    many_prompts = many_prompts + ((1 + rho) * m / over + 1) * x + rho * m / over + rho
    return jnp.where(tau > 1, many_prompts, few_prompts)  # few_prompts is infinite at tau = 1


def limit(config: Config) -> Errors:
    """The errors of the minimum in the limit, for any lambda >= 0; infinite at tau = 1, lambda = 0.

    (1/d) tr of functions of R come from m and m' of `stieltjes` at z = x + nu. Derived again;
    e_ICL for lambda = 0 is Result 1, and the authors' code has e_ICL for any lambda, e_IDG for 0.
    """
    x, tau, inverse, rho = scales(config)
    ridge = jnp.asarray(config.ridge, float)
    nu = _root(lambda nu: 1 - nu * stieltjes(x + nu, inverse)[0], tau, ridge, 1 + x)
    z = x + nu
    m, m2 = stieltjes(z, inverse)
    one, two = 1 - z * m, 1 - 2 * z * m + z**2 * m2  # tr R/(R + z) and tr R^2/(R + z)^2, over d
    square = 1 - z * one  # tr R^2 / (R + z)
    cube = square - z * (one - z * (m - z * m2))  # tr R^3 / (R + z)^2
    mean = Errors(1 + rho - 2 * one + (1 + x) * two, 1 + rho - 2 * square + x * two + cube)
    degrees = 1 - 2 * nu * m + nu**2 * m2
    return _with_variance(mean, degrees, (1 + x) * (m - nu * m2), tau)


def equivalent(tasks: Float[Array, "k d"], config: Config) -> Errors:
    """The errors of the minimum by the tasks, d, l and n of a run, for any lambda >= 0. Derived.

    Directions that no prompt has (as with one task and no noise, where q = <w, beta> / d) are left
    out. Infinite at lambda = 0 where the others are as many as the prompts.
    """
    train_moments, fresh = seen_moments(tasks, config), fresh_moments(config)
    d, n = (jnp.asarray(Size.wrap(s).real, float) for s in (config.dimension, config.num_prompts))
    values, vectors = linalg.eigh(train_moments.second)
    nonzero = values > jnp.finfo(values.dtype).eps * len(values) * values[-1]
    values = jnp.where(nonzero, values, 0)
    ridge = jnp.asarray(config.ridge, float)
    reached = lambda nu: linalg.quotient(values, values + nu)
    nu = _root(lambda nu: jnp.sum(reached(nu)) / d, n / d**2, ridge, jnp.sum(values) / d)
    inverse = linalg.quotient(nonzero.astype(values.dtype), values + nu)
    G = (train_moments.cross @ vectors * inverse[None, :]) @ vectors.T
    mean = errors(Params(G[:, 1:], G[:, 0]), tasks, config)
    second_moments = jnp.sum(vectors * (fresh.second @ vectors), axis=0)
    spread = jnp.sum(second_moments * reached(nu) * inverse) / d
    return _with_variance(mean, jnp.sum(reached(nu) ** 2) / d, spread, n / d**2)


def _root(share: Callable, tau: Array, ridge: Array, total: Array) -> Float[Array, ""]:
    """The root nu >= lambda of tau (1 - lambda/nu) = share(nu) <= total / nu.

    share falls with nu. Where all are too large, nu is as good as 0: far below the rounding of what
    it is added to.
    """

    def halve(_: Array | int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        nu = (low + high) / 2
        small = tau * (1 - ridge / nu) < share(nu)
        return jnp.where(small, nu, low), jnp.where(small, high, nu)

    low, high = jax.lax.fori_loop(0, HALVINGS, halve, (ridge, ridge + total / tau))
    return (low + high) / 2


def _with_variance(mean: Errors, degrees: Array, spread: Array, tau: Array) -> Errors:
    """Errors of the mean weights and what the choice of the prompts adds.

    degrees and spread are over d^2 and 1.
    """
    residual_degrees = 1 - degrees / tau
    none = residual_degrees <= 4096 * jnp.finfo(residual_degrees.dtype).eps
    idg = jnp.where(none, jnp.inf, mean.idg / residual_degrees)
    return Errors(mean.icl + idg / tau * spread, idg)


def stopped(tasks: Float[Array, "k d"], t: Float[Array, " T"], config: Config) -> Errors:
    """The errors of `equivalent` for the penalty that stands for t steps of descent from 0:

    lambda + d / (2 eta t), as 1 - (1 - 2 eta c)^t is near c / (c + 1/(2 eta t))
    """
    d = jnp.asarray(Size.wrap(config.dimension).real, float)

    def after(time: Array) -> Errors:
        more = d / (2 * config.learning_rate * jnp.maximum(time, 1))
        ridge_errors = equivalent(tasks, config.replace(ridge=config.ridge + more))
        zero = seen_moments(tasks, config).total
        start = Errors(1 + jnp.asarray(config.noise_variance, float), zero)
        return Errors(
            *(jnp.where(time > 0, a, b) for a, b in zip(ridge_errors, start, strict=True))
        )

    return jax.lax.map(after, jnp.asarray(t, float))
