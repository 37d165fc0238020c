"""The task of `causal_graph`: predict the next state of a Markov chain that is seen in context.

The network sees the states s_1..s_T of a prompt as tokens, and its S outputs at position T are
logits. The loss is the cross-entropy under pi(.|s_T), the row of the prompt's own matrix. The
theory's layers have a share of attention as output and an offset eps inside the logarithm instead.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxtheory.core.config import Size
from jaxtheory.core.task import Task
from jaxtheory.ops.positions import indices
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


def fresh(key: Array, problem: Problem, config: Data) -> Batch:
    """Draw P new prompts with the same graph."""
    return data.sample(key, problem, config.replace(prompts="fresh"))


def edges(batch: Batch, problem: Problem, _config: Data) -> Bool[Array, "B T T"]:
    """From each token to its parent."""
    to_parent = indices(batch.s.shape[1])[None, :] == problem.parents[:, None] - 1
    return jnp.broadcast_to(to_parent, (len(batch.s), *to_parent.shape))


def unordered(problem: Problem, config: Data) -> Float[Array, "B S"]:
    """The posterior mean with the counts of children replaced by their means over all orders.

    With n_k tokens in state k before the query q = s_T, and E tokens of them with a parent, a
    random order has E n_q (n_k - 1[k = q]) / ((T - 1)(T - 2)) children of q in state k on average.
    """
    test, S, T = problem.test, Size.wrap(config.num_states), Size.wrap(config.length)
    before = indices(T.cap) < jnp.asarray(T.n, jnp.int32) - 1
    states = indices(S.cap)
    seen = (test.s[:, :, None] == states[None, None, :]) & before[None, :, None]
    own = (test.query[:, None] == states[None, :]).astype(float)
    n = jnp.sum(seen.astype(float), axis=1)
    pairs = jnp.sum(own * n, axis=1, keepdims=True) * (n - own)
    length, linked = jnp.asarray(T.real, float), (problem.parents > 0) & before
    places = jnp.maximum((length - 1) * (length - 2), 1)
    mean = jnp.sum(linked.astype(float)) / places * pairs
    alpha, number = jnp.asarray(config.concentration, float), jnp.asarray(S.real, float)
    return (mean + alpha) / (jnp.sum(mean, axis=1, keepdims=True) + number * alpha)


def optimal_without(information: str, problem: Problem, config: Data) -> Float[Array, ""]:
    """log S without the prompt; without the parents the loss of `unordered` on the test prompts.

    The latter is an upper bound of the least loss of answers that know how many tokens are in each
    state, and s_T, but not which follows which.
    """
    if information == "prompt":
        return jnp.log(jnp.asarray(Size.wrap(config.num_states).real, float))
    test, logits = problem.test, jnp.log(unordered(problem, config))
    return answers.against_law(logits, test.target, test.weight, config.num_states)[0]


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
    fresh=fresh,
    edges=edges,
    optimal_without=optimal_without,
)
