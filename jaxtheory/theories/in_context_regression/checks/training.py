"""Checks of the steps and of the metrics."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.in_context_regression import data, laws, model, predictions, training
from jaxtheory.theories.in_context_regression.checks import literal, material
from jaxtheory.theories.in_context_regression.model import Config, Literal


@check("step: autodiff of the loss", material.PAPER, "equal")
def step_descends(key: Array, config: Config) -> Compared:
    """A step of gd against autodiff of the loss on the prompts."""
    problem, params = material.setting(key, config)
    slope = jax.grad(model.loss)(params, problem.train, problem, config)
    want = jax.tree.map(lambda x, g: x - config.learning_rate * g, params, slope)
    return training.step(key, 0, params, (), problem, config), want


@check("population_step: autodiff of the loss", "derived", "equal")
def population_descends(key: Array, config: Config) -> Compared:
    """A step on the population against autodiff of the population loss in the weights that move."""
    problem, params = material.setting(key, config)
    law = laws.population(problem.task, config)
    heads = training.reduced(params)
    slope = jax.grad(lambda p: laws.loss(model.matrix(p), law))(heads)
    new = jax.tree.map(lambda x, g: x - config.learning_rate * g, heads, slope)
    want = model.literal(new) if isinstance(params, Literal) else new
    return training.population_step(key, 0, params, (), problem, config), want


@check("gradient: blocks at rest", "derived", "bound")
def even_blocks_rest(key: Array, config: Config) -> Compared:
    """On prompts and their negatives, the other blocks of literal weights have no gradient at 0."""
    if config.form != "literal":
        return None
    problem, params = material.setting(key, config)
    plain = model.literal(training.reduced(params))
    x, y, query, label = material.raw(key, config)
    twice = lambda a, sign: jnp.concatenate([a, sign * a])
    P = Size.wrap(config.num_prompts)
    batch = data.batch(
        twice(x, 1), twice(y, -1), twice(query, 1), twice(label, -1), 2 * P.cap, config.length
    )
    slope = jax.grad(model.loss)(plain, batch, problem, config)
    even_slope = jnp.concatenate([slope.v[:, 1:].ravel(), slope.U[:, 0].ravel()])
    scale = jnp.max(jnp.abs(slope.U))
    return jnp.max(jnp.abs(even_slope)), 1e-6 * scale


@check("metrics: at the minimum", "derived", "equal")
def metrics_at_minimum(key: Array, config: Config) -> Compared:
    """Metrics of aligned heads at the minimum.

    There is no excess, all components are 1, and nothing is off the diagonal.
    """
    config = material.aligned(config)
    D, H, R = (Size.wrap(n).cap for n in (config.dimension, config.heads, config.rank))
    if not material.is_unpadded(config) or (config.form == "separate" and (H < D or R > 1)):
        return None
    problem, _ = material.setting(key, config)
    metrics = predictions.metrics(material.minimum(config), problem, config)
    names = ("excess", "components", "learned", "off_diagonal", "even", "loss")
    best = laws.plateaus(config)[-1]
    want = (0.0, jnp.ones(D), float(D), 0.0, 0.0, best)
    got = jnp.concatenate([jnp.atleast_1d(metrics[name]) for name in names])
    return got, jnp.concatenate([jnp.atleast_1d(jnp.asarray(x, float)) for x in want])


@check("metrics: by definition", "derived", "equal")
def metrics_by_definition(key: Array, config: Config) -> Compared:
    """Metrics of random weights from the whole matrices.

    Losses are taken prompt by prompt, the excess by the quadratic form around the minimum, the
    shares of squares entry by entry.
    """
    if not material.is_unpadded(config):
        return None
    problem, params = material.setting(key, config)
    x, y, query, label = material.raw(jax.random.split(key)[0], config)
    f = jax.vmap(lambda *prompt: literal.output(params, *prompt))(x, y, query)
    V, KQ = literal.full_matrices(params)
    D = query.shape[1]
    v, U = V[:, -1], KQ[:, :, :D]
    A = jnp.einsum("h,hij->ij", v[:, -1], U[:, :D])
    law = laws.population(problem.task, config)
    deviation = A - laws.minimum(law)
    even_square = jnp.sum(v[:, :D] ** 2) + jnp.sum(U[:, D] ** 2)
    want = {
        "train_loss": jnp.mean((label - f) ** 2),
        "test_loss": jnp.mean((label - f) ** 2),
        "excess": jnp.einsum("ij,ik,kj,j->", deviation, law.E, deviation, law.spectrum),
        "off_diagonal": 1 - jnp.sum(jnp.diag(A) ** 2) / jnp.sum(A**2),
        "even": even_square / (jnp.sum(v**2) + jnp.sum(U**2)),
    }
    metrics = predictions.metrics(params, problem, config)
    return {name: metrics[name] for name in want}, want
