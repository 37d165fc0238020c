"""The task of `in_context_regression`: regress in context on labels without noise.

The network sees the theory's tokens (y_n, x_n) and (0, q), vectors of D + 1 numbers with the label
first. Its one output at position N + 1 is the answer f. The loss is the theory's mean (y - f)^2.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxtheory.core.task import Task
from jaxtheory.ops import linalg
from jaxtheory.ops.positions import indices
from jaxtheory.tasks import answers
from jaxtheory.theories.in_context_regression import data, laws, model
from jaxtheory.theories.in_context_regression.data import Prompts
from jaxtheory.theories.in_context_regression.model import Data


class Batch(NamedTuple):
    """Prompts with x, y, query and label, and the weights of their mean."""

    prompts: Any
    weight: Float[Array, " B"]


class Problem(NamedTuple):
    """The theory's training and test prompts, and the fixed task."""

    train: Batch
    test: Batch
    task: Float[Array, " D"]


def problem(key: Array, config: Data) -> Problem:
    """Draw the theory's training prompts, its test prompts and the fixed task."""
    train, test, task = data.raw(key, config)
    train_weights, test_weights = config.num_prompts.weights(), config.num_test.weights()
    return Problem(Batch(train, train_weights), Batch(test, test_weights), task)


def sample(_key: Array, problem: Any, _config: Any) -> Batch:
    """Return the fixed training set."""
    return problem.train


def inputs(batch: Batch, _problem: Any, config: Any) -> Float[Array, "B N+1 D+1"]:
    """The tokens (y_n, x_n) of the examples and (0, q) of the query."""
    prompts, N = batch.prompts, config.length
    place = indices(N.cap + 1)[None, :, None]
    examples = jnp.concatenate([prompts.y[:, :, None], prompts.x], axis=2)
    examples = jnp.pad(examples, ((0, 0), (0, 1), (0, 0)))
    last = jnp.pad(prompts.query, ((0, 0), (1, 0)))[:, None, :]
    return jnp.where(place == N.n, last, examples)


def answer(outputs: Float[Array, "B L 1"], config: Any) -> Float[Array, " B"]:
    """The answer f at the query."""
    return answers.at_last(outputs, config.length.n + 1)[:, 0]


def loss(
    outputs: Float[Array, "B L 1"], batch: Batch, _problem: Any, config: Any
) -> Float[Array, ""]:
    """mean (y - f)^2."""
    return jnp.sum(batch.weight * (batch.prompts.label - answer(outputs, config)) ** 2)


def least_squares(prompts: Prompts, config: Data) -> tuple[Float[Array, " B"], Float[Array, " B"]]:
    """The answer <w, q> of the shortest w that fits the prompt, and |q|^2 off the prompt's span.

    w has <w, x_n> = y_n for all n. The second value is |q|^2 less the part of it in the span of the
    x_n. That span has min(N, D) dimensions with probability 1.
    """
    N, D = config.length.n, config.dimension.n
    U, s, Vt = linalg.svd(prompts.x)
    valid = indices(s.shape[1])[None, :] < jnp.minimum(N, D)
    projection = jnp.where(valid, jnp.einsum("bkd,bd->bk", Vt, prompts.query), 0)
    w = linalg.quotient(jnp.einsum("bnk,bn->bk", U, prompts.y), s)
    residual = jnp.sum(prompts.query**2, axis=1) - jnp.sum(projection**2, axis=1)
    return jnp.sum(projection * w, axis=1), jnp.where(N < D, jnp.maximum(residual, 0), 0)


def layer(problem: Problem, config: Data) -> Float[Array, " B"]:
    """The answers beta^T A q of the best layer of linear attention on the test prompts.

    A is the theory's minimum of the population loss.
    """
    x, y, query, _, _ = problem.test.prompts
    beta = jnp.einsum("bn,bnd->bd", y, x) / jnp.asarray(config.length.real, float)
    A = laws.minimum(laws.population(problem.task, config))
    return jnp.sum((beta @ A) * query, axis=1)


def metrics(outputs: Any, _maps: answers.Maps, problem: Problem, config: Data) -> dict[str, Any]:
    """Return the metrics on the test prompts.

    loss                    mean (y - f)^2
    relative_error          that over mean y^2, the loss of the answer 0
    layer_error             the same for the best layer of linear attention, which does one step of
                            preconditioned gradient descent; training does not change it
    layer_distance          mean (f - g)^2 over mean y^2, where g is the answer of that layer
    least_squares_distance  the same, where g is the answer of least squares on the prompt, with the
                            shortest w; equal to relative_error for N >= D
    """
    test = problem.test
    f, label = answer(outputs(test), config), test.prompts.label
    mean = lambda values: jnp.sum(test.weight * values)
    scale, best = mean(label**2), layer(problem, config)
    wrong = mean((label - f) ** 2)
    fitted, _ = least_squares(test.prompts, config)
    return {
        "loss": wrong,
        "relative_error": wrong / scale,
        "layer_error": mean((label - best) ** 2) / scale,
        "layer_distance": mean((f - best) ** 2) / scale,
        "least_squares_distance": mean((f - fitted) ** 2) / scale,
    }


def optimal(problem: Problem, config: Data) -> dict[str, Float[Array, ""]]:
    """The expected loss of the best answer given the test prompts, and that over mean y^2.

    The labels determine w on the span of the x_n, so that the error is |q|^2 less the part of q in
    that span: 0 for N >= D. It is 0 where the labels are those of the fixed task, too.
    """
    test = problem.test
    _, residual = least_squares(test.prompts, config)
    least = jnp.sum(test.weight * jnp.where(test.prompts.fixed, 0, residual))
    return {
        "loss": least,
        "relative_error": least / jnp.sum(test.weight * test.prompts.label**2),
    }


def fresh(key: Array, problem: Problem, config: Data) -> Batch:
    """Draw P new prompts, a share c of them with the same fixed task."""
    prompts = data.prompts(key, config.num_prompts, problem.task, config)
    return Batch(prompts, config.num_prompts.weights())


def edges(batch: Batch, _problem: Any, config: Any) -> Bool[Array, "B N+1 N+1"]:
    """From the query to all examples."""
    place, N = indices(config.length.cap + 1), config.length.n
    to_examples = (place[:, None] == N) & (place[None, :] < N)
    return jnp.broadcast_to(to_examples, (len(batch.weight), *to_examples.shape))


def optimal_without(information: str, problem: Problem, config: Data) -> Float[Array, ""]:
    """(1 - c) tr Lambda + c v without the prompt, with v = w^T Lambda w of the fixed task w.

    Without the examples the best answer is c <w, q>, of loss (1 - c) (tr Lambda + c v).
    """
    variance = model.eigenvalues(config)
    total, own = jnp.sum(variance), jnp.sum(variance * problem.task**2)
    c = jnp.asarray(config.in_weight_share, float)
    if information == "prompt":
        return (1 - c) * total + c * own
    return (1 - c) * (total + c * own)


TASK = Task(
    name="in_context_regression",
    Config=Data,
    problem=problem,
    sample=sample,
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
