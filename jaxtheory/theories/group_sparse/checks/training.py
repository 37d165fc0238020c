"""Checks of the steps."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.group_sparse import calculus, data, training
from jaxtheory.theories.group_sparse.checks import literal, material
from jaxtheory.theories.group_sparse.model import Batch, Config, Linear, Params, Problem


def stepped(params: Any, loss: Any, rate: Any) -> Any:
    """The parameters minus rate times autodiff's gradient."""
    return jax.tree.map(lambda x, g: x - rate * g, params, jax.grad(loss)(params))


def stacked(*trees: Any) -> Any:
    """Stack the arrays of trees of one structure along a new first axis."""
    return jax.tree.map(lambda *x: jnp.stack(x), *trees)


def times(config: Config) -> tuple[Array, list[int]]:
    """The steps that are checked, with the samples of the last three.

    They are the last step of pre-training, the first two steps downstream and the step after all
    samples.
    """
    m = config.downstream_samples.cap
    tau = jnp.asarray(config.pretraining_steps, jnp.int32)
    return tau + jnp.asarray([-1, 0, 1, m], jnp.int32), [0, 1 % m, 0]


def singly(problem: Problem, chosen: list[int], config: Config) -> Batch:
    """Downstream samples, each as a batch of one, along a new first axis."""
    x, y, _ = data.moved(problem.downstream, problem, config)
    x = jnp.moveaxis(x, 2, 0)[np.array(chosen), :, :, None]
    return Batch(x, y[np.array(chosen), None], jnp.ones((len(chosen), 1)))


@check("step: descent on the token-by-token loss", material.PAPER, "equal")
def step_descends(key: Array, config: Config) -> Compared:
    """A step in v and W at rate eta against autodiff."""
    if not material.is_unpadded(config):
        return None
    problem, params = material.case(key, config)
    got = training.step(key, 0, params, problem.train, problem, config)
    return got, stepped(params, lambda p: literal.loss(p, problem.train), config.learning_rate)


@check("population_step: descent on the completed sample", "derived", "equal")
def population_descends(key: Array, config: Config) -> Compared:
    """A step of `population` is gradient descent on the completed sample, from a layer of the form.
    Checked at D = 3.
    """
    if not material.is_unpadded(config) or config.num_groups.cap != 3:
        return None
    problem, reduced = material.setting(key, config)
    symmetric_batch = literal.completed(problem.train, problem, config)
    new = training.population_step(key, 0, reduced, problem.train, problem, config)
    start = calculus.embed(reduced, problem, config)
    want = stepped(start, lambda p: literal.loss(p, symmetric_batch), config.learning_rate)
    return material.gathered(calculus.embed(new, problem, config)), material.gathered(want)


@check("downstream_step: descent on one sample", material.PAPER, "equal")
def downstream_steps(key: Array, config: Config) -> Compared:
    """Before tau a step is one of pre-training, and at tau v restarts from 0.

    After m samples the first sample comes again. Checked for the three kinds of W.
    """
    if not material.is_unpadded(config):
        return None
    problem, params = material.case(key, config)
    t, chosen = times(config)
    keep = jax.lax.stop_gradient if config.attention == "frozen" else jnp.asarray
    trainable = lambda p: Params(p.v1, p.v2, *(keep(x) for x in p[2:]))
    emptied = params._replace(v1=0 * params.v1, v2=0 * params.v2)
    emptied = jax.tree.map(jnp.zeros_like, params) if config.attention == "scratch" else emptied
    got = jax.vmap(lambda t: training.downstream_step(key, t, params, (), problem, config))(t)
    before = stepped(params, lambda p: literal.loss(p, problem.train), config.learning_rate)
    after = jax.vmap(
        lambda p, one: stepped(p, lambda p: literal.loss(trainable(p), one), config.downstream_rate)
    )(stacked(emptied, params, params), singly(problem, chosen, config))
    return got, jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), before, after)


@check("logistic_step: descent on one sample", "derived", "equal")
def logistic_steps(key: Array, config: Config) -> Compared:
    """From tau on, one sample after the other; before tau nothing changes."""
    if not material.is_unpadded(config):
        return None
    problem, params = material.case(key, config)
    beta, (t, chosen) = params.W12, times(config)
    got = jax.vmap(lambda t: training.logistic_step(key, t, Linear(beta), (), problem, config))(t)
    after = jax.vmap(
        lambda one: stepped(beta, lambda b: literal.linear_loss(b, one), config.downstream_rate)
    )(singly(problem, chosen, config))
    return got.beta, jnp.concatenate([beta[None], after])


@check("fit_step: descent on all samples", "derived", "equal")
def fit_steps(key: Array, config: Config) -> Compared:
    """From tau on, descent on all downstream samples; before tau nothing changes."""
    if not material.is_unpadded(config):
        return None
    problem, params = material.case(key, config)
    beta, t = params.W12, times(config)[0][:2]
    got = jax.vmap(lambda t: training.fit_step(key, t, Linear(beta), (), problem, config))(t)
    loss = lambda b: literal.linear_loss(b, data.moved(problem.downstream, problem, config))
    return got.beta, jnp.stack([beta, stepped(beta, loss, config.downstream_rate)])
