"""Metrics along training, and the theory's errors and conditions."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from jaxtheory.core.config import Size
from jaxtheory.theories.task_diversity import laws, model
from jaxtheory.theories.task_diversity.model import Config, Params, Problem


def metrics(params: Params, problem: Problem, config: Config) -> dict:
    """Return the metrics: errors on fresh and training tasks, training loss, size of the weights.

    Errors are exact expectations of (y - f)^2 over prompts, noise of y included.

    icl_error    error on a fresh task (in-context learning)
    idg_error    error on one of the training tasks (in-distribution); icl_error for fresh ones
    train_loss   mean of (y - f)^2 on the training prompts, without the penalty
    excess       icl_error minus the least of any weights
    diagonal     trace of Gamma over d
    norm         (|Gamma|^2 + |gamma|^2) / d
    """
    errors = laws.errors(params, problem.tasks, config)
    d = jnp.asarray(Size.wrap(config.dimension).real, float)
    return {
        "icl_error": errors.icl,
        "idg_error": errors.idg,
        "train_loss": model.squares(params, problem.train),
        "excess": errors.icl - laws.best(config),
        "diagonal": jnp.trace(params.Gamma) / d,
        "norm": (jnp.sum(params.Gamma**2) + jnp.sum(params.gamma**2)) / d,
    }


def predict(problem: Problem, config: Config, steps: Int[Array | np.ndarray, " T"]) -> dict:
    """Return the errors of the theory, for the minimum at all steps but those of `stopped`.

    icl_error: published    Result 1 of the source, the limit for lambda = 0
    icl_error: limit        the limit for any lambda, as in the authors' code, derived again
    icl_error: equivalent   the same at the run's tasks, d, l and n
    icl_error: stopped      `equivalent` for the penalty lambda + d / (2 eta t)
    icl_error: best         the least of any weights
    icl_error: bayes        the posterior mean, ridge regression on the prompt, in the limit
    idg_error: limit        the limit on one of the training tasks
    idg_error: equivalent   the same at the run's tasks, d, l and n
    idg_error: stopped      the same for the penalty lambda + d / (2 eta t)
    """
    times = np.asarray(steps)
    limit, equivalent = laws.limit(config), laws.equivalent(problem.tasks, config)
    stopped = laws.stopped(problem.tasks, jnp.asarray(times, float), config)
    level = lambda value: jnp.broadcast_to(value, times.shape)
    return {
        "icl_error:published": level(laws.published(config)),
        "icl_error:limit": level(limit.icl),
        "icl_error:equivalent": level(equivalent.icl),
        "icl_error:stopped": stopped.icl,
        "icl_error:best": level(laws.best(config)),
        "icl_error:bayes": level(laws.bayes(config)),
        "idg_error:limit": level(limit.idg),
        "idg_error:equivalent": level(equivalent.idg),
        "idg_error:stopped": stopped.idg,
    }


def assumptions(_problem: Problem, config: Config) -> dict:
    """Return the conditions under which the errors above describe the minimum.

    "Large" and "away from 1" have no constants in the source; ours are 10 and a tenth.
    """
    d = jnp.asarray(Size.wrap(config.dimension).real, float)
    tau, ridge = laws.scales(config).tau, jnp.asarray(config.ridge, float)
    margins = {
        "large d: d > 10": d - 10,
        "tau away from 1, or a penalty: |tau - 1| + lambda > 1/10": jnp.abs(tau - 1) + ridge - 0.1,
    }
    return {name: (margin > 0, margin) for name, margin in margins.items()}
