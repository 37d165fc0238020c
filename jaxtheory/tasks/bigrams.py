"""The task of `contextual_bigram`: predict the token that follows an attended earlier one.

The network sees x_1..x_T and the query k = x_{T+1}, one of N tokens each. Its N outputs at position
T + 1 are logits. The loss is the cross-entropy, where the theory has squares: a network with logits
has the law of the label as its best answer, and so has the theory's layer.
"""

import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxtheory.core.config import Size
from jaxtheory.core.task import Task
from jaxtheory.ops import draws
from jaxtheory.ops.positions import indices
from jaxtheory.tasks import answers
from jaxtheory.theories.contextual_bigram import data, model
from jaxtheory.theories.contextual_bigram.model import Batch, Config
from jaxtheory.theories.contextual_bigram.model import Problem as Law

TEST_SAMPLES = 1000
ENUMERATED = 2**20  # largest number of entries with which the optimum is enumerated


class Problem(NamedTuple):
    """The law of the data, and a test set drawn from it."""

    law: Law
    test: Batch


def problem(key: Array, config: Config) -> Problem:
    """Draw the law, and 1000 test samples."""
    for_law, for_test = jax.random.split(key)
    law = data.problem(for_law, config)
    return Problem(law, data.sample(for_test, law, config.replace(batch_size=TEST_SAMPLES)))


def sample(key: Array, problem: Problem, config: Config) -> Batch:
    """Draw B fresh samples."""
    return data.sample(key, problem.law, config)


def inputs(batch: Batch, _problem: Problem, config: Config) -> Int[Array, "B T+1"]:
    """The tokens x_1..x_T and the query."""
    T = config.length
    place = indices(T.cap + 1)[None, :]
    tokens = jnp.pad(
        draws.masked(batch.tokens.astype(jnp.int32), len(batch.tokens), T), ((0, 0), (0, 1))
    )
    return jnp.where(place == T.n, batch.query[:, None], tokens)


def _weights(batch: Batch, config: Config) -> Float[Array, " B"]:
    """The weights of a mean over a training batch, or over the test samples."""
    B = config.batch_size
    return (B if len(batch.label) == B.cap else Size(len(batch.label))).weights()


def loss(
    outputs: Float[Array, "B L N"], batch: Batch, _problem: Problem, config: Config
) -> Float[Array, ""]:
    """The cross-entropy of the label."""
    logits = answers.at_last(outputs, config.length.n + 1)
    return answers.cross_entropy(logits, batch.label, _weights(batch, config), config.num_states)


def law(batch: Batch, problem: Problem, config: Config) -> Float[Array, "B N"]:
    """P(y | x_1..x_T, k) = sum_s q_s^(k) P[y, x_s]."""
    occupancy = model.occupancy(problem.law.context, batch, config)
    return occupancy @ problem.law.transition.T


def metrics(outputs: Any, maps: answers.Maps, problem: Problem, config: Config) -> dict[str, Any]:
    """Return the metrics on the test samples.

    loss                cross-entropy under the true law of the label, nats
    accuracy            mean probability of the predicted token under that law
    attended_attention  attention of the query to the positions that its context law attends to: the
                        largest over heads and layers of its mean; NaN for a network without maps
    support_match       share of the tokens k whose mean attention, as a query, is largest exactly
                        on the positions that q^(k) attends to: the best of heads and layers
    """
    test, weight = problem.test, Size(TEST_SAMPLES).weights()
    T, N = config.length, config.num_states
    logits = answers.at_last(outputs(test), T.n + 1)
    expected, accuracy = answers.against_law(logits, law(test, problem, config), weight, N)
    attention_maps, nan = maps(test), jnp.asarray(jnp.nan)
    attention, match = nan, nan
    if attention_maps is not None:
        support = jnp.pad(problem.law.context.T > 0, ((0, 0), (0, 1)))  # [k, position]
        attention = answers.on(attention_maps, support[test.query], weight, T.n + 1)
        of_query = jax.nn.one_hot(test.query, N.cap, dtype=weight.dtype) * weight[:, None]
        means = jnp.einsum("lbhs,bk->lhks", jnp.take(attention_maps, T.n, axis=3), of_query)
        within = indices(T.cap + 1)[None, :] < T.n
        inside, outside = (x[None, None] for x in (support & within, ~support & within))
        low = jnp.min(jnp.where(inside, means, jnp.inf), axis=3)
        high = jnp.max(jnp.where(outside, means, -jnp.inf), axis=3)
        has_query = jnp.sum(of_query, axis=0) > 0
        right = jnp.sum(
            ((low > high) & (has_query & N.mask())[None, None, :]).astype(weight.dtype), axis=2
        )
        match = jnp.max(right) / jnp.asarray(N.real, weight.dtype)
    return {
        "loss": expected,
        "accuracy": accuracy,
        "attended_attention": attention,
        "support_match": match,
    }


def optimal(problem: Problem, config: Config) -> dict[str, Float[Array, ""]]:
    """The mean entropy and the mean largest probability of the law of the label.

    They are sums over the queries and the N^Q contents of the attended positions. Where these are
    more than 2^20 numbers, they are means over the test contexts.
    """
    N, Q, mu = config.num_states.cap, config.sparsity.cap, problem.law.stationary
    if N ** (Q + 2) > ENUMERATED:
        weight, laws = Size(TEST_SAMPLES).weights(), law(problem.test, problem, config)
    else:
        _, slots = data.support(problem.law, config)  # (N, Q)
        contents = np.array(list(itertools.product(range(N), repeat=slots.shape[1])))
        after = problem.law.transition.T[contents]  # [content, slot, y]
        laws = jnp.einsum("kq,cqy->kcy", slots, after).reshape(-1, N)
        weight = (mu[:, None] * jnp.prod(mu[contents], axis=1)[None, :]).reshape(-1)
    return {
        "loss": jnp.sum(weight * answers.entropy(laws)),
        "accuracy": jnp.sum(weight * jnp.max(laws, axis=1)),
    }


def edges(batch: Batch, problem: Problem, _config: Config) -> Bool[Array, "B T+1 T+1"]:
    """From each position to those that q^(k) attends to, but from none to itself."""
    support = jnp.pad(problem.law.context.T > 0, ((0, 0), (0, 1)))  # [k, position]
    place = indices(support.shape[1])
    return support[batch.query][:, None, :] & (place[None, :] != place[:, None])[None]


def optimal_without(_information: str, problem: Problem, _config: Config) -> Float[Array, ""]:
    """The entropy of mu, without the prompt and without the attended tokens.

    Tokens are independent draws from mu and P mu = mu. So the label has the law mu, whatever the
    query and the other tokens are.
    """
    return answers.entropy(problem.law.stationary)


TASK = Task(
    name="contextual_bigram",
    Config=Config,
    problem=problem,
    sample=sample,
    inputs=inputs,
    loss=loss,
    outputs=lambda config: int(config.num_states.cap),
    vocabulary=lambda config: int(config.num_states.cap),
    metrics=metrics,
    optimal=optimal,
    fresh=sample,
    edges=edges,
    optimal_without=optimal_without,
)
