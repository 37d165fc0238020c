"""Checks of the pruning by scores and of the logit factor."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.attention_pruning import model
from jaxtheory.theories.attention_pruning.analyses import pruning
from jaxtheory.theories.attention_pruning.checks import literal, material
from jaxtheory.theories.attention_pruning.model import Config


@check("count: floor(rho n), exact for rho = k/100", "end of section 4", "equal")
@material.once
def count_one_by_one(key: Array, config: Config) -> Compared:
    """The count at rho = k/100 of 100 entries for every k, and at the config's rho.

    Floats fall short at 0.29.
    """
    n, percents = config.dimension.cap**2, np.arange(100)
    counts = jax.vmap(pruning.count, (0, None))(jnp.asarray(percents / 100), 100)
    return [c.astype(float) for c in (counts, pruning.count(config.pruning_ratio, n))], [
        jnp.asarray(w, float) for w in (percents, literal.zeros_of(config, n))
    ]


@check("binarize: all pairs compared, ties in index order", "end of section 4", "equal")
@material.where_rows
def binarize_by_comparison(key: Array, config: Config) -> Compared:
    """The binary mask by comparing all pairs of integer scores, which have many ties."""
    shape = (config.dimension.cap, config.dimension.cap)
    scores = jnp.round(2 * jax.random.normal(key, shape))
    got = pruning.binarize(scores, config.pruning_ratio, model.entries(config))
    return got.astype(float), literal.kept_by_comparison(scores.ravel(), config).reshape(shape)


@check("doubled: softmax of twice the logits", "derived", "equal")
@material.once
def doubled_logits(key: Array, config: Config) -> Compared:
    """The softmax of doubled logits on the rows of `rows`."""
    z, _, _ = literal.rows(key)
    return pruning.doubled(literal.shown_softmax(z)), literal.shown_softmax(2 * z)


@check("best_logit_factor: least error of the factors tried", "derived", "equal")
@material.where_long
def best_factor_by_search(key: Array, config: Config) -> Compared:
    """The error at the chosen factor is the least over the factors tried.

    These are the octaves and the half octaves beside the best, each computed by itself. Logits
    2^1.5 times too large need the factor 2^-1.5.
    """
    problem, _, fused, _ = material.setting(key, config)
    inputs, f_star, mask = pruning.calibration(problem, config)
    W = model.masked_weights(fused, problem)
    error = lambda k: pruning.error(2**k * W, inputs, f_star, mask)
    alpha = pruning.best_logit_factor(model.logits(W, inputs), f_star, mask)
    octaves = jnp.arange(-7.0, 2.0)
    best = octaves[jnp.argmin(jax.lax.map(error, octaves))]
    least = jnp.min(jax.lax.map(error, jnp.clip(best + jnp.asarray([-0.5, 0.0, 0.5]), -7.0, 1.0)))
    large = 2**1.5 * model.logits(problem.weights, inputs)
    undone = pruning.best_logit_factor(large, f_star, mask)
    return (pruning.error(alpha * W, inputs, f_star, mask), undone), (
        least,
        jnp.asarray(2**-1.5),
    )
