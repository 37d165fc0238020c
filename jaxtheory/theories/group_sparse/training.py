"""Full-batch gradient descent, its six-number reduction, and online SGD on a downstream task.

The full-batch descent is the pre-training.

    gd            full-batch gradient descent on v and W: pre-training
    sgd           the run of gd, made by `from_optax.standard`
    momentum      the same with momentum beta
    adam          Adam on v and W
    sign          sign descent on v and W
    sgd_cosine    gd whose rate falls to 0 as a cosine within decay_steps
    population    gd in six numbers, on the training set completed by all symmetries of the law
    downstream    tau steps of pre-training, then SGD on one downstream sample a step
    logistic      logistic regression on vec(X) by the same downstream SGD
    logistic_fit  logistic regression on vec(X) by gradient descent on all m samples at once

Downstream runs take one sample a step: step t uses sample (t - tau) mod m. Steps before tau
pre-train, so that one run does both; with tau = 0 they go on from `start=`. At t = tau the value
starts again from 0, and W too for attention = "scratch".
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from jaxtheory.core import from_optax
from jaxtheory.core.theory import Algorithm, nothing
from jaxtheory.theories.group_sparse import calculus, data, model
from jaxtheory.theories.group_sparse.model import Batch, Config, Linear, Params, Problem, Tuned

Time = Int[Array, ""] | int


def step(
    _key: Array, _t: Time, state: Params, batch: Batch, problem: Problem, config: Config
) -> Params:
    """One step v <- v - eta dL/dv, W <- W - eta dL/dW on the training set, in both at once."""
    slope = calculus.layer_gradient(state, batch, config)
    return from_optax.descended(state, slope, config.learning_rate)


def tuned(state: Params, _problem: Problem, _config: Config) -> Tuned:
    """The layer, judged on the downstream task."""
    return Tuned(state)


# The population


def init_population(_key: Array, _problem: Problem, _config: Config) -> calculus.Reduced:
    """The zero start in six numbers."""
    return calculus.start()


def population_step(
    _key: Array, _t: Time, state: calculus.Reduced, batch: Batch, problem: Problem, config: Config
) -> calculus.Reduced:
    """Gradient descent on the training set completed by all symmetries of the law."""
    slope = calculus.velocity(state, batch, problem, config)
    return from_optax.descended(state, slope, config.learning_rate)


def embedded(state: calculus.Reduced, problem: Problem, config: Config) -> Params:
    """The layer with the six numbers."""
    return calculus.embed(state, problem, config)


# Downstream


def since(t: Time, config: Config) -> Int[Array, ""]:
    """The number t - tau of downstream samples seen."""
    return jnp.asarray(t, jnp.int32) - jnp.asarray(config.pretraining_steps, jnp.int32)


def next_sample(t: Time, problem: Problem, config: Config) -> Batch:
    """The downstream sample of step t >= tau, as a batch of one."""
    x, y, _ = problem.downstream
    i = jnp.maximum(since(t, config), 0) % jnp.asarray(config.downstream_samples.n, jnp.int32)
    return data.moved(
        Batch(jnp.take(x, i, axis=2)[:, :, None], jnp.take(y, i)[None], jnp.ones(1)),
        problem,
        config,
    )


def downstream_step(
    key: Array, t: Time, state: Params, _batch: tuple, problem: Problem, config: Config
) -> Params:
    """A step of pre-training for t < tau; from tau on, a step of SGD on one sample at rate eta2.

    Each step takes the next sample, and v starts from 0 at tau.

    `attention` is "frozen", which keeps W, "trained", which moves it at the same rate, or
    "scratch", which moves it from W = 0.
    Source: the talk's online SGD; its rate and the frozen W are ours.
    """
    now = since(t, config)
    first = now == 0
    again = lambda x: jnp.where(first, 0, x)
    fresh = (
        state._replace(v1=again(state.v1), v2=again(state.v2))
        if config.attention != "scratch"
        else jax.tree.map(again, state)
    )
    slope = calculus.layer_gradient(fresh, next_sample(t, problem, config), config)
    new = from_optax.descended(fresh, slope, config.downstream_rate)
    if config.attention == "frozen":
        new = state._replace(v1=new.v1, v2=new.v2)
    earlier = step(key, t, state, problem.train, problem, config)
    return jax.tree.map(lambda a, b: jnp.where(now < 0, a, b), earlier, new)


def init_logistic(_key: Array, _problem: Problem, config: Config) -> Linear:
    """The zero start, beta = 0."""
    return Linear(jnp.zeros((config.group_dim.cap, config.num_groups.cap)))


def logistic_step(
    _key: Array, t: Time, state: Linear, _batch: tuple, problem: Problem, config: Config
) -> Linear:
    """Logistic regression on vec(X) by the same SGD on the same samples.

    Nothing changes before tau.
    """
    slope = calculus.gradient(state, next_sample(t, problem, config), problem, config)
    new = from_optax.descended(state, slope, config.downstream_rate)
    return Linear(jnp.where(since(t, config) < 0, state.beta, new.beta))


def fit_step(
    _key: Array, t: Time, state: Linear, _batch: tuple, problem: Problem, config: Config
) -> Linear:
    """Logistic regression on vec(X) by gradient descent on all m downstream samples at once.
    Nothing changes before tau.
    """
    slope = calculus.gradient(
        state, data.moved(problem.downstream, problem, config), problem, config
    )
    new = from_optax.descended(state, slope, config.downstream_rate)
    return Linear(jnp.where(since(t, config) < 0, state.beta, new.beta))


ALGORITHMS = {
    "gd": Algorithm(model.init, step),
    **from_optax.standard(model.init, calculus.gradient),
    "population": Algorithm(init_population, population_step, embedded),
    "downstream": Algorithm(model.init, downstream_step, tuned, nothing),
    "logistic": Algorithm(init_logistic, logistic_step, sample=nothing),
    "logistic_fit": Algorithm(init_logistic, fit_step, sample=nothing),
}
