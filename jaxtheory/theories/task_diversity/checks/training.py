"""Checks of the minimum, the steps, the path of descent and the metrics."""

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Compared, check
from jaxtheory.ops import linalg
from jaxtheory.theories.task_diversity import calculus, laws, model, predictions, training
from jaxtheory.theories.task_diversity.checks import literal, material
from jaxtheory.theories.task_diversity.model import Config, Params

STEPS = 7


@check("step: autodiff of the loss", material.PAPER, "equal")
def step_descends(key: Array, config: Config) -> Compared:
    """A step of gd against autodiff of the loss."""
    problem, params = material.setting(key, config)
    slope = jax.grad(model.loss)(params, problem.train, problem, config)
    want = jax.tree.map(lambda x, g: x - config.learning_rate * g, params, slope)
    return training.step(key, 0, params, (), problem, config), want


@check("minimum: singular values", material.PAPER, "equal")
def minimum_by_svd(key: Array, config: Config) -> Compared:
    """The minimum against the singular value decomposition of the features.

    The state of `ridge` is the minimum for the config's penalty, and its steps change nothing.
    """
    if not material.is_unpadded(config):
        return None
    problem, _ = material.setting(key, config)
    shift = config.ridge / Size.wrap(config.dimension).cap
    want = calculus.packed(_by_svd(problem.train, shift))
    state = training.solved(key, problem, config)
    got = calculus.minimum(calculus.spectrum(problem.train), model.penalty(config))
    return (got, training.keep_state(key, 3, state, (), problem, config)), (want, want)


def _by_svd(batch: model.Batch, shift: Array | float) -> Array:
    n = len(batch.y)
    U, s, Vt = linalg.svd(calculus.features(batch) / n**0.5)
    inverse = jnp.where(s > 1e-12 * s[0], s / (s**2 + shift), 0)
    return Vt.T @ (inverse * (U.T @ batch.y)) / n**0.5


@check("minimum: gradient", material.PAPER, "bound")
def minimum_is_flat(key: Array, config: Config) -> Compared:
    """The gradient vanishes at the minimum."""
    problem, _ = material.setting(key, config)
    minimum = training.solved(key, problem, config)
    slope = jax.grad(model.loss)(minimum, problem.train, problem, config)
    first = jax.grad(model.loss)(model.init(key, problem, config), problem.train, problem, config)
    largest = lambda tree: jnp.max(jnp.abs(ravel_pytree(tree)[0]))
    return largest(slope), 1e-7 * largest(first)


@check("descended: step by step", "derived", "equal")
def descended_step_by_step(key: Array, config: Config) -> Compared:
    """The path against STEPS steps along the gradient from autodiff."""
    problem, _ = material.setting(key, config)
    params = model.init(key, problem, config)
    state = training.start(key, problem, config)
    got, want = [], []
    for t in range(STEPS):
        got.append(training.on_path(state, problem, config))
        want.append(params)
        slope = jax.grad(model.loss)(params, problem.train, problem, config)
        params = jax.tree.map(lambda x, g: x - config.learning_rate * g, params, slope)
        state = training.tick(key, t, state, (), problem, config)
    return got, want


@check("on_ridge_path: singular values", "derived", "equal")
def ridge_path_by_svd(key: Array, config: Config) -> Compared:
    """The minima of the path of penalties; zero weights at step 0."""
    if not material.is_unpadded(config):
        return None
    problem, _ = material.setting(key, config)
    state = training.start(key, problem, config)
    got, want = [training.on_ridge_path(state, problem, config)], [model.init(key, problem, config)]
    d = Size.wrap(config.dimension).cap
    for t in (1, 2, 50):
        at = state._replace(t=jnp.asarray(t, jnp.int32))
        got.append(training.on_ridge_path(at, problem, config))
        shift = (config.ridge + d / (2 * config.learning_rate * t)) / d
        want.append(calculus.packed(_by_svd(problem.train, shift)))
    return got, want


@check("metrics: by definition", "derived", "equal")
def metrics_by_definition(key: Array, config: Config) -> Compared:
    """Metrics of weights from [Gamma, gamma] and prompt by prompt."""
    if not material.is_unpadded(config):
        return None
    problem, params = material.setting(key, config)
    x, y, query, label = material.raw(jax.random.split(key)[0], config)
    G = literal.weights(params)
    f = jnp.stack([jnp.sum(G * literal.features(*p)) for p in zip(x, y, query, strict=True)])
    icl, idg = laws.errors(params, problem.tasks, config)
    want = {
        "icl_error": icl,
        "idg_error": idg,
        "train_loss": jnp.mean((label - f) ** 2),
        "excess": icl - laws.best(config),
        "diagonal": sum(G[i, i] for i in range(len(G))) / len(G),
        "norm": jnp.sum(G**2) / len(G),
    }
    return predictions.metrics(params, problem, config), want


@check("metrics: least error", "derived", "equal")
def excess_at_best(key: Array, config: Config) -> Compared:
    """The excess vanishes at Gamma = I / (1 + 1/l + (d/l) (1 + rho)), gamma = 0."""
    problem, params = material.setting(key, config)
    d, l = Size.wrap(config.dimension), Size.wrap(config.length).real
    scale = 1 / (1 + 1 / l + d.real / l * (1 + config.noise_variance))
    best = Params(scale * jnp.diag(d.mask().astype(float)), jnp.zeros_like(params.gamma))
    metrics = predictions.metrics(best, problem, config)
    return jnp.stack([metrics["excess"] + 1, metrics["diagonal"]]), jnp.stack([jnp.ones(()), scale])
