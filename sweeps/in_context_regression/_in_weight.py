"""A layer tested on fresh tasks, on the task of a share c of its prompts, and on its negative."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory import Size, draws
from jaxtheory.theories.in_context_regression import (
    Batch,
    Config,
    Moments,
    Params,
    data,
    laws,
    model,
)

from . import THEORY


class Problem(NamedTuple):
    """The theory's problem, with test prompts of fresh tasks, of the fixed one and its negative."""

    train: Batch
    test: Batch
    moments: Moments
    task: Float[Array, " D"]
    fresh: Batch
    fixed: Batch
    negative: Batch


def problem(key: Array, config: Config) -> Problem:
    """Draw the prompts. The fixed task is scaled to E y^2 = tr Lambda, the mean of the others."""
    for_task, for_train, for_fresh, for_fixed = jax.random.split(key, 4)
    w = draws.normal(for_task, config.dimension)
    share = jnp.sum(model.eigenvalues(config) * w**2) / config.total_variance
    w0 = w / jnp.sqrt(share)

    def batch(prompts: data.Prompts, count: Size) -> Batch:
        return data.batch(*prompts[:4], count, config.length)

    def test(key: Array, share: float) -> data.Prompts:
        return data.prompts(key, config.num_test, w0, config.replace(in_weight_share=share))

    train = batch(data.prompts(for_train, config.num_prompts, w0, config), config.num_prompts)
    fresh, fixed = test(for_fresh, 0.0), test(for_fixed, 1.0)
    negative = fixed._replace(y=-fixed.y, label=-fixed.label)
    tests = [batch(prompts, config.num_test) for prompts in (fresh, fixed, negative)]
    return Problem(train, tests[0], data.moments(train), w0, *tests)


def metrics(params: Params, problem: Problem, config: Config) -> dict:
    """The losses on the training prompts and on those of each task."""
    of_theory = model.Problem(*problem[:4])
    batches = {name: getattr(problem, name) for name in ("train", "fresh", "fixed", "negative")}
    return {name: model.loss(params, batch, of_theory, config) for name, batch in batches.items()}


def predict(problem: Problem, config: Config, steps: Any) -> dict:
    """Return what is known of the first drop and of the merged form.

    e_fold:law        the steps in which the initial weights grow by a factor e. Near zero
                      L = const - 2 <Gamma, sum_h v_h U_h>, Gamma_a,jk = mean y S_aj x_k, so that they
                      grow by 1 + 2 eta gamma a step, gamma the largest singular value of Gamma as a
                      map from U to v
    negative:mixture  the error on the negative of the fixed task where the weights are the leading
                      singular vectors, scaled for the least error on the fixed task
    fixed:merged      the loss on the fixed task at the minimum of the merged form
    """
    S, x, y, weight = problem.train
    Gamma = jnp.einsum("p,paj,pk->ajk", weight * y, S, x)
    v, singular, U = jnp.linalg.svd(Gamma.reshape(S.shape[1], -1), full_matrices=False)
    growth = jnp.log1p(2 * config.learning_rate * singular[0])
    first = model.Literal(v[:, :1].T, U[0].reshape(1, *Gamma.shape[1:]))
    own, negative = (model.output(first, batch) for batch in (problem.fixed, problem.negative))
    scale = jnp.sum(own * problem.fixed.y) / jnp.sum(own**2)
    known = {
        "e_fold:law": 1 / growth,
        "negative:mixture": jnp.mean((scale * negative - problem.negative.y) ** 2),
        "fixed:merged": merged_loss(problem.task, config),
    }
    return {name: jnp.broadcast_to(value, len(steps)) for name, value in known.items()}


def merged_loss(task: Float[Array, " D"], config: Config) -> Float[Array, ""]:
    """The loss on the fixed task at the minimum of the merged form on the theory's prompts."""
    best = laws.minimum(laws.population(task, config))
    return laws.loss(best, laws.population(task, config.replace(in_weight_share=1.0)))


TRAINED = THEORY._replace(
    problem=problem,
    metrics=metrics,
    dims={},
    predict=predict,
    checks=(),
    examples=(),
    given=None,
)
