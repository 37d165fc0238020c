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
    """The steps in which the initial weights grow by a factor e.

    Near zero L = const - 2 <Gamma, sum_h v_h U_h>, Gamma_a,jk = mean y S_aj x_k, so that they grow by
    1 + 2 eta gamma a step, gamma the largest singular value of Gamma as a map from U to v.
    """
    S, x, y, weight = problem.train
    Gamma = jnp.einsum("p,paj,pk->ajk", weight * y, S, x).reshape(S.shape[1], -1)
    gamma = jnp.linalg.svd(Gamma, compute_uv=False)[0]
    growth = jnp.log1p(2 * config.learning_rate * gamma)
    return {"e_fold:law": jnp.broadcast_to(1 / growth, len(steps))}


TRAINED = THEORY._replace(
    problem=problem,
    metrics=metrics,
    dims={},
    predict=predict,
    checks=(),
    examples=(),
    given=None,
)
