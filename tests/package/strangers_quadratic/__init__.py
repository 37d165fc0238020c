"""How fast does gradient descent fall into a bowl?

L(w) = 1/2 sum_i a_i (w_i - b_i)^2, a_i uniform on [.5, 1.5], b Gaussian, from w = 0:
w_i(t) = b_i (1 - (1 - eta a_i)^t).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxtheory import Algorithm, Check, Config, Size, Theory, draws, size, sizes, traced


class Bowl(Config):
    """Hyper-parameters."""

    dimension: Size = size(5, "d", "number of weights")
    learning_rate: float = traced(0.1, "eta", "step size", "(0, 1]")


class Problem(NamedTuple):
    """Curvatures a and minimum b, (d,)."""

    curvature: jax.Array
    minimum: jax.Array


class Params(NamedTuple):
    """w, (d,)."""

    weights: jax.Array


def problem(key, config):
    first, second = jax.random.split(key)
    uniform = jnp.asarray(draws.uniform(first, config.dimension), float)
    a = draws.masked(0.5 + uniform, config.dimension)
    return Problem(a, draws.normal(second, config.dimension))


def sample(key, problem, config):
    return ()


def init(key, problem, config):
    return Params(jnp.zeros_like(problem.minimum))


def loss(params, batch, problem, config):
    gaps = params.weights - problem.minimum
    return sizes.total(problem.curvature * gaps**2, config.dimension) / 2


def gradient(params, batch, problem, config):
    return Params(problem.curvature * (params.weights - problem.minimum))


def step(key, t, state, batch, problem, config):
    slope = gradient(state, batch, problem, config)
    return jax.tree.map(lambda w, g: w - config.learning_rate * g, state, slope)


def metrics(params, problem, config):
    return {"loss": loss(params, (), problem, config)}


def predict(problem, config, steps):
    a, b = problem
    decay = b * (1 - config.learning_rate * a) ** jnp.asarray(steps, float)[:, None]
    return {"loss": jnp.sum(a * decay**2, axis=1) / 2}


def predicted(key, config):
    """The curve after 7 steps, beside the steps themselves."""
    drawn = problem(key, config)
    state = init(key, drawn, config)
    for t in range(7):
        state = step(key, t, state, (), drawn, config)
    return metrics(state, drawn, config)["loss"], predict(drawn, config, jnp.array([7]))["loss"][0]


THEORY = Theory(
    name="quadratic",
    Config=Bowl,
    problem=problem,
    sample=sample,
    init=init,
    loss=loss,
    gradient=gradient,
    algorithms={"gd": Algorithm(init, step)},
    metrics=metrics,
    predict=predict,
    checks=(Check("predict: the steps themselves", "derived", "equal", predicted),),
    examples=(Bowl(dimension=3), Bowl(dimension=1, learning_rate=0.2)),
)
