"""Gradient descent from the zero or a random start, on the literal attention matrix or on its exact
reduction.

One step of V <- V - eta dL/dV, W <- W - eta dL/dW moves the scores by u <- u - eta rate_u dL/du,
w_j <- w_j - eta rate_j dL/dw_j: the same run in K + N scalars, where the encoding dimension M
enters through rho = (M + 1)/2 alone. State is Params in both.
"""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Int

from jaxtheory.core import draws
from jaxtheory.core.theory import Algorithm
from jaxtheory.theories.random_walk import calculus, model
from jaxtheory.theories.random_walk.model import Batch, Config, Literal, Params, Problem, Reduced


def step(
    _key: Array,
    _t: Int[Array, ""] | int,
    state: Params,
    batch: Batch,
    problem: Problem,
    config: Config,
) -> Params:
    """One simultaneous step in all parameters. NaN where the loss is not defined (log, f_y <=
    -eps): a diverged run.
    """
    gradient = calculus.gradient(state, batch, problem, config)
    undefined = jnp.isnan(model.loss(state, batch, problem, config))
    rates = jax.tree.map(jnp.ones_like, state)  # over eta: 1 for literal parameters
    if isinstance(rates, Reduced):
        rate_u, rate_w = model.rates(config)
        rates = rates._replace(u=rate_u * rates.u, w=rate_w)
    move = lambda g, rate: jnp.where(undefined, jnp.nan, -config.learning_rate * rate * g)
    updates = jax.tree.map(move, gradient, rates)
    return optax.apply_updates(state, updates)


def init_literal(key: Array, problem: Problem, config: Config) -> Literal:
    """W ~ sigma N(0, 1), drawn so that its scores are those of `model.init` with the same key.

    The scores of W are K + N of its Gaussian coordinates, so exchanging them for others of the same
    law leaves its entries Gaussian and independent. A literal and a reduced run with one key are
    therefore the same run, up to rounding. sigma = 0: W = 0, disturbed by delta.
    """
    start = model.init(key, problem, config)
    valid = jnp.concatenate([config.num_states.mask(), config.encoding_dim.mask()])
    G = draws.normal(jax.random.fold_in(key, 3), valid.size, valid.size)
    W = config.init_scale * jnp.where(valid[:, None] & valid[None, :], G, 0)
    return Literal(start.V, calculus.imprint(W, start.u, start.w, config), start.A)


ALGORITHMS = {"reduced": Algorithm(model.init, step), "literal": Algorithm(init_literal, step)}
