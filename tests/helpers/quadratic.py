"""Gradient descent on h w^2 / 2 with a curvature h of each seed: every boundary is known."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxtheory import Algorithm, Theory, draws, evaluation, static, traced
from jaxtheory import Config as Base


class Config(Base):
    eta: float = traced(0.1, "eta", "step size", "(0, inf)")
    scale: float = traced(1.0, "s", "factor of the curvature", "(0, inf)")
    cut: float = evaluation(1.0, "c", "limit of the metric `inside`", "(0, inf)")
    kind: str = static("plain", "kind", "unused", ("plain", "other"))


class Problem(NamedTuple):
    curvature: jax.Array


def problem(key, config):
    return Problem(config.scale * jnp.exp(draws.normal(key, 1)[0] / 3))


def sample(_key, _problem, _config):
    return ()


def init(_key, problem, _config):
    return jnp.ones_like(problem.curvature)


def loss(params, _batch, problem, _config):
    return problem.curvature * params**2 / 2


def gradient(params, _batch, problem, _config):
    return problem.curvature * params


def metrics(params, problem, config):
    return {
        "distance": abs(params),
        "curvature": problem.curvature,
        "inside": jnp.where(problem.curvature < config.cut, 1.0, 0.0),
    }


def step(_key, _t, state, batch, problem, config):
    return state - config.eta * gradient(state, batch, problem, config)


THEORY = Theory(
    name="quadratic",
    Config=Config,
    problem=problem,
    sample=sample,
    init=init,
    loss=loss,
    gradient=gradient,
    algorithms={"gd": Algorithm(init, step)},
    metrics=metrics,
)
