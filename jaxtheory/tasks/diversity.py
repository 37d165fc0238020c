"""The task of `task_diversity`: regress in context on noisy labels of a finite set of tasks.

The network sees the theory's tokens (y_i, x_i) and (0, x), vectors of d + 1 numbers with the label
first. Its one output at position l + 1 is the answer f. The loss is the theory's mean (y - f)^2.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.core.config import Size
from jaxtheory.core.task import Task
from jaxtheory.ops import linalg
from jaxtheory.ops.positions import indices
from jaxtheory.tasks import answers, regression
from jaxtheory.tasks.regression import Batch
from jaxtheory.theories.task_diversity import data, laws
from jaxtheory.theories.task_diversity.data import Prompts
from jaxtheory.theories.task_diversity.model import Data

TEST_PROMPTS = Size.wrap(2000)


class Problem(NamedTuple):
    """The theory's training prompts, test prompts with fresh tasks and with the training tasks.

    The last field holds the k tasks, which are not used where tasks are fresh.
    """

    train: Batch
    test: Batch
    train_tasks: Batch
    tasks: Float[Array, "k d"]


def problem(key: Array, config: Data) -> Problem:
    """Draw the theory's training prompts, and 2000 test prompts of each kind."""
    train, tasks = data.raw(key, config)
    for_w, for_fresh, for_choice, for_own = jax.random.split(jax.random.fold_in(key, 3), 4)
    test_config = config.replace(num_prompts=TEST_PROMPTS)
    fresh = data.on_sphere(for_w, TEST_PROMPTS, config)
    own = fresh if config.tasks == "fresh" else data.chosen(for_choice, tasks, test_config)
    prompts = data.prompts(for_fresh, fresh, test_config), data.prompts(for_own, own, test_config)
    test, test_own = (Batch(group, TEST_PROMPTS.weights()) for group in prompts)
    return Problem(Batch(train, config.num_prompts.weights()), test, test_own, tasks)


def ridge(prompts: Prompts, config: Data) -> Float[Array, " B"]:
    """The answer <w, x> of ridge regression on the prompt, w = (X^T X + rho)^-1 X^T y.

    For rho = 0 it is least squares of least norm.
    """
    l, d = config.length.n, config.dimension.n
    U, s, Vt = linalg.svd(prompts.x)
    valid = indices(s.shape[1])[None, :] < jnp.minimum(l, d)
    rho = jnp.asarray(config.noise_variance, float)
    inverse = jnp.where(valid, linalg.quotient(s, s**2 + rho), 0)
    projection = jnp.einsum("bkd,bd->bk", Vt, prompts.query)
    return jnp.sum(projection * inverse * jnp.einsum("blk,bl->bk", U, prompts.y), axis=1)


def metrics(outputs: Any, _maps: answers.Maps, problem: Problem, config: Data) -> dict[str, Any]:
    """Return the metrics.

    loss            mean (y - f)^2 on test prompts with fresh tasks, e_ICL
    own_loss        the same on test prompts with the training tasks, e_IDG
    layer_loss      the least loss of a layer of linear attention on fresh tasks, in expectation;
                    training does not change it
    ridge_distance  mean (f - g)^2 on fresh tasks, where g is the answer of ridge regression on the
                    prompt
    """
    test, own = problem.test, problem.train_tasks
    f = regression.answer(outputs(test), config)
    return {
        "loss": jnp.sum(test.weight * (test.prompts.label - f) ** 2),
        "own_loss": regression.loss(outputs(own), own, problem, config),
        "layer_loss": laws.best(config),
        "ridge_distance": jnp.sum(test.weight * (f - ridge(test.prompts, config)) ** 2),
    }


def optimal(problem: Problem, config: Data) -> dict[str, Float[Array, ""]]:
    """The loss of ridge regression on the test prompts with fresh tasks.

    It is close to the best for large d: the posterior mean of Gaussian tasks.
    """
    test = problem.test
    wrong = test.prompts.label - ridge(test.prompts, config)
    return {"loss": jnp.sum(test.weight * wrong**2)}


def fresh(key: Array, problem: Problem, config: Data) -> Batch:
    """Draw n new prompts, each with one of the same k tasks, or with a fresh one."""
    for_choice, for_prompts = jax.random.split(key)
    if config.tasks == "fresh":
        w = data.on_sphere(for_choice, config.num_prompts, config)
    else:
        w = data.chosen(for_choice, problem.tasks, config)
    return Batch(data.prompts(for_prompts, w, config), config.num_prompts.weights())


def optimal_without(_information: str, _problem: Problem, config: Data) -> Float[Array, ""]:
    """1 + rho on fresh tasks, without the prompt or without the examples.

    A fresh task is w or -w alike, so that 0 is the best answer, and E y^2 = |w|^2 / d + rho. Of
    `own_loss` without the examples it is |m|^2 / d less, with m the mean of the k tasks.
    """
    return 1 + jnp.asarray(config.noise_variance, float)


TASK = Task(
    name="task_diversity",
    Config=Data,
    problem=problem,
    sample=regression.sample,
    inputs=regression.inputs,
    loss=regression.loss,
    outputs=lambda config: 1,
    vocabulary=lambda config: None,
    metrics=metrics,
    optimal=optimal,
    fresh=fresh,
    edges=regression.edges,
    optimal_without=optimal_without,
)
