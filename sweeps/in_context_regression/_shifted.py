"""A layer that is trained on the theory's prompts and tested on prompts of another law.

With the diagonal covariances W of tasks, L of examples and Q of queries at test time, the error
over E y^2 = tr(Q W) is

    1 - (2 tr(A Q W L) - tr(A^T E A Q)) / tr(Q W),   E = (1 + 1/N) L W L + tr(L W) L / N
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory import Size, draws, traced
from jaxtheory.theories.in_context_regression import (
    Batch,
    Config,
    Params,
    Problem,
    data,
    laws,
    model,
)

from . import THEORY

REAL = "(-inf, inf)"


class Shifted(Config):
    """The layer, and the law of the test prompts."""

    task_spectrum: float = traced(
        0.0, "at", "eigenvalue d of the test tasks' covariance falls as (D + 1 - d)^at", REAL
    )
    query_spectrum: float = traced(1.0, "aq", "exponent of the test queries' covariance", REAL)
    example_spectrum: float = traced(1.0, "ax", "exponent of the test examples' covariance", REAL)
    covariate_scale: float = traced(
        1.0, "cs", "factor of the test covariances of examples and queries", "(0, inf)"
    )


def spectra(config: Shifted) -> tuple[Float[Array, " D"], Float[Array, " D"], Float[Array, " D"]]:
    """The diagonals of W, L and Q. tr W = D, and tr L = tr Q is that of training times s."""
    falling = lambda power: model.eigenvalues(config.replace(spectrum=power))
    share = falling(config.task_spectrum) / config.total_variance
    L, Q = falling(config.example_spectrum), falling(config.query_spectrum)
    return config.dimension.real * share, config.covariate_scale * L, config.covariate_scale * Q


def shifted(key: Array, config: Shifted) -> Batch:
    """Test prompts of the shifted law."""
    D, n, P = config.dimension, config.length, config.num_test
    W, L, Q = (jnp.sqrt(x) for x in spectra(config))
    for_x, for_query, for_w = jax.random.split(key, 3)
    x = L[None, None] * draws.normal(for_x, P, n, D)
    query, w = Q[None] * draws.normal(for_query, P, D), W[None] * draws.normal(for_w, P, D)
    return data.batch(x, jnp.einsum("pnd,pd->pn", x, w), query, jnp.sum(query * w, axis=1), P, n)


def problem(key: Array, config: Shifted) -> Problem:
    """The theory's problem, with shifted test prompts."""
    for_training, for_test = jax.random.split(key)
    return data.problem(for_training, config)._replace(test=shifted(for_test, config))


def metrics(params: Params, problem: Problem, config: Shifted) -> dict:
    """The error on the test prompts, over the variance of their labels."""
    W, _, Q = spectra(config)
    return {"error": model.loss(params, problem.test, problem, config) / jnp.sum(Q * W)}


def predict(problem: Problem, config: Shifted, steps: Any) -> dict:
    """The error of the minimum on infinitely many shifted prompts."""
    A = jnp.diag(laws.minimum(laws.population(problem.task, config)))
    (W, L, Q), n = spectra(config), jnp.asarray(Size.wrap(config.length).real, float)
    E = (1 + 1 / n) * L * W * L + jnp.sum(L * W) / n * L
    error = 1 - jnp.sum(2 * A * Q * W * L - A * E * A * Q) / jnp.sum(Q * W)
    return {"error:law": jnp.broadcast_to(error, len(steps))}


TESTED = THEORY._replace(
    Config=Shifted,
    problem=problem,
    metrics=metrics,
    dims={},
    predict=predict,
    checks=(),
    examples=(),
    given=None,
)
