"""Linear algebra shared by the theories. Factorizations go through `alone`, see there why."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def alone(factorization: Callable) -> Callable:
    """A function of matrices [.., m, n] that calls LAPACK, on CPU for one matrix at a time however
    it is vmapped; the numbers are the same.

    jaxlib hands the matrices of a batched LAPACK call to the thread pool on which the call itself
    may run, and waits for them: as many such calls at a time as the pool has threads wait for each
    other for ever. A call on one matrix waits for nobody.
    """
    one_by_one = jax.custom_batching.sequential_vmap(factorization)

    @functools.wraps(factorization)
    def call(*matrices: Array) -> Any:
        if matrices[0].ndim > 2:
            return jax.vmap(call)(*matrices)
        return one_by_one(*matrices) if jax.default_backend() == "cpu" else factorization(*matrices)

    return call


@alone
def svd(A: Float[Array, "m n"]) -> tuple[Array, Array, Array]:
    """U (m, k), s (k), V^T (k, n) with A = U diag(s) V^T, k = min(m, n), s descending."""
    U, s, Vt = jnp.linalg.svd(A, full_matrices=False)
    return U, s, Vt


@alone
def singular_values(A: Float[Array, "m n"]) -> Float[Array, " k"]:
    """The min(m, n) singular values of A, descending."""
    return jnp.linalg.svd(A, compute_uv=False)


@alone
def eigvalsh(A: Float[Array, "n n"]) -> Float[Array, " n"]:
    """The eigenvalues of a symmetric matrix, ascending."""
    return jnp.linalg.eigvalsh(A)


@alone
def cholesky(A: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """R lower triangular with A = R R^T, for A positive definite."""
    return jnp.linalg.cholesky(A)


@alone
def inv(A: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The inverse of A."""
    return jnp.linalg.inv(A)


@alone
def solve(A: Float[Array, "n n"], B: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
    """X of A X = B, for B (n,) or (n, m)."""
    return jnp.linalg.solve(A, B)


def truncate(matrix: Float[Array, "m n"], rank: Int[Array, ""] | int) -> Float[Array, "m n"]:
    """The best approximation of given rank, U diag(s_1..s_rank, 0, ...) V^T; rank may be traced.

    Not unique where s_rank = s_(rank+1); compare products, never singular vectors.
    """
    u, s, vt = svd(matrix)
    return (u * jnp.where(jnp.arange(s.size) < jnp.asarray(rank, int), s, 0)[None, :]) @ vt


def quotient(a: Float[Array, "*shape"], b: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """a / b where b > 0, else 0; value and gradient stay finite."""
    return jnp.where(b > 0, a / jnp.where(b > 0, b, 1), 0)


def direction_error(a: Float[Array, "*shape"], b: Float[Array, "*shape"]) -> Float[Array, ""]:
    """|| a/||a|| - b/||b|| || in the Frobenius norm, in [0, 2]; a zero array has direction zero,
    which gives 1 against a nonzero one.
    """
    return jnp.linalg.norm(jnp.ravel(unit(a) - unit(b)))


def unit(a: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """a / ||a||_F, and zero for a = 0."""
    norm = jnp.linalg.norm(jnp.ravel(a))
    return a / jnp.where(norm > 0, norm, 1)
