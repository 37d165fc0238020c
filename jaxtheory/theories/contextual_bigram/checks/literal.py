"""The population as a sum over all N^T contexts, and formulas as the source writes them.

These formulas are the loss, the noise and algorithm 1. Sizes are unpadded.
"""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtheory.core.theory import Compared
from jaxtheory.theories.contextual_bigram import calculus
from jaxtheory.theories.contextual_bigram.model import Batch, Config, Params, Problem

ENUMERABLE = 4096  # contexts


def dot(mu: Float[Array, " N"], A: Float[Array, "n N"], B: Float[Array, "n N"]) -> Float[Array, ""]:
    """The inner product <A, B>_mu."""
    return jnp.sum(mu[None, :] * A * B)


def constants(problem: Problem) -> tuple[Array, Array]:
    """K_P and K_Q as the source defines them."""
    P, mu, Q, _ = problem
    return dot(mu, P, P) - mu @ mu, dot(mu, Q, Q) - 1 / len(Q)


class Population(NamedTuple):
    """All contexts, one-hot, and the probability of each with each query and label."""

    X: Float[Array, "M T N"]
    law: Float[Array, "M N N"]  # context, query, label


def population(problem: Problem, config: Config) -> Population:
    """The law of (X, k, y): prod_t mu_{x_t} mu_k (P X q^(k))_y."""
    N, T = config.num_states.cap, config.length.cap
    contexts = np.array(list(itertools.product(range(N), repeat=T)))
    X = jnp.asarray(np.eye(N)[contexts])
    of_context = jnp.prod(problem.stationary[contexts], axis=1)
    of_label = jnp.einsum("yn,mtn,tk->mky", problem.transition, X, problem.context)
    return Population(X, of_context[:, None, None] * problem.stationary[None, :, None] * of_label)


def occupancies(A: Float[Array, "T N"], everything: Population) -> Float[Array, "M N N"]:
    """p = X a^(k) for every context and query."""
    return jnp.einsum("mtn,tk->mkn", everything.X, A)


def errors(params: Params, everything: Population) -> Float[Array, "M N N N"]:
    """r = V p - e_y for every context, query and label."""
    F = occupancies(params.attention, everything) @ params.value.T
    return F[:, :, None, :] - jnp.eye(F.shape[-1])[None, None]


def enumerated_loss(params: Params, everything: Population) -> Float[Array, ""]:
    """The loss E 1/2 |r|^2 over all contexts."""
    return jnp.sum(everything.law * jnp.sum(errors(params, everything) ** 2, axis=-1)) / 2


def enumerated(check: Callable) -> Callable:
    """Turn a check that takes all contexts into one that takes a key.

    It gives None where the contexts are too many to list.
    """

    def fn(_key: Array, problem: Problem, params: Params, config: Config) -> Compared:
        if config.num_states.cap**config.length.cap > ENUMERABLE:
            return None
        return check(population(problem, config), problem, params, config)

    return fn


def loss(params: Params, batch: Batch, config: Config) -> Array:
    """The mean over samples of 1/2 |e_y - V X a|^2 with one-hot matrices."""
    N = config.num_states.cap

    def one(x: Array, k: Array, y: Array) -> Array:
        X = jax.nn.one_hot(x, N).T
        return (
            jnp.sum((jax.nn.one_hot(y, N) - params.value @ (X @ params.attention[:, k])) ** 2) / 2
        )

    return jnp.mean(jax.vmap(one)(*batch))


def preconditioned(g: Params, problem: Problem) -> Params:
    """(I - 1 1^T / n) g diag(1 / mu) of both matrices."""
    return jax.tree.map(
        lambda g: (jnp.eye(len(g)) - 1 / len(g)) @ g @ jnp.diag(1 / problem.stationary), g
    )


def slope(params: Params, batch: Batch, problem: Problem, config: Config) -> Params:
    """The preconditioned gradient by autodiff."""
    return preconditioned(jax.grad(loss)(params, batch, config), problem)


def descended(params: Params, slope: Params, eta: Any, problem: Problem) -> Params:
    """One step: A - eta / K_P g_A and V - eta / K_Q g_V."""
    rates = Params(*(eta / K for K in constants(problem)))
    return jax.tree.map(lambda x, g, eta: x - eta * g, params, slope, rates)


def projected(A: Float[Array, "T N"]) -> Float[Array, "T N"]:
    """The projection onto columns of sum 1."""
    return A + (1 - jnp.sum(A, axis=0, keepdims=True)) / len(A)


def thresholded(A: Float[Array, "T N"], share: Any) -> Float[Array, "T N"]:
    """A without the entries below a share of their column's largest, projected."""
    return projected(jnp.where(share * jnp.max(A, axis=0)[None, :] <= A, A, 0))


def proximal(t: Array, params: Params, batch: Batch, problem: Problem, config: Config) -> Params:
    """One step of algorithm 1 with autodiff gradients and every map written out; tau = 1."""
    lam, (A, V) = config.l1, params
    A = jnp.where((lam > 0) & (t == 1), thresholded(A, config.stage_threshold), A)
    eta = jnp.where(t < 1, config.learning_rate, config.late_learning_rate)
    params = Params(A, V)
    A, V = descended(params, slope(params, batch, problem, config), eta, problem)
    relu = jnp.where(lam <= A, A - lam, 0)
    soft = jnp.where(-lam >= A, A + lam, relu) if config.prox == "textbook" else relu
    sparse = calculus.on_simplex(A, config) if config.prox == "simplex" else projected(soft)
    return Params(jnp.where((lam > 0) & (t >= 1), sparse, A), V)


def transferred(problem: Problem, config: Config) -> tuple[Params, Array]:
    """The start of transfer, and theta <P~ - mu 1^T, P - mu 1^T>_mu."""
    P, mu, Q, near = problem
    theta, mean = config.pretrained_weight, mu[:, None]
    start = Params(jnp.full_like(Q, 1 / len(Q)), theta * near + (1 - theta) * mean)
    return start, theta * dot(mu, near - mean, P - mean)


def traces(params: Params, problem: Problem) -> Float[Array, " N"]:
    """tr(V C V^T R_k) with every matrix written out. Columns of A sum to 1."""
    (A, V), (P, mu, Q, _) = params, problem
    D, mean = jnp.diag(mu), jnp.outer(mu, mu)

    def one(a: Array, q: Array) -> Array:
        S, M = (a @ a) * D + (1 - a @ a) * mean, (a @ q) * D + (1 - a @ q) * mean
        R = V @ S @ V.T - V @ M @ P.T - P @ M.T @ V.T + D
        return jnp.trace(V @ (D - mean) @ V.T @ R)

    return jax.vmap(one, in_axes=1)(A, Q)
