"""The task of `nearest_neighbor`: answer with the label of the example nearest to the query.

The network sees the theory's tokens [x_i, y_i, 0] and [q, 0, 1], vectors of d + 2 numbers. Its one
output at position N + 1 is the answer f. A network is not linear in the labels, so they cannot be
averaged exactly: labels = "averaged" draws them from N(0, 1), as "gaussian" does.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxtheory.core.task import Task
from jaxtheory.ops.positions import indices
from jaxtheory.tasks import answers
from jaxtheory.theories.nearest_neighbor import data, model
from jaxtheory.theories.nearest_neighbor.model import Config, Problem, Prompts


def drawn(config: Config) -> Config:
    """The same config with labels that are drawn."""
    return config.replace(labels="gaussian") if config.labels == "averaged" else config


def problem(key: Array, config: Config) -> Problem:
    """Draw the theory's training and test prompts, all with labels."""
    return data.problem(key, drawn(config))


def inputs(batch: Prompts, _problem: Problem, config: Config) -> Float[Array, "B N+1 d+2"]:
    """The tokens [x_i, y_i, 0] of the examples and [q, 0, 1] of the query."""
    N, place = config.context, indices(config.context.cap + 1)[None, :, None]
    examples = jnp.concatenate([batch.x, batch.y[..., None], jnp.zeros_like(batch.y)[..., None]], 2)
    examples = jnp.pad(examples, ((0, 0), (0, 1), (0, 0)))
    ends = jnp.broadcast_to(jnp.array([0, 1], batch.q.dtype), (len(batch.q), 2))
    query = jnp.concatenate([batch.q, ends], axis=1)[:, None, :]
    return jnp.where(place < N.n, examples, jnp.where(place == N.n, query, 0))


def answer(outputs: Float[Array, "B L 1"], config: Config) -> Float[Array, " B"]:
    """The answer f at the query."""
    return answers.at_last(outputs, config.context.n + 1)[:, 0]


def loss(
    outputs: Float[Array, "B L 1"], batch: Prompts, _problem: Problem, config: Config
) -> Float[Array, ""]:
    """1/2 mean (f - y_{i*})^2."""
    error = answer(outputs, config) - model.picked(batch.y.T, batch)
    return jnp.sum(batch.weight * error**2) / 2


def metrics(outputs: Any, maps: answers.Maps, problem: Problem, config: Config) -> dict[str, Any]:
    """Return the metrics on the test prompts.

    loss                1/2 mean (f - y_{i*})^2
    accuracy            share of prompts on which f has the sign of exact one-nearest-neighbor
                        prediction
    nearest_attention   attention of the query to the nearest example: the largest over heads and
                        layers of its mean; NaN for a network without attention maps
    shift_error         mean (f - y_{i*})^2 where q = x_{i*} and examples within delta are flipped
    shift_agreement     the share of equal signs there
    separated_error     mean (f - y_{i*})^2 on test prompts with labels separated by delta
    separated_agreement the share of equal signs there
    """
    test, delta = problem.test, config.separation
    measures: dict[str, Any] = {}
    shifted = {
        "test": test,
        "shift": data.flipped(problem.shift, delta, config),
        "separated": data.relabeled(test, delta),
    }
    for name, prompts in shifted.items():
        f, target = answer(outputs(prompts), config), model.picked(prompts.y.T, prompts)
        same = (jnp.sign(f) == jnp.sign(target)).astype(f.dtype)
        measures[f"{name}_error"] = jnp.sum(prompts.weight * (f - target) ** 2)
        measures[f"{name}_agreement"] = jnp.sum(prompts.weight * same)
    nearest = jnp.pad(model.at_nearest(test).T, ((0, 0), (0, 1)))
    return {
        "loss": measures.pop("test_error") / 2,
        "accuracy": measures.pop("test_agreement"),
        "nearest_attention": answers.on(maps(test), nearest, test.weight, config.context.n + 1),
        **measures,
    }


def optimal(_problem: Problem, _config: Config) -> dict[str, Float[Array, ""]]:
    """0 and 1: the prompt determines the label of its nearest example."""
    return {"loss": jnp.zeros(()), "accuracy": jnp.ones(())}


def fresh(key: Array, _problem: Problem, config: Config) -> Prompts:
    """Draw B new prompts with labels."""
    return data.draw_prompts(key, config.num_prompts, drawn(config))


def edges(batch: Prompts, _problem: Problem, config: Config) -> Bool[Array, "B N+1 N+1"]:
    """From each position to the nearest example, but from that itself."""
    place = indices(config.context.cap + 1)
    nearest = place[None, :] == batch.nearest[:, None]
    return nearest[:, None, :] & (place[:, None] != place[None, :])[None]


def implied(config: Config) -> Float[Array, ""]:
    """P(the labels of `code` but that of i* determine it).

    The sign w_k, k = 1..N, is a product of independent signs, one for each bit of k. It is free
    where no other number up to N has one of these bits: for N <= 2, and for k = N a power of two.
    """
    n = jnp.asarray(config.context.n, jnp.int32)
    last = jnp.where(n & (n - 1) == 0, 1 / n.astype(float), 0)
    return jnp.where(n > 2, 1 - last, 0)


def optimal_without(information: str, _problem: Problem, config: Config) -> Float[Array, ""]:
    """1/2 without the prompt, as labels have mean 0 and variance 1.

    Without the nearest example it is 1/2 for independent labels, and 1/2 (1 - P) for `code`, with
    P the probability that the other labels determine this one (`implied`). For `even` they do so
    up to a sign that is hardly known, and 1/2 is an upper bound.
    """
    half = jnp.asarray(0.5, float)
    if information == "prompt" or config.labels != "code":
        return half
    return half * (1 - implied(config))


TASK = Task(
    name="nearest_neighbor",
    Config=Config,
    problem=problem,
    sample=data.sample,
    inputs=inputs,
    loss=loss,
    outputs=lambda config: 1,
    vocabulary=lambda config: None,
    metrics=metrics,
    optimal=optimal,
    fresh=fresh,
    edges=edges,
    optimal_without=optimal_without,
)
