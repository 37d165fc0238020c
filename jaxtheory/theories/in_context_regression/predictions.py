"""Metrics along training, and the theory's curves and conditions."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from jaxtheory.core.config import Size
from jaxtheory.ops import linalg
from jaxtheory.theories.in_context_regression import laws, model, training
from jaxtheory.theories.in_context_regression.model import Config, Literal, Params, Problem


def metrics(params: Params, problem: Problem, config: Config) -> dict:
    """Return the metrics.

    loss           population loss of f = beta^T A x; for literal weights, of their part A
    train_loss     loss on the training prompts
    test_loss      loss on the test prompts
    excess         loss minus that of the minimum
    components     A_dd over that of the minimum, for each feature d; NaN for padded features
    learned        number of components of at least 1/2
    off_diagonal   share of |A|^2 off the diagonal, 0 at A = 0
    even           share of |v|^2 and |U|^2 in the blocks that make f even in w; 0 except for
                   literal weights
    """
    law = laws.population(problem.task, config)
    best = laws.minimum(law)
    A = model.matrix(training.reduced(params))
    diagonal, valid = jnp.diag(A), law.spectrum > 0
    share = diagonal / jnp.where(valid, jnp.diag(best), 1)
    L, squares = laws.loss(A, law), jnp.sum(A**2)
    return {
        "loss": L,
        "train_loss": model.loss(params, problem.train, problem, config),
        "test_loss": model.loss(params, problem.test, problem, config),
        "excess": L - laws.loss(best, law),
        "components": jnp.where(valid, share, jnp.nan),
        "learned": jnp.sum(valid & (share >= 0.5)).astype(float),
        "off_diagonal": linalg.quotient(squares - jnp.sum(diagonal**2), squares),
        "even": even(params),
    }


def even(params: Params) -> Array:
    """The share of the squares of literal weights in the blocks that make f even in w."""
    if not isinstance(params, Literal):
        return jnp.zeros(())
    even_square = jnp.sum(params.v[:, 1:] ** 2) + jnp.sum(params.U[:, 0] ** 2)
    return linalg.quotient(even_square, jnp.sum(params.v**2) + jnp.sum(params.U**2))


def predict(problem: Problem, config: Config, steps: Int[Array | np.ndarray, " T"]) -> dict:
    """Return the theory's curves on the population.

    loss: minimum   the least loss, for all steps
    loss: aligned   descent from the aligned start, NaN for another start, for in-weight tasks and
                    for separate weights of rank above 1
    loss: logistic  the logistic law of the merged form from the aligned start at a = 0
    """
    times = np.asarray(steps)
    law = laws.population(problem.task, config)
    run = laws.aligned_run(config, int(times.max(initial=0)) + 1)[times]
    plain = jnp.asarray(config.in_weight_share) == 0
    white = plain & (jnp.asarray(config.spectrum) == 0)
    aligned, merged = config.start == "aligned", config.form != "separate"
    curve = laws.logistic(jnp.asarray(times, float), config)
    return {
        "loss:minimum": jnp.broadcast_to(laws.loss(laws.minimum(law), law), times.shape),
        "loss:aligned": jnp.where(plain & aligned, run, jnp.nan),
        "loss:logistic": jnp.where(white & aligned & merged, curve, jnp.nan),
    }


def assumptions(_problem: Problem, config: Config) -> dict:
    """Return the conditions under which the curves above describe training.

    "Small" and "many" have no constants in the source; ours are a tenth and a hundredfold.
    """
    D, P, H = (
        jnp.asarray(Size.wrap(n).real, float)
        for n in (config.dimension, config.num_prompts, config.heads)
    )
    a, _ = laws.shares(config)
    curvature = laws.curvature(config)
    stable = jnp.where(jnp.isnan(curvature), 0, 2 / curvature)
    margins = {
        "small start: H sigma^k < max A / 10, k weights in a path": jnp.max(a) / 10
        - H * config.initial_scale ** (3 if config.form == "separate" else 2),
        "many prompts: P > 100 D^2": P - 100 * D**2,
        "no in-weight tasks: c = 0": 1e-12 - jnp.asarray(config.in_weight_share, float),
        "eta < 2 / curvature at the minimum, if that is known": stable - config.learning_rate,
    }
    return {name: (margin > 0, margin) for name, margin in margins.items()}
