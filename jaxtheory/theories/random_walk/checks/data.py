"""Checks of the data law."""

import itertools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.ops.positions import indices
from jaxtheory.theories.random_walk import data, model
from jaxtheory.theories.random_walk.checks import literal, material
from jaxtheory.theories.random_walk.model import Config


@check("label_law: all paths enumerated", material.PAPER, "equal")
def law_of_labels(_key: Array, config: Config) -> Compared:
    """P(prefix, label) of every path, by enumeration, is P(prefix) times the law of the label."""
    if not literal.enumerable(config):
        return None
    K, N, paths = config.num_states.cap, config.length.cap, literal.paths(config)
    places = jnp.asarray(K ** np.arange(N - 1), jnp.int32)
    prefix = jnp.sum(paths.s[:, : N - 1] * places[None, :], axis=1)
    joint = jnp.zeros((K ** (N - 1), K)).at[prefix, paths.y].add(paths.weight)[prefix]
    return jnp.sum(joint, axis=1, keepdims=True) * data.label_law(paths, config), joint


@check("problem: frequencies of states and steps", material.PAPER, "sample")
def law_of_steps(key: Array, config: Config) -> Compared:
    """Every step of the test walks against Pi: to a neighbor, clockwise with probability p.

    The step to the label is included. First states are uniform, and the weights of both sets sum
    to 1. The data do not see the loss, so one loss suffices.
    """
    if not material.circle(config) or config.loss_function != "log":
        return None
    K, N, p = config.num_states, config.length, jnp.asarray(config.clockwise_probability)
    tests = jnp.asarray(config.num_test.real, float)
    train, batch = data.problem(key, config)
    at = indices(N.cap)[None, :]
    s = jnp.where(at == N.n - 1, batch.y[:, None], batch.s)
    turn = jnp.where(at[:, 1:] < N.n, (s[:, 1:] - s[:, :-1]) % K.n, 0)
    count = jnp.asarray(N.real - 1, float) * tests
    shares = [jnp.sum(turn == d).astype(float) / count for d in (1, K.n - 1)]
    begins = (s[:, :1] == indices(K.cap)[None, :]) & (batch.weight > 0)[:, None]
    first = jnp.sum(begins, axis=0).astype(float) / tests
    uniform = jnp.where(K.mask(), 1 / jnp.asarray(K.real, float), 0)
    ones = jnp.ones(2)
    return (
        (jnp.stack(shares), first, jnp.stack([jnp.sum(train.weight), jnp.sum(batch.weight)])),
        (jnp.stack([p, 1 - p]), uniform, ones),
        (
            ones * jnp.sqrt(p * (1 - p) / count),
            jnp.sqrt(uniform * (1 - uniform) / tests),
            0 * ones,
        ),
    )


@check("sentences: word by word", material.PAPER, "equal")
def all_sentences(_key: Array, config: Config) -> Compared:
    """The sentences of all coins, word by word, and their answers.

    The answer is the middle one of the sorted fruits for qa1, the first fruit for qa2.
    """
    if config.task == "walk":
        return None
    words = model.SENTENCES[config.task]
    slots = [j for j, word in enumerate(words) if word == "?"]
    coins, want, answers = [], [], []
    for fruits in itertools.product((0, 1), repeat=len(slots)):
        if config.task == "qa2" and fruits[0] == fruits[1]:
            continue
        row, remaining = [False] * config.length.cap, list(fruits)
        for j, fruit in zip(slots, fruits, strict=True):
            row[j] = bool(fruit)
        coins.append(row)
        sentence = [
            ("apple", "orange")[remaining.pop(0)] if word == "?" else word for word in words
        ]
        want.append([model.VOCABULARY.index(word) for word in sentence])
        answers.append(fruits[0] if config.task == "qa2" else sorted(fruits)[2])
    s, y = data.sentences(jnp.asarray(coins), config.task)
    return (s[:, : len(words)], y), (jnp.asarray(want), jnp.asarray(answers))
