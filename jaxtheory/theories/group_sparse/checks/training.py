"""Checks of the steps."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.group_sparse import calculus, data, model, training
from jaxtheory.theories.group_sparse.checks import literal, material
from jaxtheory.theories.group_sparse.model import Batch, Config, Linear, Params, Problem


def stepped(params: Any, loss: Any, rate: Any) -> Any:
    """params - rate times autodiff's gradient."""
    return jax.tree.map(lambda x, g: x - rate * g, params, jax.grad(loss)(params))


def one(problem: Problem, i: int, config: Config) -> Batch:
    """Downstream sample i."""
    x, y, _ = data.moved(problem.downstream, problem, config)
    return Batch(x[:, :, i : i + 1], y[i : i + 1], jnp.ones(1))


def step_descends(key: Array, config: Config) -> Compared:
    """In v and W, at rate eta."""
    if not material.whole(config):
        return None
    problem, params = material.case(key, config)
    got = training.step(key, 0, params, problem.train, problem, config)
    return got, stepped(params, lambda p: literal.loss(p, problem.train), config.learning_rate)


def population_run(key: Array, config: Config) -> Compared:
    """Three steps from 0 against gradient descent on the completed sample."""
    if not material.small(config):
        return None
    problem, _ = material.setting(key, config)
    whole = literal.completed(problem.train, problem, config)
    reduced: Any = calculus.start()
    params: Any = model.init(key, problem, config)
    for t in range(3):
        reduced = training.population_step(key, t, reduced, problem.train, problem, config)
        params = training.step(key, t, params, whole, problem, config)
    return material.gathered(calculus.embed(reduced, problem, config)), material.gathered(params)


def downstream_steps(key: Array, config: Config) -> Compared:
    """Before tau a step of pre-training; at tau the values from 0; then on; after m samples the
    first again. For the three kinds of W.
    """
    if not material.whole(config):
        return None
    problem, params = material.case(key, config)
    m, tau = config.downstream_samples.cap, jnp.asarray(config.pretraining_steps, jnp.int32)
    keep = jax.lax.stop_gradient if config.attention == "frozen" else jnp.asarray
    trainable = lambda p: Params(p.v1, p.v2, *(keep(x) for x in p[2:]))
    emptied = params._replace(v1=0 * params.v1, v2=0 * params.v2)
    emptied = jax.tree.map(jnp.zeros_like, params) if config.attention == "scratch" else emptied
    got, want = [], []
    for later, i, start in ((0, 0, emptied), (1, 1 % m, params), (m, 0, params)):
        got.append(training.downstream_step(key, tau + later, params, (), problem, config))
        want.append(
            stepped(
                start,
                lambda p, i=i: literal.loss(trainable(p), one(problem, i, config)),
                config.downstream_rate,
            )
        )
    early = config.replace(pretraining_steps=tau + 1)
    got.append(training.downstream_step(key, tau, params, (), problem, early))
    return (got, [*want, training.step(key, 0, params, problem.train, problem, config)])


def logistic_steps(key: Array, config: Config) -> Compared:
    """From tau on, on one sample and on all; nothing before."""
    if not material.whole(config):
        return None
    problem, params = material.case(key, config)
    m, tau, beta = (
        config.downstream_samples.cap,
        jnp.asarray(config.pretraining_steps, jnp.int32),
        params.W12,
    )
    early = config.replace(pretraining_steps=tau + 5)
    got, want = [], []
    for later, i in ((0, 0), (1, 1 % m), (m, 0)):
        got.append(training.logistic_step(key, tau + later, Linear(beta), (), problem, config).beta)
        want.append(
            stepped(
                beta,
                lambda b, i=i: literal.linear_loss(b, one(problem, i, config)),
                config.downstream_rate,
            )
        )
    got.append(training.logistic_step(key, tau, Linear(beta), (), problem, early).beta)
    return got, [*want, beta]


def fit_steps(key: Array, config: Config) -> Compared:
    """From tau on, on all downstream samples; nothing before."""
    if not material.whole(config):
        return None
    problem, params = material.case(key, config)
    tau, beta = jnp.asarray(config.pretraining_steps, jnp.int32), params.W12
    early = config.replace(pretraining_steps=tau + 5)
    got = [training.fit_step(key, tau, Linear(beta), (), problem, c).beta for c in (config, early)]
    loss = lambda b: literal.linear_loss(b, data.moved(problem.downstream, problem, config))
    return got, [stepped(beta, loss, config.downstream_rate), beta]


CHECKS = (
    Check("step: descent on the token-by-token loss", material.PAPER, "equal", step_descends),
    Check("population_step: descent on the completed sample", "derived", "equal", population_run),
    Check("downstream_step: descent on one sample", material.PAPER, "equal", downstream_steps),
    Check("logistic_step: descent on one sample", "derived", "equal", logistic_steps),
    Check("fit_step: descent on all samples", "derived", "equal", fit_steps),
)
