"""Data of a run: walks on the circle, or two question-answering tasks over 19 words.

The questions are sentences with the answer as the label.

    qa1  Based on the list a_1 .. a_5 which type of fruit appears most frequently    a_i fair and
         independent; the answer is the majority
    qa2  Based on the sentence I prefer an A to an B which type of fruit do I prefer  A fair, B the
         other fruit; the answer is A

The plain average of the tokens tells the answer of qa1 and nothing about that of qa2.

Source: the two tasks are known at second hand from "Towards Understanding Transformers in Learning
Random Walks", arXiv 2511.23239. That B differs from A is reconstructed.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxtheory.core.config import Size
from jaxtheory.ops import draws
from jaxtheory.ops.positions import indices
from jaxtheory.theories.random_walk import model
from jaxtheory.theories.random_walk.model import Batch, Config, Problem

BITS = 24  # per word, whose value is then exact in float32


def circulant(v: Float[Array, " K"], config: Config) -> Float[Array, "K K"]:
    """The circulant matrix V_yk = v((y - k) mod K), zero beyond K."""
    K = config.num_states
    i = indices(K.cap)
    inside = K.mask()[:, None] & K.mask()[None, :]
    return jnp.where(inside, v[(i[:, None] - i[None, :]) % K.n], 0)


def step_law(config: Config) -> Float[Array, " K"]:
    """The law of y - s_{N-1}: p at 1, 1 - p at K - 1, zero elsewhere and beyond K."""
    return probability(indices(config.num_states.cap), config)


def probability(d: Int[Array, "*n"], config: Config) -> Float[Array, "*n"]:
    """P(y - s_{N-1} = d mod K) for -K < d < K: p where d is 1, 1 - p where it is -1, else 0."""
    K, p = config.num_states.n, config.clockwise_probability
    forth, back = (d == 1) | (d == 1 - K), (d == -1) | (d == K - 1)
    return jnp.where(forth, p, jnp.where(back, 1 - p, 0.0))


def transition(config: Config) -> Float[Array, "K K"]:
    """Pi_ij = p 1[j = i + 1] + (1 - p) 1[j = i - 1] (mod K), rows sum to 1; zero beyond K."""
    return circulant(step_law(config), config).T


def label_law(batch: Batch, config: Config) -> Float[Array, "B K"]:
    """The optimal predictor P(y | s_1..s_{N-1}).

    It is row s_{N-1} of Pi for the walk, and the answer itself for the questions.
    """
    K = config.num_states
    if config.task == "walk":
        last = jnp.take(batch.s, config.length.n - 2, axis=1)
        d = indices(K.cap)[None, :] - last[:, None]
        # faster than gathering rows of Pi
        return jnp.where(K.mask()[None, :], probability(d, config), 0)
    return jax.nn.one_hot(batch.y, config.num_states.cap)


def sentences(coins: Bool[Array, "B N"], task: str) -> tuple[Int[Array, "B N"], Int[Array, " B"]]:
    """Word indices (B, N), zero from the query on, and the fruits that answer (B,).

    A fruit is orange (1) where its coin shows True. Coins are read at the slots of the sentence.
    qa2 reads the first slot only, and fills the second with the other fruit.
    """
    words = model.SENTENCES[task]
    slots = [j for j, word in enumerate(words) if word == "?"]
    fruits = coins[:, np.array(slots)].astype(jnp.int32)
    if task == "qa2":
        fruits = jnp.stack([fruits[:, 0], 1 - fruits[:, 0]], axis=1)
    y = (
        fruits[:, 0]
        if task == "qa2"
        else (2 * jnp.sum(fruits, axis=1) > len(slots)).astype(jnp.int32)
    )
    fixed = np.zeros(coins.shape[1], np.int32)
    fixed[: len(words)] = [0 if word == "?" else model.VOCABULARY.index(word) for word in words]
    return jnp.broadcast_to(jnp.asarray(fixed)[None, :], coins.shape).at[:, np.array(slots)].set(
        fruits
    ), y


def _sequences(
    key: Array, count: Size | int, config: Config
) -> tuple[Int[Array, "B N"], Int[Array, " B"]]:
    """Independent sequences s_1..s_N of the task and their labels.

    There is one draw per token: the first gives s_1, the others the steps.
    """
    K, N = config.num_states, config.length
    draw = draws.uniform(key, count, N)
    if config.task != "walk":
        return sentences(draw < 0.5, config.task)
    first = jnp.minimum(
        (draw[:, :1] * jnp.asarray(K.n, jnp.float32)).astype(jnp.int32),
        jnp.asarray(K.n, jnp.int32) - 1,
    )
    steps = jnp.where(draw[:, 1:] < jnp.asarray(config.clockwise_probability, jnp.float32), 1, -1)
    return _walk(first, steps, config)


def _walk(
    first: Int[Array, "B 1"], steps: Int[Array, "B n"], config: Config
) -> tuple[Int[Array, "B n+1"], Int[Array, " B"]]:
    """The states after steps of 1 or -1, and the last of them."""
    done = 1 + indices(steps.shape[1])[None, :]
    s = jnp.concatenate([first, first + 2 * counts(steps > 0) - done], axis=1)
    s = s % config.num_states.n
    return s, jnp.take(s, config.length.n - 1, axis=1)


def counts(x: Bool[Array, "B n"]) -> Int[Array, "B n"]:
    """The number of True entries among x_1..x_j, for each j.

    It is computed from the bits of words, not by n additions one after the other.
    """
    B, n = x.shape
    words, place = -(-n // BITS), np.arange(BITS)[None, None, :]
    bits = jnp.pad(x, ((0, 0), (0, BITS * words - n))).reshape(B, words, BITS)
    word = jnp.sum(jnp.where(bits, (1 << place).astype(np.float32), 0), axis=2).astype(jnp.int32)
    until = jax.lax.population_count(word[:, :, None] & ((2 << place) - 1).astype(np.int32))
    earlier = jnp.cumsum(until[:, :, -1], axis=1) - until[:, :, -1]
    return (earlier[:, :, None] + until).reshape(B, BITS * words)[:, :n]


def make_batch(
    s: Int[Array, "B N"], y: Int[Array, " B"], count: Size | int, config: Config
) -> Batch:
    """Sequences s_1..s_N and labels as a batch.

    The query and all beyond it are blanked, and padded rows have weight 0.
    """
    count, N = Size.wrap(count), config.length
    weight, before_query = count.weights(), indices(N.cap) < N.n - 1
    return Batch(
        jnp.where(before_query[None, :], draws.masked(s, count), 0), draws.masked(y, count), weight
    )


def problem(key: Array, config: Config) -> Problem:
    """B training and Bt test sequences.

    In population mode both are the K sequences of the deterministic walk.
    """
    K = config.num_states
    if config.population:
        first = indices(K.cap)[:, None]
        turn = jnp.where(config.clockwise_probability > 0.5, 1, -1)
        batch = make_batch(
            *_walk(first, jnp.broadcast_to(turn, (K.cap, config.length.cap - 1)), config), K, config
        )
        return Problem(batch, batch)
    train, test = jax.random.split(key)
    parts = (train, config.num_sequences), (test, config.num_test)
    return Problem(*(make_batch(*_sequences(k, n, config), n, config) for k, n in parts))


def sample(_key: Array, problem: Problem, _config: Config) -> Batch:
    """The fixed training set: full-batch gradient descent."""
    return problem.train
