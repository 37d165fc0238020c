"""The population as a sum over all N^T contexts, and the loss, the noise and algorithm 1 as the
source writes them. Sizes unpadded.
"""

import itertools
from collections.abc import Callable
from functools import wraps
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtheory.core.theory import Compared
from jaxtheory.theories.contextual_bigram import calculus
from jaxtheory.theories.contextual_bigram.model import Batch, Config, Params, Problem

ENUMERABLE = 4096  # contexts


def dot(mu: Float[Array, " N"], A: Float[Array, "n N"], B: Float[Array, "n N"]) -> Float[Array, ""]:
    """<A, B>_mu."""
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
    """E 1/2 |r|^2."""
    return jnp.sum(everything.law * jnp.sum(errors(params, everything) ** 2, axis=-1)) / 2


def needs_enumeration(check: Callable) -> Callable:
    """None where the contexts are too many to list."""

    @wraps(check)
    def fn(key: Array, config: Config) -> Compared:
        return (
            check(key, config) if config.num_states.cap**config.length.cap <= ENUMERABLE else None
        )

    return fn


def loss(params: Params, batch: Batch, config: Config) -> Array:
    """Mean over samples of 1/2 |e_y - V X a|^2 with one-hot matrices."""
    N = config.num_states.cap

    def one(x: Array, k: Array, y: Array) -> Array:
        X = jax.nn.one_hot(x, N).T
        return (
            jnp.sum((jax.nn.one_hot(y, N) - params.value @ (X @ params.attention[:, k])) ** 2) / 2
        )

    return jnp.mean(jax.vmap(one)(*batch))


def one_hot_gradient(params: Params, batch: Batch, problem: Problem) -> Float[Array, "T N"]:
    """The preconditioned gradient of A by autodiff through one-hot matrices."""
    N = len(problem.stationary)

    def loss(A: Array) -> Array:
        p = jnp.einsum("btn,tb->bn", jax.nn.one_hot(batch.tokens, N), A[:, batch.query])
        return (
            jnp.mean(jnp.sum((p @ params.value.T - jax.nn.one_hot(batch.label, N)) ** 2, axis=1))
            / 2
        )

    g = jax.grad(loss)(params.attention)
    return (g - jnp.mean(g, axis=0, keepdims=True)) / problem.stationary[None, :]


def proximal(t: int, params: Params, batch: Batch, problem: Problem, config: Config) -> Params:
    """One step of algorithm 1 with autodiff gradients and every map written out; tau = 1."""
    A, V, mu = *params, problem.stationary
    T = len(A)
    project = lambda A: A + (1 - jnp.sum(A, axis=0, keepdims=True)) / T
    lam = config.l1
    if t == 1:
        A = jnp.where(
            lam > 0,
            project(jnp.where(config.stage_threshold * jnp.max(A, axis=0)[None, :] <= A, A, 0)),
            A,
        )
    g_A, g_V = jax.grad(loss)(Params(A, V), batch, config)
    g_A, g_V = ((g - jnp.mean(g, axis=0, keepdims=True)) / mu[None, :] for g in (g_A, g_V))
    eta = config.learning_rate if t < 1 else config.late_learning_rate
    K_P, K_Q = constants(problem)
    A, V = A - eta / K_P * g_A, V - eta / K_Q * g_V
    if t >= 1:
        relu = jnp.where(lam <= A, A - lam, 0)
        soft = jnp.where(-lam >= A, A + lam, relu) if config.prox == "textbook" else relu
        A = jnp.where(
            lam > 0,
            calculus.on_simplex(A, config) if config.prox == "simplex" else project(soft),
            A,
        )
    return Params(A, V)


def traces(params: Params, problem: Problem) -> Float[Array, " N"]:
    """tr(V C V^T R_k) with every matrix written out; columns of A sum to 1."""
    (A, V), (P, mu, Q, _) = params, problem
    D, mean = jnp.diag(mu), jnp.outer(mu, mu)

    def one(a: Array, q: Array) -> Array:
        S, M = (a @ a) * D + (1 - a @ a) * mean, (a @ q) * D + (1 - a @ q) * mean
        R = V @ S @ V.T - V @ M @ P.T - P @ M.T @ V.T + D
        return jnp.trace(V @ (D - mean) @ V.T @ R)

    return jax.vmap(one, in_axes=1)(A, Q)
