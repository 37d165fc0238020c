"""Data of a run: prompts of Gaussian linear regression whose tasks are a finite set, or fresh."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.core.config import Size
from jaxtheory.ops import draws
from jaxtheory.theories.task_diversity.model import Batch, Config, Data, Problem


class Prompts(NamedTuple):
    """Prompts as they are drawn; padded prompts, examples and features are zero."""

    x: Float[Array, "n l d"]
    y: Float[Array, "n l"]
    query: Float[Array, "n d"]
    label: Float[Array, " n"]  # of the query


def problem(key: Array, config: Config) -> Problem:
    """Draw the k tasks and the n training prompts."""
    drawn, tasks = raw(key, config)
    return Problem(batch(drawn, config), tasks)


def sample(_key: Array, problem: Problem, _config: Config) -> Batch:
    """Return the fixed training set, for full-batch gradient descent."""
    return problem.train


def raw(key: Array, config: Data) -> tuple[Prompts, Float[Array, "k d"]]:
    """Draw the training prompts and the k tasks."""
    for_tasks, for_choice, for_prompts = jax.random.split(key, 3)
    tasks = on_sphere(for_tasks, config.num_tasks, config)
    if config.tasks == "fresh":
        w = on_sphere(for_choice, config.num_prompts, config)
    else:
        w = chosen(for_choice, tasks, config)
    return prompts(for_prompts, w, config), tasks


def chosen(key: Array, tasks: Float[Array, "k d"], config: Data) -> Float[Array, "n d"]:
    """Draw one of the tasks for each prompt."""
    k, n = jnp.asarray(Size.wrap(config.num_tasks).n, jnp.int32), config.num_prompts
    return draws.masked(tasks[draws.integers(key, k, n)], n)


def on_sphere(key: Array, count: Size | int, config: Data) -> Float[Array, "count d"]:
    """Draw vectors uniform on the sphere of radius sqrt(d)."""
    d = Size.wrap(config.dimension)
    w = draws.normal(key, count, d)
    norm = jnp.sqrt(jnp.sum(w**2, axis=1, keepdims=True))
    return jnp.sqrt(jnp.asarray(d.real, float)) * w / jnp.where(norm > 0, norm, 1)


def prompts(key: Array, w: Float[Array, "n d"], config: Data) -> Prompts:
    """Draw a prompt for each task; padded prompts must have the task zero."""
    n, l, d = (Size.wrap(s) for s in (config.num_prompts, config.length, config.dimension))
    for_x, for_query, for_noise, for_last = jax.random.split(key, 4)
    root, noise = (jnp.sqrt(jnp.asarray(v, float)) for v in (1 / d.real, config.noise_variance))
    x, query = draws.normal(for_x, n, l, d) * root, draws.normal(for_query, n, d) * root
    y = jnp.einsum("nld,nd->nl", x, w) + noise * draws.normal(for_noise, n, l)
    label = jnp.sum(query * w, axis=1) + noise * draws.normal(for_last, n)
    return Prompts(x, y, query, label)


def batch(prompts: Prompts, config: Data) -> Batch:
    """The batch of these prompts. Padded prompts, examples and features must be zero."""
    x, y, query, label = prompts
    n, l, d = (Size.wrap(s) for s in (config.num_prompts, config.length, config.dimension))
    l_real, d_real = (jnp.asarray(s.real, float) for s in (l, d))
    beta = d_real / l_real * jnp.einsum("nl,nld->nd", y, x)
    return Batch(beta, jnp.sum(y**2, axis=1) / l_real, query, label, n.weights())
