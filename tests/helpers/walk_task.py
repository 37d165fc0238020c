"""Random walks as a task: the walker's last state is predicted from those before it."""

import jax.numpy as jnp
import optax

from jaxtheory.core.task import Task
from jaxtheory.theories import random_walk


def inputs(batch, _problem, _config):
    return batch.s


def loss(outputs, batch, _problem, _config):
    losses = optax.softmax_cross_entropy_with_integer_labels(outputs[:, -1], batch.y)
    return jnp.sum(batch.weight * losses)


def states(config):
    return config.num_states.cap


def metrics(outputs, maps, problem, _config):
    test = problem.test
    right = jnp.argmax(outputs(test)[:, -1], axis=1).astype(test.y.dtype) == test.y
    scores = {"accuracy": jnp.sum(jnp.where(right, test.weight, 0))}
    if (attention := maps(test)) is not None:
        scores["parent"] = jnp.sum(
            test.weight[None, :, None] * attention[:, :, :, -1, -2], axis=(1,)
        )
    return scores


def optimal(_problem, config):
    p = config.clockwise_probability
    entropy = -(p * jnp.log(p) + (1 - p) * jnp.log(1 - p))
    return {"loss": entropy, "accuracy": jnp.maximum(p, 1 - p)}


TASK = Task(
    "walk",
    random_walk.Config,
    random_walk.problem,
    random_walk.sample,
    inputs,
    loss,
    states,
    states,
    metrics,
    optimal,
    {"parent": ("layer", "head")},
)
SMALL = {"length": 5, "num_sequences": 8, "encoding_dim": 10, "clockwise_probability": 0.8}
