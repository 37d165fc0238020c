"""Online linear regression: a whole theory in one file.

It is the worked example of docs/add-your-theory.md.

x ~ N(0, I_d), y = <w*, x> + sigma * noise, loss = mean over the batch of (<w, x> - y)^2 / 2, plain
SGD from zero on fresh batches.

| symbol | code                 | shape  |                                    |
|--------|----------------------|--------|------------------------------------|
| w*     | Problem.truth        | (d,)   | planted weights, uniform on sphere |
| x, y   | Batch.inputs, .labels| (B, d), (B,) |                              |
| w      | Params.weights       | (d,)   |                                    |
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory import Algorithm, Check, Size, Theory, draws, evaluation, linalg, size, traced
from jaxtheory import Config as BaseConfig


class Config(BaseConfig):
    """Hyper-parameters."""

    dimension: Size = size(10, "d", "number of weights")
    batch_size: Size = size(8, "B", "fresh samples per step")
    learning_rate: float = traced(0.1, "eta", "step size of SGD", "(0, inf)")
    noise: float = traced(0.1, "sigma", "standard deviation of the label noise", "[0, inf)")
    threshold: float = evaluation(0.05, "theta", "weights below it are rounded to zero", "[0, inf)")


class Problem(NamedTuple):
    """The planted weights."""

    truth: Float[Array, " d"]


class Batch(NamedTuple):
    """Inputs and labels."""

    inputs: Float[Array, "B d"]
    labels: Float[Array, " B"]


class Params(NamedTuple):
    """Weights."""

    weights: Float[Array, " d"]


def problem(key, config):
    """w* uniform on the unit sphere."""
    return Problem(linalg.unit(draws.normal(key, config.dimension)))


def sample(key, problem, config):
    """B fresh samples; padded ones are zero."""
    key_inputs, key_noise = jax.random.split(key)
    inputs = draws.normal(key_inputs, config.batch_size, config.dimension)
    return Batch(
        inputs, inputs @ problem.truth + config.noise * draws.normal(key_noise, config.batch_size)
    )


def init(key, problem, config):
    """w = 0."""
    return Params(jnp.zeros_like(problem.truth))


def loss(params, batch, problem, config):
    """L(w) = 1/(2B) sum_b (<w, x_b> - y_b)^2."""
    residual = batch.inputs @ params.weights - batch.labels
    return jnp.sum(residual**2) / (2 * config.batch_size.real)


def gradient(params, batch, problem, config):
    """dL/dw = 1/B sum_b (<w, x_b> - y_b) x_b."""
    residual = batch.inputs @ params.weights - batch.labels
    return Params(residual @ batch.inputs / config.batch_size.real)


def sgd_init(key, problem, config):
    """The state is Params itself."""
    return init(key, problem, config)


def sgd_step(key, t, state, batch, problem, config):
    """w <- w - eta dL/dw."""
    return jax.tree.map(
        lambda w, g: w - config.learning_rate * g, state, gradient(state, batch, problem, config)
    )


def sgd_params(state, problem, config):
    return state


def metrics(params, problem, config):
    """Of the population.

    loss          |w - w*|^2/2 + sigma^2/2
    rounded_loss  the same after rounding weights below theta to zero
    weights       w
    """
    rounded = jnp.where(jnp.abs(params.weights) < config.threshold, 0, params.weights)
    risk = lambda w: jnp.sum((w - problem.truth) ** 2) / 2 + config.noise**2 / 2
    return {"loss": risk(params.weights), "rounded_loss": risk(rounded), "weights": params.weights}


def predict(problem, config, steps):
    """Return E L at step t, exactly.

    With e_t = E|w_t - w*|^2, e_(t+1) = (1 - 2 eta + eta^2 (B + d + 1)/B) e_t + eta^2 sigma^2 d/B.
    """
    d, b, eta = config.dimension.real, config.batch_size.real, config.learning_rate
    rate = 1 - 2 * eta + eta**2 * (b + d + 1) / b
    floor = eta**2 * config.noise**2 * d / b / (1 - rate)
    return {"loss": ((1 - floor) * rate ** jnp.asarray(steps, float) + floor + config.noise**2) / 2}


def assumptions(problem, config):
    """SGD is stable when its rate is below 1, that is eta < 2B/(B + d + 1)."""
    margin = (
        2 * config.batch_size.real / (config.batch_size.real + config.dimension.real + 1)
        - config.learning_rate
    )
    return {"stable step": (margin > 0, margin)}


def check_predict(key, config):
    """One step of the recursion against the mean over 4000 batches."""
    p = problem(key, config)
    step = lambda k: metrics(
        sgd_step(k, 0, init(k, p, config), sample(k, p, config), p, config), p, config
    )["loss"]
    losses = jax.vmap(step)(jax.random.split(key, 4000))
    return (
        jnp.mean(losses),
        predict(p, config, jnp.array([1]))["loss"][0],
        jnp.std(losses) / 4000**0.5,
    )


THEORY = Theory(
    name="linear_regression",
    Config=Config,
    problem=problem,
    sample=sample,
    init=init,
    loss=loss,
    gradient=gradient,
    algorithms={"sgd": Algorithm(sgd_init, sgd_step, sgd_params)},
    metrics=metrics,
    dims={"weights": ("coordinate",)},
    predict=predict,
    assumptions=assumptions,
    checks=(Check("predict: mean over batches", "worked example", "sample", check_predict),),
    examples=(Config(dimension=3, batch_size=2), Config(dimension=1, batch_size=1, noise=0.0)),
)
