"""Checks of descent."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.factual_recall import data, model, training
from jaxtheory.theories.factual_recall.checks import material
from jaxtheory.theories.factual_recall.checks.model import literal
from jaxtheory.theories.factual_recall.model import Config

STEPS = 3


@check("step: steps by autodiff", "derived", "equal")
def steps_by_autodiff(key: Array, config: Config) -> Compared:
    """Three steps against autodiff of the loss prompt by prompt."""
    if not material.is_unpadded(config):
        return None
    problem = data.problem(key, config)
    got = want = material.weights(key, problem, config)
    rate = jnp.asarray(config.learning_rate, float)
    for t in range(STEPS):
        got = training.step(key, t, got, (), problem, config)
        slope = jax.grad(lambda p: literal(p, problem, config))(want)
        want = jax.tree.map(lambda x, g: x - rate * g, want, slope)
    return got, want


@check("init: the flow from the start", "derived", "bound")
def flow_by_fine_steps(key: Array, config: Config) -> Compared:
    """u_v = sqrt(alpha^2 + |W_v|^2) and sum_a W_av = A alpha on a fine Runge-Kutta path.

    It begins at the start of training and takes a time in which the scores grow by a multiple. For
    random embeddings the sums over tokens are meant: sum u_v^2 - |W|^2 = V.
    """
    if not material.is_unpadded(config):
        return None
    config = config.replace(init_scale=0.3)
    problem = data.problem(key, config)
    start = model.init(key, problem, config)
    speed = jax.grad(lambda p: -model.loss(p, problem.train, problem, config))
    h, number = 0.05, 200
    add = lambda p, k, c: jax.tree.map(lambda x, y: x + c * y, p, k)

    def runge_kutta(_: Array | int, p: model.Params) -> model.Params:
        k1 = speed(p)
        k2 = speed(add(p, k1, h / 2))
        k3 = speed(add(p, k2, h / 2))
        k4 = speed(add(p, k3, h))
        mean = jax.tree.map(lambda a, b, c, d: (a + 2 * b + 2 * c + d) / 6, k1, k2, k3, k4)
        return add(p, mean, h)

    end = jax.lax.fori_loop(0, number, runge_kutta, start)
    u = jnp.concatenate(end.u)
    if config.embedding == "random":
        return jnp.abs(jnp.sum(u**2) - jnp.sum(end.W**2) - len(u))[None], jnp.full(1, 1e-6)
    columns = jnp.concatenate([jnp.sum(b**2, axis=(0, 1)) for b in end.W])
    sums = jnp.concatenate([jnp.sum(b, axis=(0, 1)) for b in end.W])
    A = end.W.subject.shape[0] * end.W.subject.shape[1]
    gaps = jnp.abs(jnp.stack([u - jnp.sqrt(columns + 0.09), sums - 0.3 * A]))
    return gaps, jnp.full(gaps.shape, 1e-6)
