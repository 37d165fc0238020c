"""Checks of the data law."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.random_walk import data
from jaxtheory.theories.random_walk.checks import material
from jaxtheory.theories.random_walk.model import Config


def law_of_labels(key: Array, config: Config) -> Compared:
    """Labels of independent sequences against the law of the label given the sequence: the mean gap
    per state.
    """
    if config.population:
        return None
    batch = data.problem(key, config).train
    law = data.label_law(batch, config)
    gap = jax.nn.one_hot(batch.y, config.num_states.cap) - law
    variance = jnp.sum(batch.weight[:, None] ** 2 * law * (1 - law), axis=0)
    return (
        jnp.sum(batch.weight[:, None] * gap, axis=0),
        jnp.zeros(config.num_states.cap),
        jnp.sqrt(variance),
    )


def law_of_steps(key: Array, config: Config) -> Compared:
    """Every step of the training walks against Pi: a neighbour each time, clockwise with
    probability p.
    """
    if config.task != "walk" or config.population or config.length.cap < 3:
        return None
    K, N, p = config.num_states, config.length, config.clockwise_probability
    batch = data.problem(key, config).train
    inside = (jnp.arange(N.cap - 1) < jnp.asarray(N.n, int) - 2)[None, :] & (batch.weight > 0)[
        :, None
    ]
    turn = (batch.s[:, 1:] - batch.s[:, :-1]) % K.n
    count = jnp.sum(inside).astype(float)
    shares = (
        jnp.stack([jnp.sum(inside & (turn == 1)), jnp.sum(inside & (turn == K.n - 1))]).astype(
            float
        )
        / count
    )
    error = jnp.sqrt(p * (1 - p) / count)
    return shares, jnp.stack([jnp.asarray(p), 1 - jnp.asarray(p)]), jnp.broadcast_to(error, (2,))


CHECKS = (
    Check("label_law: frequencies of labels", material.PAPER, "sample", law_of_labels),
    Check("problem: frequencies of steps", material.PAPER, "sample", law_of_steps),
)
