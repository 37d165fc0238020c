"""A small theory with every kind of field, for programs that attack a store: noisy descent on the
squares of d weights.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory import Algorithm, Size, Theory, draws, evaluation, size, sizes, static, traced
from jaxtheory import Config as Base

FACTOR = 1.0  # of a step of gd
FRICTION = 0.5  # of heavy


class Config(Base):
    dimension: Size = size(3, "d", "number of weights")
    eta: float = traced(0.1, "eta", "step size", "(0, inf)")
    cut: float = evaluation(1.0, "c", "limit of the metric `inside`", "(0, inf)")
    kind: str = static("plain", "kind", "sign of the noise", ("plain", "other"))


class Problem(NamedTuple):
    drawn: Float[Array, " d"]


class Params(NamedTuple):
    weights: Float[Array, " d"]


class Heavy(NamedTuple):
    params: Params
    velocity: Float[Array, " d"]


def problem(key, config):
    return Problem(draws.normal(key, config.dimension))


def sample(key, _problem, config):
    return draws.normal(key, config.dimension)


def init(key, problem, config):
    return Params(draws.masked(1 + draws.normal(key, config.dimension) / 4, config.dimension))


def loss(params, batch, problem, _config):
    return jnp.sum(jnp.exp(problem.drawn / 3) * (params.weights + batch / 9) ** 2) / 2


def gradient(params, batch, problem, config):
    sign = 1.0 if config.kind == "plain" else -1.0
    return Params(jnp.exp(problem.drawn / 3) * (params.weights + sign * batch / 9))


def step(_key, _t, state, batch, problem, config):
    slope = gradient(state, batch, problem, config).weights
    return Params(state.weights - FACTOR * config.eta * slope)


def heavy_init(key, problem, config):
    params = init(key, problem, config)
    return Heavy(params, jnp.zeros_like(params.weights))


def heavy_step(_key, t, state, batch, problem, config):
    slope = gradient(state.params, batch, problem, config).weights
    velocity = FRICTION * state.velocity + slope / (1 + jnp.asarray(t, slope.dtype))
    return Heavy(Params(state.params.weights - config.eta * velocity), velocity)


def heavy_params(state, _problem, _config):
    return state.params


def metrics(params, problem, config):
    distance = sizes.total(params.weights**2, config.dimension)
    inside = jnp.where(distance < config.cut, 1.0, 0.0)
    return {
        "distance": distance,
        "weights": params.weights,
        "inside": inside,
        "drawn": problem.drawn,
    }


def analyses(params, _problem, config):
    return {"largest": jnp.max(abs(draws.masked(params.weights, config.dimension))) * config.cut}


def predict(_problem, config, steps):
    rate = (1 - config.eta) ** jnp.asarray(steps, float)
    curves = {"distance": rate / jnp.sum(rate)}  # depends on all records
    return curves if config.kind == "plain" else curves | {"distance:other": -rate}


def double(params, _problem, _config):
    """Twice the weights."""
    return 2 * params.weights


def least(params, problem, _config):
    """A mixture of weights and problem."""
    return jnp.sum(params.weights * problem.drawn)


def low(metrics):
    """Stop at a small distance."""
    return metrics["distance"] < 0.5


THEORY = Theory(
    name="little",
    Config=Config,
    problem=problem,
    sample=sample,
    init=init,
    loss=loss,
    gradient=gradient,
    algorithms={
        "gd": Algorithm(init, step),
        "heavy": Algorithm(heavy_init, heavy_step, heavy_params),
    },
    metrics=metrics,
    analyses=analyses,
    predict=predict,
    dims={"weights": ("i",), "drawn": ("i",)},
)
