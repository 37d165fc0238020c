"""Linear algebra shared by the theories.

The LAPACK functions use `unbatch`, which prevents a deadlock of vmapped calls on a CPU.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

__all__ = [
    "cholesky",
    "direction_error",
    "eigh",
    "eigvalsh",
    "inv",
    "quotient",
    "singular_values",
    "solve",
    "svd",
    "truncate",
    "unbatch",
    "unit",
]


def unbatch(factorization: Callable) -> Callable:
    """Make a LAPACK factorization process one matrix at a time on CPU, also under vmap.

    jaxlib hands the matrices of a batched LAPACK call to the thread pool on which the call itself
    may run, and waits for them. If as many such calls run at once as the pool has threads, they
    wait for each other forever. A call on a single matrix does not wait. The results are the same.

    Args:
        factorization: A function of matrices (m, n).

    Returns:
        The function of matrices (..., m, n).

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> determinant = jaxtheory.linalg.unbatch(jnp.linalg.det)
        >>> [float(d) for d in determinant(jnp.stack([jnp.eye(2), 2 * jnp.eye(2)]))]
        [1.0, 4.0]
    """
    one_by_one = jax.custom_batching.sequential_vmap(factorization)

    @functools.wraps(factorization)
    def call(*matrices: Array) -> Any:
        if matrices[0].ndim > 2:
            return jax.vmap(call)(*matrices)
        return one_by_one(*matrices) if jax.default_backend() == "cpu" else factorization(*matrices)

    return call


@unbatch
def svd(A: Float[Array, "m n"]) -> tuple[Array, Array, Array]:
    """Return the reduced singular value decomposition A = U diag(s) V^T.

    Args:
        A: A matrix (m, n), possibly with leading axes.

    Returns:
        U (m, k), s (k,) descending, and V^T (k, n), with k = min(m, n). All have the
        leading axes of A.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> U, s, Vt = jaxtheory.linalg.svd(jnp.diag(jnp.array([1.0, 3.0])))
        >>> s.round().tolist()
        [3.0, 1.0]
    """
    U, s, Vt = jnp.linalg.svd(A, full_matrices=False)
    return U, s, Vt


@unbatch
def singular_values(A: Float[Array, "m n"]) -> Float[Array, " k"]:
    """Return the singular values of a matrix in descending order.

    Args:
        A: A matrix (m, n), possibly with leading axes.

    Returns:
        The k = min(m, n) singular values, (k,), with the leading axes of A.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> jaxtheory.linalg.singular_values(jnp.diag(jnp.array([1.0, 3.0]))).round().tolist()
        [3.0, 1.0]
    """
    return jnp.linalg.svd(A, compute_uv=False)


@unbatch
def eigvalsh(A: Float[Array, "n n"]) -> Float[Array, " n"]:
    """Return the eigenvalues of a symmetric matrix in ascending order.

    Args:
        A: A symmetric matrix (n, n), possibly with leading axes.

    Returns:
        The n eigenvalues, (n,), with the leading axes of A.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> jaxtheory.linalg.eigvalsh(jnp.array([[0.0, 1.0], [1.0, 0.0]])).round().tolist()
        [-1.0, 1.0]
    """
    return jnp.linalg.eigvalsh(A)


@unbatch
def eigh(A: Float[Array, "n n"]) -> tuple[Array, Array]:
    """Return the eigenvalues and eigenvectors of a symmetric matrix.

    Args:
        A: A symmetric matrix (n, n), possibly with leading axes.

    Returns:
        The n eigenvalues, (n,), in ascending order, and a matrix (n, n) whose columns are their
        eigenvectors. Both have the leading axes of A.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> values, vectors = jaxtheory.linalg.eigh(jnp.diag(jnp.array([3.0, 1.0])))
        >>> values.tolist(), jnp.abs(vectors).tolist()
        ([1.0, 3.0], [[0.0, 1.0], [1.0, 0.0]])
    """
    values, vectors = jnp.linalg.eigh(A)
    return values, vectors


@unbatch
def cholesky(A: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Return the lower triangular R with A = R R^T.

    Args:
        A: A symmetric positive definite matrix (n, n), possibly with leading axes.

    Returns:
        R, (n, n), with the leading axes of A.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> jaxtheory.linalg.cholesky(jnp.diag(jnp.array([4.0, 9.0]))).tolist()
        [[2.0, 0.0], [0.0, 3.0]]
    """
    return jnp.linalg.cholesky(A)


