"""Classes of unequal frequency: a bigram whose attended position is known, on tokens of Zipf's law.

With one attended position and attention on it, p = e_x for the attended token x, which is the
class, and only V (N, N) is trained:

    x ~ pi,   pi_k ~ k^-a,   y ~ P[:, x],   P = (1 - eps) I + eps pi 1^T

so that P pi = pi. The loss is the cross-entropy -log softmax(V e_x)[y], or 1/2 |e_y - V e_x|^2 as
in the rest of the theory. V starts at 0, and t counts steps of rate eta.

    sgd, cross-entropy, eps = 0     m of class k from e^m - 1 + (N - 1) m = N pi_k eta t, hence
                                    loss ~ (N - 1) / (N pi_k eta t)
    sign, cross-entropy, eps = 0    m = 2 eta t (1 - (1 - pi_k)^B)
    sgd, cross-entropy, eps > 0     excess loss at the end eta (1 - |P_k|^2) / (4 B)
    sgd, squared error              1/2 |P_k|^2 exp(-2 pi_k eta t)
    preconditioned, squared error   1/2 |P_k|^2 exp(-2 eta t)

m is the margin of the right logit over the others, and the loss of a class is log(1 + (N - 1)
e^-m).
Source: arXiv 2402.19449 has the orders 1 / (pi_k t) and e^(-c t) of the first two in continuous
time. The constants and the other laws are derived.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.scipy.special import xlogy
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from jaxtheory.core import config as fields
from jaxtheory.core.config import Size, size, traced
from jaxtheory.core.from_optax import InitAndGradient, from_optax
from jaxtheory.core.theory import Algorithm, Theory
from jaxtheory.ops import draws
from jaxtheory.theories.contextual_bigram import data

NEWTON = 40  # steps, more than enough from above, where the equation is convex


class Config(fields.Config):
    """Hyper-parameters."""

    num_states: Size = size(10, "N", "tokens, which are the classes", "[2, inf)")
    batch_size: Size = size(64, "B", "fresh samples per step")
    learning_rate: float = traced(1.0, "eta", "learning rate of V", "(0, inf)")
    zipf_exponent: float = traced(1.0, "a", "exponent of the frequencies pi_k ~ k^-a", "[0, inf)")
    label_noise: float = traced(0.0, "eps", "share of the labels that are drawn from pi", "[0, 1)")


class Problem(NamedTuple):
    """The frequencies pi (N,) and the transition P (N, N); zero beyond the sizes."""

    frequency: Float[Array, " N"]
    transition: Float[Array, "N N"]


class Batch(NamedTuple):
    """Attended tokens x and labels y, zero beyond the sizes."""

    token: Int[Array, " B"]
    label: Int[Array, " B"]


class Params(NamedTuple):
    """The value matrix V (N, N)."""

    value: Float[Array, "N N"]


def problem(_key: Array, config: Config) -> Problem:
    """Zipf's law and its transition, which are not random."""
    N = config.num_states
    rank = jnp.arange(1, N.cap + 1, dtype=float)
    weight = jnp.where(N.mask(), rank ** -jnp.asarray(config.zipf_exponent, float), 0)
    pi = weight / jnp.sum(weight)
    noise = jnp.asarray(config.label_noise, float)
    right = jnp.diag(N.mask().astype(float))
    return Problem(pi, (1 - noise) * right + jnp.where(N.mask()[None, :], noise * pi[:, None], 0))


def sample(key: Array, problem: Problem, config: Config) -> Batch:
    """Draw B pairs of an attended token and its label."""
    N, B = config.num_states, config.batch_size
    u = draws.stable(jax.random.uniform, key, B, 2)
    laws = jnp.broadcast_to(problem.frequency[None, :], (B.cap, N.cap))
    token = data.pick(u[:, 0], laws, N)
    label = data.pick(u[:, 1], problem.transition.T[token], N)
    return Batch(draws.masked(token, B), draws.masked(label, B))


def init(_key: Array, problem: Problem, _config: Config) -> Params:
    """V = 0, where all tokens are equally likely."""
    return Params(jnp.zeros_like(problem.transition))


def log_probabilities(params: Params, config: Config) -> Float[Array, "N N"]:
    """log softmax of the columns of V, over the valid tokens; 0 beyond."""
    valid = config.num_states.mask()[:, None]
    return jnp.where(valid, jax.nn.log_softmax(jnp.where(valid, params.value, -jnp.inf), axis=0), 0)


def loss(params: Params, batch: Batch, _problem: Problem, config: Config) -> Float[Array, ""]:
    """The mean cross-entropy of a batch."""
    log_p = log_probabilities(params, config)
    return -jnp.sum(config.batch_size.weights() * log_p[batch.label, batch.token])


def slope(predicted: Float[Array, "N N"], batch: Batch, config: Config) -> Float[Array, "N N"]:
    """The mean over a batch of (column x of `predicted` - e_y) e_x^T."""
    w, N = config.batch_size.weights(), config.num_states.cap
    count = jnp.zeros(N, w.dtype).at[batch.token].add(w)
    return predicted * count[None, :] - jnp.zeros((N, N), w.dtype).at[batch.label, batch.token].add(
        w
    )


def gradient(params: Params, batch: Batch, _problem: Problem, config: Config) -> Params:
    """The gradient of the mean cross-entropy: the softmax of column x minus e_y, at column x."""
    valid = config.num_states.mask()[:, None]
    softmax = jnp.where(valid, jnp.exp(log_probabilities(params, config)), 0)
    return Params(slope(softmax, batch, config))


