"""Checks of the bounds on the cost of threshold and rounding."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.contextual_bigram import calculus, model
from jaxtheory.theories.contextual_bigram.laws import bounds, population
from jaxtheory.theories.contextual_bigram.model import Config, Params, Problem

LENGTH = 1000  # of the contexts, padded with zeros


def lengthened(problem: Problem, config: Config) -> tuple[Problem, Config]:
    """The task in long contexts, where bounds with terms in Q / T are nearly attained."""
    Q = problem.context
    long = jnp.zeros((LENGTH, Q.shape[1])).at[: len(Q)].set(Q)
    return problem._replace(context=long), config.replace(length=model.Size(LENGTH))


def near_line(key: Array, problem: Problem) -> Array:
    """Three matrices A near the line, with attended entries well above the others.

    They are at any alpha with noise everywhere; at alpha = 1 with noise of column sums 0 on the
    support alone; and on the line.
    """
    Q = problem.context
    alpha = jnp.stack([0.6 + 0.8 * jax.random.uniform(key), jnp.ones(()), jnp.asarray(0.7)])
    anywhere = jax.random.uniform(key, Q.shape) - 0.5
    inside = jnp.where(Q > 0, anywhere, 0)
    count = jnp.sum(Q > 0, axis=0, keepdims=True).astype(float)
    inside = inside - jnp.where(Q > 0, jnp.sum(inside, axis=0, keepdims=True) / count, 0)
    noise = 0.05 * jnp.stack(
        [anywhere - jnp.mean(anywhere, axis=0, keepdims=True), inside, 0 * inside]
    )
    share = alpha[:, None, None]
    return share * Q[None] + (1 - share) / len(Q) + noise


def thresholding(A: Array, problem: Problem, config: Config) -> tuple[Array, Array]:
    """|Delta_A| and the change of alpha_A after a threshold, with their bounds.

    A is cut below its least attended entry.
    """
    least = jnp.min(jnp.where(problem.context > 0, A / jnp.max(A, axis=0)[None, :], 1))
    cut = Params(calculus.thresholded(A, least * (1 - 1e-9), config), problem.transition)
    before = population.alignment(cut._replace(attention=A), problem, config).attention
    after = population.alignment(cut, problem, config).attention
    off = population.residual(cut, problem, config).attention
    got = jnp.stack([population.norm(off, problem.stationary), jnp.abs(after - before)])
    return got, jnp.stack(bounds.threshold_bounds(A, problem, config))


def rounding(A: Array, problem: Problem, config: Config) -> tuple[Array, Array]:
    """|A^ - Q| where the support is kept, divided by its sum, with its bound."""
    A_support = jnp.where(problem.context > 0, A, 0)
    error = A_support / jnp.sum(A_support, axis=0, keepdims=True) - problem.context
    return population.norm(error, problem.stationary), bounds.rounding_bound(A, problem, config)


@check("threshold_bounds: thresholded matrices near the line", "lemma E.2", "bound")
def threshold_bound(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The threshold bounds at any alpha, with noise."""
    problem, config = lengthened(problem, config)
    return thresholding(near_line(key, problem)[0], problem, config)


@check("threshold_bounds: attained", "lemma E.2", "equal")
def threshold_attained(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """For uniform weights, |Delta_A| equals its bound at alpha = 1.

    On the line, the change of alpha_A equals its own bound times sqrt(1 - Q/T).
    """
    if config.weights != "uniform":
        return None
    problem, long = lengthened(problem, config)
    _, on_support, on_line = near_line(key, problem)
    size, bound = (x[0] for x in thresholding(on_support, problem, long))
    change, most = (x[1] for x in thresholding(on_line, problem, long))
    share = (1 - config.sparsity.cap / LENGTH) ** 0.5
    return (bound, most), (size, change / share)


@check("rounding_bound: rounded matrices near the line", "lemma F.1", "bound")
def rounding_bounded(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The rounding bound at any alpha, with noise."""
    problem, config = lengthened(problem, config)
    return rounding(near_line(key, problem)[0], problem, config)


@check("rounding_bound: attained", "lemma F.1", "equal")
def rounding_attained(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The rounding bound is attained by uniform weights at alpha = 1, by others on the line."""
    place = 1 if config.weights == "uniform" else 2
    return rounding(near_line(key, problem)[place], problem, config)
