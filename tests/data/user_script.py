"""A user's script, which mypy --strict and pyright check without running it."""

from typing import Any, NamedTuple, assert_type

import jax
import jax.numpy as jnp

import jaxtheory
from jaxtheory.theories import random_walk

config = random_walk.Config(num_states=6, length=97)
run = jaxtheory.simulate(random_walk, config, jaxtheory.run_key(0, 0), steps=50)
print(run.metrics["accuracy"][-1], run.params.V, run.config.num_states.cap)
axes = {"p": [0.3, 0.5, 0.7], "K": [5, 6]}
data = jaxtheory.sweep(random_walk, config, vary=axes, seeds=4, steps=50, buckets="exact")
print(data.accuracy.isel(step=-1).mean("seed"), config.num_states.cap)


class Config(jaxtheory.Config):
    width: jaxtheory.Size = jaxtheory.size(4, "d", "width")
    rate: float = jaxtheory.traced(0.1, "eta", "learning rate", "(0, inf)")


class Wide(Config):
    depth: jaxtheory.Size = jaxtheory.size(1, "l", "layers")


class Params(NamedTuple):
    V: jax.Array


class Batch(NamedTuple):
    x: jax.Array


def problem(key: jax.Array, config: Config) -> tuple[()]:
    return ()


def sample(key: jax.Array, problem: tuple[()], config: Config) -> Batch:
    return Batch(jaxtheory.draws.normal(key, config.width))


def init(key: jax.Array, problem: tuple[()], config: Config) -> Params:
    return Params(jnp.zeros(config.width.cap))


def loss(params: Params, batch: Batch, problem: tuple[()], config: Config) -> jax.Array:
    return jnp.sum((params.V - batch.x) ** 2) / (2 * config.width.cap)


def gradient(params: Params, batch: Batch, problem: tuple[()], config: Config) -> Params:
    slope: Params = jax.grad(loss)(params, batch, problem, config)
    return slope


def step(key: Any, t: Any, state: Params, batch: Batch, problem: Any, config: Config) -> Params:
    return Params(state.V - config.rate * gradient(state, batch, problem, config).V)


def metrics(params: Params, problem: tuple[()], config: Config) -> dict[str, jax.Array]:
    return {"norm": jnp.linalg.norm(params.V)}


THEORY = jaxtheory.Theory(
    name="mine",
    Config=Config,
    problem=problem,
    sample=sample,
    init=init,
    loss=loss,
    gradient=gradient,
    algorithms={"sgd": jaxtheory.Algorithm(init, step)},
    metrics=metrics,
)
assert_type(THEORY, jaxtheory.Theory[Config, tuple[()], Batch, Params])
assert_type(Config(width=jaxtheory.Size(8, 3)).replace(d=6).width, jaxtheory.Size)
mine = jaxtheory.simulate(THEORY, Config(width=8), jaxtheory.run_key(0, 0), steps=5)
assert_type(mine.params, Params)
assert_type(mine.config.width.cap, int)
assert_type(Wide(width=8, depth=2).width.cap, int)
assert_type(THEORY.init(jax.random.key(0), (), mine.config).V, jax.Array)
