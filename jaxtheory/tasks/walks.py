"""The task of `random_walk`: predict the next state of a walk on a circle, or answer a question.

The network sees s_1..s_{N-1} as tokens and the query at position N as a token of its own, K, which
has no state: what it knows of the walk it must attend to. Its K outputs at position N are logits.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxtheory.core.task import Task
from jaxtheory.ops.positions import indices
from jaxtheory.tasks import answers
from jaxtheory.theories.random_walk import data, laws
from jaxtheory.theories.random_walk.model import Batch, Config, Problem


def inputs(batch: Batch, _problem: Problem, config: Config) -> Int[Array, "B N"]:
    """The tokens s_1..s_{N-1}, then K at the query position and beyond."""
    before_query = indices(config.length.cap) < config.length.n - 1
    query = jnp.asarray(config.num_states.n, batch.s.dtype)
    return jnp.where(before_query[None, :], batch.s, query)


def loss(
    outputs: Float[Array, "B N K"], batch: Batch, _problem: Problem, config: Config
) -> Float[Array, ""]:
    """The cross-entropy of the label."""
    logits = answers.at_last(outputs, config.length.n)
    return answers.cross_entropy(logits, batch.y, batch.weight, config.num_states)


def metrics(outputs: Any, maps: answers.Maps, problem: Problem, config: Config) -> dict[str, Any]:
    """Return the metrics on the test sequences.

    loss                cross-entropy under the true law of the next state, nats
    accuracy            mean probability of the predicted state under that law
    parent_attention    attention of the query to the parent s_{N-1}: the largest over heads and
                        layers of its mean; NaN for a network without attention maps
    parent_selected     1 where some head has its largest mean attention on the parent
    """
    test, N = problem.test, config.length
    logits = answers.at_last(outputs(test), N.n)
    law = data.label_law(test, config)
    expected, accuracy = answers.against_law(logits, law, test.weight, config.num_states)
    attention_maps, nan = maps(test), jnp.asarray(jnp.nan)
    attention, selected = nan, nan
    if attention_maps is not None:
        parent = jnp.broadcast_to(indices(N.cap)[None, :] == N.n - 2, test.s.shape)
        attention = answers.on(attention_maps, parent, test.weight, N.n)
        means = answers.of_answer(attention_maps, test.weight, N.n)
        selected = jnp.any(jnp.argmax(means, axis=2) == N.n - 2).astype(attention.dtype)
    return {
        "loss": expected,
        "accuracy": accuracy,
        "parent_attention": attention,
        "parent_selected": selected,
    }


def optimal(_problem: Problem, config: Config) -> dict[str, Float[Array, ""]]:
    """The entropy of the step, -p log p - (1 - p) log(1 - p), and max(p, 1 - p).

    For the questions, which their sentences answer, 0 and 1.
    """
    best = jnp.asarray(laws.best_accuracy(config), float)
    if config.task != "walk":
        return {"loss": jnp.zeros_like(best), "accuracy": best}
    p = jnp.asarray(config.clockwise_probability, float)
    return {"loss": answers.entropy(jnp.stack([p, 1 - p])), "accuracy": best}


def fresh(key: Array, _problem: Problem, config: Config) -> Batch:
    """Draw B new walks."""
    return data.problem(key, config).train


def edges(batch: Batch, _problem: Problem, config: Config) -> Bool[Array, "B N N"]:
    """From each position to the parent s_{N-1}, but from that itself."""
    place, parent = indices(config.length.cap), config.length.n - 2
    to_parent = (place[None, :] == parent) & (place[:, None] != parent)
    return jnp.broadcast_to(to_parent, (len(batch.s), *to_parent.shape))


def optimal_without(information: str, _problem: Problem, config: Config) -> Float[Array, ""]:
    """log K without the prompt; without the parent the entropy of two steps from s_{N-2}.

    Two steps lead to s + 2, s and s - 2 modulo K with p^2, 2 p (1 - p) and (1 - p)^2.
    """
    C = data.transition(config)
    if information == "prompt":
        return jnp.log(jnp.asarray(config.num_states.real, float))
    return answers.entropy((C @ C)[0])


TASK = Task(
    name="random_walk",
    Config=Config,
    problem=data.problem,
    sample=data.sample,
    inputs=inputs,
    loss=loss,
    outputs=lambda config: int(config.num_states.cap),
    vocabulary=lambda config: int(config.num_states.cap) + 1,
    metrics=metrics,
    optimal=optimal,
    fresh=fresh,
    edges=edges,
    optimal_without=optimal_without,
)