@unbatch
def inv(A: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Return the inverse of a matrix.

    Args:
        A: An invertible matrix (n, n), possibly with leading axes.

    Returns:
        The inverse, (n, n), with the leading axes of A.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> jaxtheory.linalg.inv(jnp.diag(jnp.array([2.0, 4.0]))).tolist()
        [[0.5, 0.0], [0.0, 0.25]]
    """
    return jnp.linalg.inv(A)


@unbatch
def solve(A: Float[Array, "n n"], B: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
    """Solve A X = B for X.

    Args:
        A: An invertible matrix (n, n), possibly with leading axes.
        B: A vector (n,) or a matrix (n, m), with the leading axes of A.

    Returns:
        X, of the shape of B.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> jaxtheory.linalg.solve(jnp.diag(jnp.array([2.0, 4.0])), jnp.ones(2)).tolist()
        [0.5, 0.25]
    """
    return jnp.linalg.solve(A, B)


def truncate(matrix: Float[Array, "m n"], rank: Int[Array, ""] | int) -> Float[Array, "m n"]:
    """Return the best approximation of a given rank, U diag(s_1, ..., s_rank, 0, ..., 0) V^T.

    It is the best in the Frobenius norm and in the spectral norm. It is not unique if
    s_rank = s_(rank+1). Compare products, never singular vectors.

    Args:
        matrix: A matrix (m, n) with singular value decomposition U diag(s) V^T.
        rank: The rank, possibly traced, in [0, min(m, n)].

    Returns:
        The approximation, (m, n).

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> jaxtheory.linalg.truncate(jnp.diag(jnp.array([1.0, 3.0])), 1).round().tolist()
        [[0.0, 0.0], [0.0, 3.0]]
    """
    u, s, vt = svd(matrix)
    return (u * jnp.where(jnp.arange(s.size) < jnp.asarray(rank, int), s, 0)[None, :]) @ vt


def quotient(a: Float[Array, "*shape"], b: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return a / b where b > 0, else 0, with finite values and gradients.

    Args:
        a: The numerators, of any shape.
        b: The denominators, of the same shape.

    Returns:
        The quotients, of the same shape.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> jaxtheory.linalg.quotient(jnp.array([1.0, 1.0]), jnp.array([2.0, 0.0])).tolist()
        [0.5, 0.0]
    """
    return jnp.where(b > 0, a / jnp.where(b > 0, b, 1), 0)


def direction_error(a: Float[Array, "*shape"], b: Float[Array, "*shape"]) -> Float[Array, ""]:
    """Return || a/||a|| - b/||b|| || in the Frobenius norm.

    The direction of a zero array is zero, so its distance from that of a nonzero array is 1.

    Args:
        a: An array of any shape.
        b: An array of the same shape.

    Returns:
        A number in [0, 2]: 0 for equal directions, 2 for opposite ones.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> float(jaxtheory.linalg.direction_error(jnp.array([1.0, 0.0]), jnp.array([-3.0, 0.0])))
        2.0
    """
    return jnp.linalg.norm(jnp.ravel(unit(a) - unit(b)))


def unit(a: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return a / ||a||_F, and zero for a = 0.

    Args:
        a: An array of any shape.

    Returns:
        An array of the same shape, of Frobenius norm 1 or 0.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> jaxtheory.linalg.unit(jnp.array([0.0, 5.0])).tolist()
        [0.0, 1.0]
    """
    norm = jnp.linalg.norm(jnp.ravel(a))
    return a / jnp.where(norm > 0, norm, 1)


def __dir__() -> list[str]:
    return sorted(__all__)