def squared_gradient(params: Params, batch: Batch, _problem: Problem, config: Config) -> Params:
    """The gradient of the mean of 1/2 |e_y - V e_x|^2."""
    return Params(slope(params.value, batch, config))


def preconditioned_gradient(
    params: Params, batch: Batch, problem: Problem, config: Config
) -> Params:
    """The same times diag(1 / pi), as in algorithm 1 of the theory."""
    g = squared_gradient(params, batch, problem, config).value
    pi = problem.frequency
    return Params(g * jnp.where(pi > 0, 1 / jnp.where(pi > 0, pi, 1), 0)[None, :])


# Laws


def margin(s: Float[ArrayLike, "*n"], N: Float[ArrayLike, ""]) -> Float[Array, "*n"]:
    """The margin m after the time s = pi_k eta t: the root of e^m - 1 + (N - 1) m = N s.

    By symmetry the wrong logits of a class are equal, so m' = N / (e^m + N - 1) in s, from 0. The
    root is found by Newton's method from log(1 + N s), which is above it. Source: derived.
    """
    s, N = jnp.asarray(s, float), jnp.asarray(N, float)

    def step(_: Array, m: Array) -> Array:
        return m - (jnp.expm1(m) + (N - 1) * m - N * s) / (jnp.exp(m) + N - 1)

    return jax.lax.fori_loop(0, NEWTON, step, jnp.log1p(N * s))


def margin_loss(m: Float[ArrayLike, "*n"], N: Float[ArrayLike, ""]) -> Float[Array, "*n"]:
    """log(1 + (N - 1) e^-m), the cross-entropy of a class whose right logit leads by m."""
    return jnp.log1p((jnp.asarray(N, float) - 1) * jnp.exp(-jnp.asarray(m, float)))


def presence(problem: Problem, config: Config) -> Float[Array, " N"]:
    """1 - (1 - pi_k)^B, the probability that class k is in a batch.

    It is the speed of the class's logits under sign descent, which moves each by eta if the class
    is in the batch and by 0 if not.
    """
    return -jnp.expm1(config.batch_size.real * jnp.log1p(-problem.frequency))


def noise_floor(problem: Problem, config: Config) -> Float[Array, " N"]:
    """eta (1 - |P_k|^2) / (4 B), the excess loss at which SGD stays where labels are noisy.

    It holds to leading order in eta.

    At the optimum the gradient of column k has the Hessian pi_k H and the covariance pi_k H / B, H
    = diag(P_k) - P_k P_k^T. The column's covariance is then eta / (2 B) where 1^T v = 0, and the
    excess loss is half of tr H times this. The frequency cancels. Source: derived.
    """
    trace = 1 - jnp.sum(problem.transition**2, axis=0)
    B = jnp.asarray(config.batch_size.real, float)
    return jnp.where(config.num_states.mask(), config.learning_rate * trace / (4 * B), 0)


def metrics(params: Params, problem: Problem, config: Config) -> dict[str, Array]:
    """Return the losses of the population.

    loss         the mean cross-entropy minus its least value
    class_loss   the same of each class: sum_y P_yk log(P_yk / softmax(v_k)_y)
    class_error  1/2 |P_k - v_k|^2, the squared error minus its least value
    """
    P, pi = problem.transition, problem.frequency
    excess = jnp.sum(xlogy(P, P) - P * log_probabilities(params, config), axis=0)
    return {
        "loss": jnp.sum(pi * excess),
        "class_loss": excess,
        "class_error": jnp.sum((P - params.value) ** 2, axis=0) / 2,
    }


def predict(problem: Problem, config: Config, steps: Int[np.ndarray, " t"]) -> dict[str, Array]:
    """Return the laws at the given steps.

    class_loss: descent, sign, floor            cross-entropy; the first two for eps = 0
    class_error: descent, preconditioned        squared error
    """
    t = jnp.asarray(steps, float)[:, None]
    eta, pi = config.learning_rate, problem.frequency
    N, valid = config.num_states.real, config.num_states.mask()[None, :]
    least = jnp.sum(problem.transition**2, axis=0)[None, :] / 2
    shown = lambda values: jnp.where(valid, values, 0)
    return {
        "class_loss:descent": shown(margin_loss(margin(pi[None, :] * eta * t, N), N)),
        "class_loss:sign": shown(margin_loss(2 * eta * t * presence(problem, config)[None, :], N)),
        "class_loss:floor": jnp.broadcast_to(noise_floor(problem, config), (len(t), len(pi))),
        "class_error:descent": least * jnp.exp(-2 * pi[None, :] * eta * t),
        "class_error:preconditioned": least * jnp.exp(-2 * eta * t),
    }


def _moved(slopes: Callable, rule: Callable) -> Algorithm:
    """The algorithm that moves V by an optax optimizer along some gradient."""
    return from_optax(InitAndGradient(init, slopes), lambda config: rule(config.learning_rate))


THEORY = Theory(
    name="contextual_bigram_classes",
    Config=Config,
    problem=problem,
    sample=sample,
    init=init,
    loss=loss,
    gradient=gradient,
    algorithms={
        "sgd": _moved(gradient, optax.sgd),
        "sign": _moved(gradient, optax.sign_sgd),
        "squared": _moved(squared_gradient, optax.sgd),
        "preconditioned": _moved(preconditioned_gradient, optax.sgd),
    },
    metrics=metrics,
    dims={"class_loss": ("token",), "class_error": ("token",)},
    coords=lambda config: {"token": tuple(range(1, config.num_states.cap + 1))},
    predict=predict,
    examples=(Config(num_states=5, batch_size=7, learning_rate=0.5, label_noise=0.1),),
)
