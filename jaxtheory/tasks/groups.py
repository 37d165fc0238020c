"""The task of `group_sparse`: classify by one group of features out of D.

The network sees the groups x_1..x_D as tokens of d numbers; the position tells the group. Its one
output f at position D gives the class sign f. The theory sums the outputs of all queries.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxtheory.core.task import Task
from jaxtheory.ops import draws
from jaxtheory.ops.positions import indices
from jaxtheory.tasks import answers
from jaxtheory.theories.group_sparse import data, model, predictions
from jaxtheory.theories.group_sparse.model import Batch, Config, Problem


def inputs(batch: Batch, _problem: Problem, _config: Config) -> Float[Array, "n D d"]:
    """The groups of every sample."""
    return batch.x.transpose(2, 1, 0)


def answer(outputs: Float[Array, "n D 1"], config: Config) -> Float[Array, " n"]:
    """The output f at the last group."""
    return answers.at_last(outputs, config.num_groups.n)[:, 0]


def loss(
    outputs: Float[Array, "n D 1"], batch: Batch, _problem: Problem, config: Config
) -> Float[Array, ""]:
    """The mean of log(1 + exp(-y f))."""
    return jnp.sum(batch.weight * jax.nn.softplus(-batch.y * answer(outputs, config)))


def metrics(outputs: Any, maps: answers.Maps, problem: Problem, config: Config) -> dict[str, Any]:
    """Return the metrics on the test samples.

    loss                  mean log(1 + exp(-y f))
    accuracy              share of samples with y = sign f
    group_attention       attention of the last query to the label's group: the largest over heads
                          and layers of its mean; NaN for a network without attention maps
    downstream_attention  the same on the downstream samples, with their margin, which the network
                          has not seen
    """
    test, D = problem.test, config.num_groups
    f = outputs(test)
    new = data.moved(problem.downstream_test, problem, config)
    star = model.relevant(config) > 0
    attention = [
        answers.on(
            maps(batch), jnp.broadcast_to(star, (batch.x.shape[2], D.cap)), batch.weight, D.n
        )
        for batch in (test, new)
    ]
    return {
        "loss": loss(f, test, problem, config),
        "accuracy": predictions.accuracy(answer(f, config), test),
        "group_attention": attention[0],
        "downstream_attention": attention[1],
    }


def optimal(_problem: Problem, _config: Config) -> dict[str, Float[Array, ""]]:
    """Loss 0 and accuracy 1: the relevant group determines the label.

    The loss is an infimum, which no finite output reaches.
    """
    return {"loss": jnp.zeros(()), "accuracy": jnp.ones(())}


def fresh(key: Array, problem: Problem, config: Config) -> Batch:
    """Draw n new samples with labels by the same direction v*."""
    d, D, n = config.group_dim, config.num_groups, config.num_samples
    x = draws.masked(config.noise_scale * draws.normal(key, d, D, n), d, D, n)
    return data.labeled(data.grouped(x, config), n, problem.truth, config)


def edges(batch: Batch, _problem: Problem, config: Config) -> Bool[Array, "n D D"]:
    """From each group to the relevant group j*, but from that itself.

    For j* = D the answer stands at the relevant group, which no edge need tell it.
    """
    place, star = indices(config.num_groups.cap), model.relevant(config) > 0
    to_star = star[None, :] & (place[:, None] != place[None, :])
    return jnp.broadcast_to(to_star, (batch.x.shape[2], *to_star.shape))


def optimal_without(_information: str, _problem: Problem, _config: Config) -> Float[Array, ""]:
    """log 2 without the prompt, and without the relevant group.

    Both labels are equally likely, and the other groups are independent of the label.
    """
    return jnp.log(jnp.asarray(2.0, float))


TASK = Task(
    name="group_sparse",
    Config=Config,
    problem=data.problem,
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
