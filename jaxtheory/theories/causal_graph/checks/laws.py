"""Checks of the levels and of the first gradient of long prompts."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.causal_graph import data, laws, predictions
from jaxtheory.theories.causal_graph.checks import literal, material
from jaxtheory.theories.causal_graph.checks.data import GRAPHS
from jaxtheory.theories.causal_graph.model import Batch, Config, Params


@check("first_slope: long prompts", "derived", "equal")
def slope_of_long_prompts(key: Array, config: Config) -> Compared:
    """The derivative of L at A1 = 0 in each score, summed over all prompts and queries.

    f = mu, a_i = 1/T and eps = 0 are as for infinitely many tokens.
    """
    S, T = Size.wrap(config.num_states).cap, Size.wrap(config.length).cap
    if not material.is_unpadded(config) or S**T > 300:
        return None
    pi = material.transitions(key, 2, config)
    mu, parents = data.stationary(pi), GRAPHS[config.graph](T)
    W = jnp.tril(jnp.ones((T, T))) / jnp.arange(1.0, T + 1)[:, None]
    descent = jnp.zeros((T, T))
    for n in range(2):
        prompts, weight = literal.joint(pi[n], mu[n], parents, False)
        s = np.array(prompts)
        for k in range(S):
            r = (pi[n][k] / mu[n])[s]  # -dL/df at each token
            dz = (r - 1) / T  # sum_b mu_b r_b = 1
            b = jnp.where(s == k, config.initial_strength, 0.0)
            dW = jnp.einsum("n,ni,nj->ij", weight, dz, b) / (2 * S)
            rows = [(jnp.diag(w) - jnp.outer(w, w)) @ d for w, d in zip(W, dW, strict=True)]
            descent = descent + jnp.stack(rows)
    p = jnp.asarray(parents, jnp.int32)
    batch = material.batch(key, config)
    statistics = data.information(pi, p, 2, config)
    problem = material.problem(batch, config)._replace(
        information=statistics[0], overlap=statistics[1]
    )
    return laws.first_slope(problem, config), descent


def counted(batch: Batch, p: Array, config: Config) -> Array:
    """The number of children in each state of tokens in the state s_T.

    It is found by one-hot tokens and the adjacency of the graph.
    """
    X = jax.nn.one_hot(batch.s, Size.wrap(config.num_states).cap)
    adjacency = jax.nn.one_hot(p - 1, len(p))  # zero where there is no parent
    children = jnp.einsum("ij,pjs,ps->pi", adjacency, X, X[:, -1])
    return jnp.einsum("pi,pis->ps", children, X)


@check("posterior: one-hot counts", "derived", "equal")
def posterior_counted(key: Array, config: Config) -> Compared:
    """The posterior mean of a Dirichlet law from one-hot counts."""
    if not material.is_unpadded(config):
        return None
    batch, p = material.batch(key, config), data.parents(key, config)
    n = counted(batch, p, config) + config.concentration
    return laws.posterior(batch, p, config), n / jnp.sum(n, axis=1, keepdims=True)


@check("levels: one-hot counts", "derived", "equal")
def levels_counted(key: Array, config: Config) -> Compared:
    """The levels from one-hot counts."""
    if not material.is_unpadded(config):
        return None
    batch, p = material.batch(key, config), data.parents(key, config)
    S, eps = Size.wrap(config.num_states).cap, config.epsilon
    n = counted(batch, p, config)
    share = jnp.mean(jax.nn.one_hot(batch.s, S), axis=1)
    total = jnp.sum(n, axis=1, keepdims=True)
    pairs = jnp.where(total > 0, n / jnp.where(total > 0, total, 1), share)
    mean = (n + config.concentration) / (total + S * config.concentration)
    loss = lambda q: -jnp.mean(jnp.sum(batch.target * jnp.log(q), axis=1))
    scale = jnp.log(1 + S * eps)
    want = [loss(jnp.full_like(share, 1 / S) + eps), loss(share + eps), loss(pairs + eps)]
    want += [loss(mean) - scale, loss(batch.target) - scale]
    return jnp.stack(list(laws.levels(batch, p, config))), jnp.stack(want)


@check("first_attention: at the graph", "derived", "equal")
def metrics_at_the_graph(key: Array, config: Config) -> Compared:
    """With all attention at the parents the metrics of attention are 1, 0 and 1.

    The lags are those of the graph.
    """
    batch, p = material.batch(key, config), data.parents(key, config)
    if not material.is_unpadded(config) or Size.wrap(config.length).cap < 3:
        return None
    T, S = Size.wrap(config.length).cap, Size.wrap(config.num_states).cap
    adjacency = jax.nn.one_hot(p - 1, T)
    problem = material.problem(batch, config)._replace(parents=p)
    params = Params(1000 * adjacency, 2.5 * jnp.eye(S) + 1)
    metrics = predictions.metrics(params, problem, config)
    rows = jnp.arange(1.0, T + 1)[:, None]
    W = jnp.where((p > 0)[:, None], adjacency, jnp.tril(jnp.ones((T, T))) / rows)
    lags = jnp.stack([jnp.mean(jnp.diagonal(W, -d)) for d in range(T)])
    names = ("parent_attention", "stray_attention", "parent_selected", "strength")
    got = jnp.concatenate([jnp.stack([metrics[name] for name in names]), metrics["lags"]])
    return got, jnp.concatenate([jnp.array([1.0, 0.0, 1.0, 2.5]), lags])
