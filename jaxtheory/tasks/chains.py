"""The task of `causal_graph`: predict the next state of a Markov chain that is seen in context.

The network sees the states s_1..s_T of a prompt as tokens, and its S outputs at position T are
logits. The loss is the cross-entropy under pi(.|s_T), the row of the prompt's own matrix. The
theory's layers have a share of attention as output and an offset eps inside the logarithm instead.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxtheory.core.config import Size
from jaxtheory.core.task import Task
from jaxtheory.tasks import answers
from jaxtheory.theories.causal_graph import data, laws
from jaxtheory.theories.causal_graph.model import Batch, Data, Problem


def inputs(batch: Batch, _problem: Problem, _config: Data) -> Int[Array, "B T"]:
    """The tokens s_1..s_T."""
    return batch.s


def loss(
    outputs: Float[Array, "B L S"], batch: Batch, _problem: Problem, config: Data
) -> Float[Array, ""]:
    """The cross-entropy under pi(.|s_T)."""
    logits = answers.at_last(outputs, config.length.n)
    expected, _ = answers.against_law(logits, batch.target, batch.weight, config.num_states)
    return expected


def metrics(outputs: Any, maps: answers.Maps, problem: Problem, config: Data) -> dict[str, Any]:
    """Return the metrics on the test prompts.

    loss                cross-entropy under pi(.|s_T), nats
    accuracy            mean probability of the predicted state under that law
    counts_loss         the same cross-entropy for the posterior mean of pi(.|s_T), which counts the
                        children of tokens in the state s_T; training does not change it
    parent_attention    attention of tokens to their parents, the mean over the tokens that have
                        one: the largest over heads and layers; NaN for a network without maps
    children_attention  attention of the query to the children of tokens in its own state: the
                        largest over heads and layers of its mean
    """
    test, T = problem.test, config.length
    logits = answers.at_last(outputs(test), T.n)
    loss, accuracy = answers.against_law(logits, test.target, test.weight, config.num_states)
    counted = jnp.log(posterior(problem, config))
    counts_loss, _ = answers.against_law(counted, test.target, test.weight, config.num_states)
    attention_maps, parent = maps(test), jnp.asarray(jnp.nan)
    after = laws.after_query(test, problem.parents)
    if attention_maps is not None:
        has, place = problem.parents > 0, jnp.maximum(problem.parents - 1, 0)
        parent_weights = jnp.take_along_axis(
            attention_maps, place[None, None, None, :, None], axis=4
        )[..., 0]
        mean = jnp.einsum(
            "lbht,b,t->lh", parent_weights, test.weight, has.astype(parent_weights.dtype)
        )
        parent = jnp.max(mean) / jnp.sum(has.astype(parent_weights.dtype))
    return {
        "loss": loss,
        "accuracy": accuracy,
        "counts_loss": counts_loss,
        "parent_attention": parent,
        "children_attention": answers.on(attention_maps, after, test.weight, T.n),
    }


def posterior(problem: Problem, config: Data) -> Float[Array, "B S"]:
    """The posterior mean of pi(.|s_T) on the test prompts; 1 beyond S."""
    valid = Size.wrap(config.num_states).mask()[None, :]
    return jnp.where(valid, laws.posterior(problem.test, problem.parents, config), 1)


def optimal(problem: Problem, config: Data) -> dict[str, Float[Array, ""]]:
    """The expected loss and accuracy of the best answer given the test prompts.

    They are the entropy and the largest entry of the posterior mean q of pi(.|s_T).

    Where first = stationary, tokens without a parent tell more of pi, and nothing is returned.
    """
    if config.first == "stationary":
        return {}
    valid = Size.wrap(config.num_states).mask()[None, :]
    q = jnp.where(valid, posterior(problem, config), 0)
    mean = lambda values: jnp.sum(problem.test.weight * values)
    return {"loss": mean(answers.entropy(q)), "accuracy": mean(jnp.max(q, axis=1))}


TASK = Task(
    name="causal_graph",
    Config=Data,
    problem=data.problem,
    sample=data.sample,
    inputs=inputs,
    loss=loss,
    outputs=lambda config: int(config.num_states.cap),
    vocabulary=lambda config: int(config.num_states.cap),
    metrics=metrics,
    optimal=optimal,
)
