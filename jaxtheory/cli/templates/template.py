"""How fast does SGD find the mean of a Gaussian?

A whole theory in one file: x ~ N(mu, sigma^2 I_d), loss = mean over the batch of |w - x|^2 / 2, SGD
on fresh batches from w = 0. Replace it part by part, and run `jaxtheory verify FILE.py` after each.

| symbol | code              | shape  |                                   |
|--------|-------------------|--------|-----------------------------------|
| mu     | Problem.mean      | (d,)   | drawn once, uniform on the sphere |
| x      | Batch.inputs      | (B, d) | fresh samples of a step           |
| w      | Params.weights    | (d,)   |                                   |
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory import (
    Algorithm,
    Check,
    Claim,
    Config,
    Figure,
    Size,
    Theory,
    draws,
    linalg,
    plot,
    size,
    sizes,
    traced,
)
from jaxtheory.claims import Measure, at_most, derived, last


class Settings(Config):
    """Hyper-parameters: what a sweep may vary."""

    dimension: Size = size(10, "d", "number of weights")
    batch_size: Size = size(8, "B", "fresh samples per step")
    learning_rate: float = traced(0.1, "eta", "step size of SGD", "(0, 1]")
    noise: float = traced(1.0, "sigma", "standard deviation of a sample", "[0, inf)")


class Problem(NamedTuple):
    """What is drawn once per run."""

    mean: Float[Array, " d"]


class Batch(NamedTuple):
    """What is drawn at each step; entries beyond B and d are zero."""

    inputs: Float[Array, "B d"]


class Params(NamedTuple):
    """What is trained."""

    weights: Float[Array, " d"]


def problem(key, config):
    """The mean mu, uniform on the unit sphere."""
    return Problem(linalg.unit(draws.normal(key, config.dimension)))


def sample(key, problem, config):
    """B fresh samples."""
    noise = config.noise * draws.normal(key, config.batch_size, config.dimension)
    return Batch(draws.masked(problem.mean[None, :] + noise, config.batch_size))


def init(key, problem, config):
    """w = 0."""
    return Params(jnp.zeros_like(problem.mean))


def loss(params, batch, problem, config):
    """L(w) = 1/(2B) sum_b |w - x_b|^2."""
    gaps = params.weights[None, :] - batch.inputs
    return sizes.mean(jnp.sum(gaps**2, axis=1), config.batch_size) / 2


def gradient(params, batch, problem, config):
    """dL/dw = w - 1/B sum_b x_b."""
    return Params(params.weights - sizes.mean(batch.inputs, config.batch_size))


def step(key, t, state, batch, problem, config):
    """w <- w - eta dL/dw."""
    slope = gradient(state, batch, problem, config)
    return jax.tree.map(lambda w, g: w - config.learning_rate * g, state, slope)


def metrics(params, problem, config):
    """What is recorded, a line for each.

    error  |w - mu|^2
    """
    return {"error": jnp.sum((params.weights - problem.mean) ** 2)}


def predict(problem, config, steps):
    """E |w_t - mu|^2 = (1 - eta)^(2t) + floor (1 - (1 - eta)^(2t)), exactly.

    floor = eta sigma^2 d / (B (2 - eta)): e <- (1 - eta)^2 e + eta^2 sigma^2 d / B keeps it.
    """
    d, B, eta = config.dimension.real, config.batch_size.real, config.learning_rate
    decay = (1 - eta) ** (2 * jnp.asarray(steps, float))
    floor = eta * config.noise**2 * d / (B * (2 - eta))
    return {"error": decay + floor * (1 - decay)}


def error_by_recursion(key, config):
    """The closed form and three steps of e <- (1 - eta)^2 e + eta^2 sigma^2 d / B from e = 1."""
    d, B, eta = config.dimension.real, config.batch_size.real, config.learning_rate
    error, errors = jnp.ones(()), []
    for _ in range(4):
        errors.append(error)
        error = (1 - eta) ** 2 * error + eta**2 * config.noise**2 * d / B
    return predict(problem(key, config), config, jnp.arange(4))["error"], jnp.stack(errors)


THEORY = Theory(
    name="template",
    Config=Settings,
    problem=problem,
    sample=sample,
    init=init,
    loss=loss,
    gradient=gradient,
    algorithms={"sgd": Algorithm(init, step)},
    metrics=metrics,
    predict=predict,
    checks=(Check("predict: step by step", "derived", "equal", error_by_recursion),),
    examples=(Settings(dimension=3, batch_size=2), Settings(dimension=1, batch_size=1, noise=0.0)),
)


def gap(data):
    """|simulated / predicted error - 1| of one run at the end, for each B."""
    end = last(data)
    return abs(end.error / end.predicted_error - 1)


def draw(data):
    """The error against t for each batch size, and the theory."""
    figure, ((ax,),) = plot.panels(1, title=f"SGD finds a mean, {data.sizes['seed']} seeds")
    for color, B in enumerate(data.batch_size.values):
        at = data.sel(batch_size=B)
        plot.series(ax, at.error, "step", f"B = {B}", color=color, markers=False)
        curve = at.predicted_error.mean("seed")
        plot.theory(ax, data.step.values, curve, "theory" if color == 0 else "", color=color)
    plot.finish(ax, "step t", "|w - mu|^2", yscale="log")
    return figure


FIGURE = Figure(
    name="template",
    source="derived",
    theory=THEORY,
    config=Settings(dimension=100),
    sweep={"vary": {"batch_size": [2, 8, 32]}, "seeds": 32, "steps": 60},
    quick={"steps": 40},
    draw=draw,
    claims=(
        Claim(
            "T-1",
            origin=derived(),
            statement="A run ends within 30 % of the closed form of its error, for every B.",
            measure=Measure("|error / closed form - 1| at the end, for each B", gap),
            bound=at_most(0.3),
        ),
    ),
)
