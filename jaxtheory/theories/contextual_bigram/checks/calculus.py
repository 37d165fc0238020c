"""Checks of the gradients and of the maps on A."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.ops import linalg
from jaxtheory.theories.contextual_bigram import calculus
from jaxtheory.theories.contextual_bigram.checks import literal, material
from jaxtheory.theories.contextual_bigram.model import Config, Params, Problem


@check("gradient: autodiff of the one-hot loss", "lemma B.3", "equal")
def gradient_autodiff(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The gradient by autodiff, at columns of A with any sum."""
    params, batch = material.loose(params), material.random_batch(key, config)
    want = jax.grad(literal.loss)(params, batch, config)
    return calculus.gradient(params, batch, problem, config), want


@check("preconditioned: the matrices written out", "equation (4)", "equal")
def preconditioned_matrices(
    key: Array, problem: Problem, params: Params, config: Config
) -> Compared:
    """The preconditioned gradient as the product (I - 1 1^T / n) g diag(1 / mu)."""
    g = material.loose(params)
    return calculus.preconditioned(g, problem, config), literal.preconditioned(g, problem)


@check("softmax_gradient: autodiff in the logits", "section 5.2", "equal")
def softmax_autodiff(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The gradient in the logits by autodiff of the loss."""
    batch = material.random_batch(key, config)
    apply_softmax = lambda W: params._replace(attention=jax.nn.softmax(W, axis=0))
    want = jax.grad(lambda W: literal.loss(apply_softmax(W), batch, config))(params.attention)
    point = apply_softmax(params.attention)
    g = calculus.gradient(point, batch, problem, config)
    return calculus.softmax_gradient(point.attention, g.attention), want


@check("soft_threshold: case by case", "equation (6)", "equal")
def soft_threshold_cases(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The proximal map case by case, on a grid that contains the corners."""
    grid = [i / 16 for i in range(-8, 9)]
    lam = 0.25
    cases = [
        a - lam if a >= lam else (a + lam if a <= -lam and config.prox == "textbook" else 0.0)
        for a in grid
    ]
    return calculus.soft_threshold(jnp.asarray(grid), lam, config), jnp.asarray(cases)


@check("on_simplex: multiplier by bisection", "derived", "equal")
def simplex_bisected(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The projection max(a - nu, 0) with the nu that makes it sum to 1, by bisection."""
    A = 3 * params.attention

    def closer(_: Array | int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        above = jnp.sum(jnp.maximum(A - middle[None, :], 0), axis=0) > 1
        return jnp.where(above, middle, low), jnp.where(above, high, middle)

    top = jnp.max(A, axis=0)
    low, high = jax.lax.fori_loop(0, 60, closer, (top - 1, top))
    return calculus.on_simplex(A, config), jnp.maximum(A - ((low + high) / 2)[None, :], 0)


@check("projected: least change with column sums 1", "equation (6)", "equal")
def affine_projection(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The least change with column sums 1: a + 1 (1^T 1)^-1 (1 - 1^T a)."""
    A = material.loose(params).attention
    one = jnp.ones((len(A), 1))
    return calculus.projected(A, config), A + one @ linalg.inv(one.T @ one) @ (1 - one.T @ A)


@check("rounded: entry by entry, idempotent, empty columns", "appendix F, section E.1", "equal")
def rounding_by_entries(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """Rounding and thresholding entry by entry.

    Rounding twice is rounding once, and a column without a positive entry is uniform and flagged.
    """
    A, theta = params.attention, config.stage_threshold
    A = A.at[:, 0].set(-jnp.abs(A[:, 0]))
    rounded = calculus.rounded(A, theta, config)
    large = (theta * jnp.max(A, axis=0)[None, :] <= A).astype(float) * A
    large = large.at[:, 0].set(0)
    sums = jnp.sum(large, axis=0, keepdims=True)
    want = jnp.where(sums == 0, 1 / len(A), large / jnp.where(sums == 0, 1, sums))
    empty = calculus.empty_columns(A, config).astype(float)
    thresholded = calculus.thresholded(A, theta, config)
    got = rounded, calculus.rounded(rounded, theta, config), thresholded, empty
    return got, (want, want, literal.projected(large), jnp.zeros_like(empty).at[0].set(1))
