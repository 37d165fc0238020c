"""Metrics along training, and the theory's levels and conditions."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from jaxtheory.core.config import Size
from jaxtheory.theories.positional_semantic import laws, model
from jaxtheory.theories.positional_semantic.model import Config, Params, Problem


def metrics(params: Params, problem: Problem, config: Config) -> dict:
    """Return the metrics.

    train_error   mean of |y - f|^2 / d on the training samples
    energy        L / d
    test_error    E |y - f|^2 / d of fresh samples, see `laws.test_error`
    semantic      |theta| / sqrt(q), the cosine of Q and Q*; 0 at Q = 0
    positional    |m| / (rho sqrt(q)), the cosine of Q and p; 0 at Q = 0
    norm          q = |Q|^2 / d
    """
    o = model.overlaps(params, problem, config)
    d, n = (jnp.asarray(Size.wrap(x).real, float) for x in (config.dimension, config.num_samples))
    error = model.squares(params, problem.train, problem, config) / n
    root = jnp.sqrt(jnp.where(o.q > 0, o.q, 1))
    return {
        "train_error": error,
        "energy": (error * n / d + jnp.asarray(config.ridge, float) * o.q) / 2,
        "test_error": laws.test_error(o, config),
        "semantic": jnp.abs(o.theta) / root,
        "positional": jnp.abs(o.m) / (jnp.asarray(config.position_norm, float) * root),
        "norm": o.q,
    }


def predict(_problem: Problem, config: Config, steps: Int[Array | np.ndarray, " T"]) -> dict:
    """Return levels for all steps. The minima are in `laws.branch`, which is solved once.

    test_error: baseline    sigma^2 E |T - E T|^2, of the best constant matrix in place of attention
    test_error: zero        the error at Q = 0, where attention is 1/2
    """
    zero = laws.test_error(model.Overlaps(*jnp.zeros(3)), config)
    level = lambda value: jnp.broadcast_to(value, np.asarray(steps).shape)
    return {"test_error:baseline": level(laws.baseline(config)), "test_error:zero": level(zero)}


def assumptions(_problem: Problem, config: Config) -> dict:
    """Return the conditions under which the laws of the limit are meant to describe a run.

    "High dimension" and "comparably many samples" have no constants in the abstract; ours are
    d >= 100 and 1/10 <= n/d <= 10.
    """
    d, n = (jnp.asarray(Size.wrap(x).real, float) for x in (config.dimension, config.num_samples))
    margins = {
        "high dimension: d >= 100": d - 100,
        "comparably many samples: |log10(n/d)| <= 1": 1 - jnp.abs(jnp.log10(n / d)),
    }
    return {name: (margin >= 0, margin) for name, margin in margins.items()}
