"""Laws of the population: loss, minimum, plateaus, and the runs from aligned starts.

With W = E w w^T = (1 - c) I + c w0 w0^T,

    E y beta x^T = Lambda W Lambda
    E beta beta^T = (1 + 1/N) Lambda W Lambda + tr(Lambda W) Lambda / N =: E
    L(A) = tr(Lambda W) - 2 <Lambda W Lambda, A> + <A, E A Lambda>

Source: arXiv 2501.16265 (plateaus, logistic curve) and 2306.09927 (minimum), derived again; the
moments with in-weight tasks and the descent from aligned starts are ours.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxtheory.core.config import Size
from jaxtheory.ops import linalg, positions, sizes
from jaxtheory.theories.in_context_regression import model
from jaxtheory.theories.in_context_regression.model import Config, Data


class Population(NamedTuple):
    """Moments of the population. Lambda is diagonal, so x and beta need no fourth moments."""

    spectrum: Float[Array, " D"]  # the diagonal of Lambda
    c: Float[Array, ""]  # E y^2 = tr(Lambda W)
    b: Float[Array, "D D"]  # E y beta x^T = Lambda W Lambda
    E: Float[Array, "D D"]  # E beta beta^T


def population(task: Float[Array, " D"], config: Data) -> Population:
    """The moments of the population whose share c of prompts has this task."""
    spectrum, share = model.eigenvalues(config), config.in_weight_share
    N = jnp.asarray(Size.wrap(config.length).real, float)
    eye = sizes.eye(Size.wrap(config.dimension))
    W = (1 - share) * eye + share * task[:, None] * task[None, :]
    b = spectrum[:, None] * W * spectrum[None, :]
    c = jnp.sum(spectrum * jnp.diag(W))
    return Population(spectrum, c, b, (1 + 1 / N) * b + c / N * jnp.diag(spectrum))


def loss(A: Float[Array, "D D"], law: Population) -> Float[Array, ""]:
    """The population loss L(A)."""
    return law.c - 2 * jnp.sum(law.b * A) + jnp.sum(A * (law.E @ A * law.spectrum[None, :]))


def slope(A: Float[Array, "D D"], law: Population) -> Float[Array, "D D"]:
    """dL/dA = 2 (E A Lambda - Lambda W Lambda)."""
    return 2 * (law.E @ A * law.spectrum[None, :] - law.b)


def minimum(law: Population) -> Float[Array, "D D"]:
    """The minimum A = E^-1 Lambda W of L; ((1 + 1/N) Lambda + tr(Lambda) I / N)^-1 for c = 0."""
    valid = law.spectrum > 0
    E = law.E + jnp.diag(jnp.where(valid, 0, 1))
    return linalg.solve(E, law.b / jnp.where(valid, law.spectrum, 1)[None, :])


def shares(config: Config) -> tuple[Float[Array, " D"], Float[Array, " D"]]:
    """The diagonal of the minimum for c = 0, and the loss that each component takes off:

    a_d = 1 / (lambda_d (1 + (1 + tr Lambda / lambda_d) / N)),   lambda_d^2 a_d
    """
    spectrum = model.eigenvalues(config)
    N = jnp.asarray(Size.wrap(config.length).real, float)
    a = linalg.quotient(jnp.ones_like(spectrum), spectrum + (spectrum + config.total_variance) / N)
    a = jnp.where(spectrum > 0, a, 0)
    return a, spectrum**2 * a


def plateaus(config: Config) -> Float[Array, " levels"]:
    """The losses L_0 .. L_D at which the first m components are learned, for c = 0:

    L_m = tr Lambda - sum_{d <= m} lambda_d / (1 + (1 + tr Lambda / lambda_d) / N)

    Levels beyond a padded D repeat L_D. Source: 2501.16265, the losses at its saddles.
    """
    _, gains = shares(config)
    return config.total_variance - jnp.concatenate([jnp.zeros(1), jnp.cumsum(gains)])


def logistic(t: Float[Array, " T"], config: Config) -> Float[Array, " T"]:
    """The loss of the merged form after t steps of small rate from the aligned start, a = 0, c = 0:

    s(t) = s* / (1 + (s* / s_0 - 1) exp(-4 sqrt(D) lambda^2 eta t)),  s_0 = H sigma^2,
    s* = sqrt(D) / (lambda (1 + (1 + D) / N)),  L = tr Lambda (1 - (lambda / sqrt(D)) s (2 - s/s*))

    with A = s I / sqrt(D). Source: 2501.16265, for a loss without the factor 1/2; derived again.
    """
    D, H, N = (
        jnp.asarray(Size.wrap(n).real, float)
        for n in (config.dimension, config.heads, config.length)
    )
    lam, root = config.total_variance / D, jnp.sqrt(D)
    end = root / (lam * (1 + (1 + D) / N))
    first = H * config.initial_scale**2
    decay = jnp.exp(-4 * root * lam**2 * config.learning_rate * t)
    s = end / (1 + (end / first - 1) * decay)
    return config.total_variance * (1 - lam / root * s * (2 - s / end))


def aligned_run(config: Config, count: int) -> Float[Array, " count"]:
    """The losses of the first `count` states of `population` from the aligned start, for c = 0.

    The run stays diagonal, so it has few numbers. With e_d = lambda_d / a_d the entry of
    E beta beta^T, and g_d = 2 (e_d lambda_d A_dd - lambda_d^2),

    merged      v <- v - eta sum_d u_d g_d,  u_d <- u_d - eta v g_d,  A_dd = H v u_d
    separate    s_d <- s_d - eta s_d^2 g_d,  A_dd = n_d s_d^3,  where n_d heads have component d

    for rank 1 in the separate form, and NaN otherwise.
    """
    a, gains = shares(config)
    spectrum = model.eigenvalues(config)
    e = linalg.quotient(spectrum, a)
    valid, sigma, eta = spectrum > 0, config.initial_scale, config.learning_rate
    heads, D = (jnp.asarray(Size.wrap(x).real, float) for x in (config.heads, config.dimension))
    n = heads_of(config)

    def state(v: Array, u: Array) -> Array:
        return heads * v * u if config.form != "separate" else n * u**3

    def step(carry: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        v, u = carry
        A = state(v, u)
        g = jnp.where(valid, 2 * spectrum * (e * A - spectrum), 0)
        lost = config.total_variance - jnp.sum(gains) + jnp.sum(spectrum * e * (A - a) ** 2)
        if config.form == "separate":
            return (v, u - eta * u**2 * g), lost
        return (v - eta * jnp.sum(u * g), u - eta * v * g), lost

    first = sigma if config.form == "separate" else sigma / jnp.sqrt(D)
    u = jnp.where(valid, first, 0.0)
    _, losses = jax.lax.scan(step, (jnp.asarray(sigma, float), u), None, length=count)
    return jnp.where(_of_rank_one(config), losses, jnp.nan)


def heads_of(config: Config) -> Float[Array, " D"]:
    """The number n_d of heads that have component d at the aligned start of rank 1."""
    H, D = Size.wrap(config.heads), Size.wrap(config.dimension)
    order = positions.indices(D.cap)
    n = (jnp.asarray(H.n, jnp.int32) - 1 - order) // jnp.asarray(D.n, jnp.int32) + 1
    return jnp.where(D.mask(), n, 0).astype(float)


def _of_rank_one(config: Config) -> Bool[Array, ""]:
    """True unless separate weights have a rank above 1."""
    return jnp.asarray(config.form != "separate") | (jnp.asarray(config.rank.n) == 1)


def escape_steps(config: Config) -> Float[Array, " D"]:
    """The steps after which a head of rank 1 leaves the start for component d:

    1 / (2 lambda_d^2 sigma eta), from s' = 2 lambda_d^2 s^2 with v = |k| = |q| = s, s(0) = sigma

    Infinite for padded components. Derived; the correction is of relative order sigma.
    """
    spectrum = model.eigenvalues(config)
    rate = 2 * spectrum**2 * config.initial_scale * config.learning_rate
    return jnp.where(spectrum > 0, 1 / jnp.where(spectrum > 0, rate, 1), jnp.inf)


def curvature(config: Config) -> Float[Array, ""]:
    """The largest eigenvalue of the Hessian of L at the minimum that aligned heads reach, c = 0.

    Descent there is stable for eta < 2 / curvature. With e_d = lambda_d / a_d, n_d heads for
    component d and s_d = (a_d / n_d)^(1/3), the Hessian of the separate form of rank 1 is a sum
    over the entries of A, with the eigenvalues

        6 e_d lambda_d n_d s_d^4,    2 e_d lambda_l (n_d s_d^4 + n_l s_l^4),  d != l

    That of the merged form has 2 |a| e_d lambda_l for the entries off the diagonal, and on the
    diagonal the eigenvalues of F (|a| I + a a^T / |a|) F, F = diag(2 e_d lambda_d)^(1/2).

    It is NaN for separate weights of rank above 1, and where a component has no head. Derived.
    """
    a, _ = shares(config)
    spectrum = model.eigenvalues(config)
    e = linalg.quotient(spectrum, a)
    products = 2 * e[:, None] * spectrum[None, :]
    off = 1 - jnp.eye(len(a))
    if config.form == "separate":
        n = heads_of(config)
        weight = n * jnp.cbrt(linalg.quotient(a, n)) ** 4
        pairs = products * (weight[:, None] + weight[None, :]) * off
        largest = jnp.max(pairs + jnp.diag(3 * jnp.diag(products) * weight))
        missing = jnp.any((n == 0) & (spectrum > 0))
        return jnp.where(_of_rank_one(config) & ~missing, largest, jnp.nan)
    norm, F = jnp.sqrt(jnp.sum(a**2)), jnp.sqrt(jnp.diag(products))
    block = F[:, None] * (norm * jnp.eye(len(a)) + a[:, None] * a[None, :] / norm) * F[None, :]
    return jnp.maximum(jnp.max(norm * products * off), linalg.eigvalsh(block)[-1])
