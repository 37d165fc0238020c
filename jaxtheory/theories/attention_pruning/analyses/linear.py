"""Pruners of one linear map y = X W, W (inputs, outputs): magnitude, Wanda, SparseGPT.

A `Rule` determines what is zeroed: a share of a comparison group, or all but N of every M
consecutive inputs of an output (N:M). `gram` is X^T X (inputs, inputs).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float

from jaxtheory.core.config import concretely
from jaxtheory.ops import linalg
from jaxtheory.texts.errors import InputError
from jaxtheory.theories.attention_pruning.analyses import pruning

BLOCK_SIZE = 128  # inputs whose mask SparseGPT chooses at once
DAMPING = 0.01  # share of the mean diagonal that SparseGPT adds to H


class Rule(NamedTuple):
    """The number of weights that become zero.

    It is a share of each comparison group, or, where `pattern` = (N, M) is given, all but N of
    every M consecutive inputs of an output.
    """

    ratio: Float[ArrayLike, ""]
    pattern: tuple[int, int] | None = None

    def matrix_mask(
        self, scores: Float[Array, "m n"], valid: Bool[Array, "m n"]
    ) -> Bool[Array, "m n"]:
        """True for the weights that are kept; the matrix is one comparison group."""
        if self.pattern is None:
            return pruning.binarize(scores, self.ratio, valid)
        return pruning.binarize_groups(scores, *self.pattern) & valid

    def column_mask(
        self, scores: Float[Array, "m n"], valid: Bool[Array, "m n"]
    ) -> Bool[Array, "m n"]:
        """True for the weights that are kept; each output is a comparison group."""
        if self.pattern is None:
            return pruning.binarize_columns(scores, self.ratio, valid)
        return pruning.binarize_groups(scores, *self.pattern) & valid


def magnitude(
    weights: Float[ArrayLike, "m n"], rule: Rule, valid: Bool[Array, "m n"]
) -> Float[Array, "m n"]:
    """Zero the weights of smallest |W_ij|, all outputs together."""
    return jnp.where(rule.matrix_mask(jnp.abs(weights), valid), weights, 0)


def wanda(
    weights: Float[ArrayLike, "m n"],
    squares: Float[ArrayLike, " m"],
    rule: Rule,
    valid: Bool[Array, "m n"],
) -> Float[Array, "m n"]:
    """Zero, in each column, the entries of smallest |W_ij| ||X_:i||_2.

    `squares` holds ||X_:i||_2^2, the diagonal of X^T X. Kept weights do not change.

    Source: Sun et al. 2024 (public definition); the comparison group is one output.
    """
    scores = jnp.abs(weights) * jnp.sqrt(squares)[:, None]
    return jnp.where(rule.column_mask(scores, valid), weights, 0)


@linalg.unbatch  # a batch of triangular systems waits for threads as any call of LAPACK does
def _inverse(R: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Return the inverse of an upper triangular matrix."""
    return solve_triangular(R, jnp.eye(R.shape[-1], dtype=R.dtype), lower=False)


def inverse_factor(
    gram: Float[ArrayLike, "m m"], valid: Bool[Array, " m"], damping: float = DAMPING
) -> Float[Array, "m m"]:
    """The upper triangular U with H^-1 = U^T U for H = X^T X + damping mean(diag) I.

    H_ii = 1 is set first if input i is dead (X_:i = 0). U comes from a Cholesky factor of H in
    reversed order, H = R R^T with R upper triangular, as U = R^-1. It is NaN where H is singular to
    rounding, and outside jit that raises InputError.
    """
    gram = jnp.asarray(gram)
    diagonal = jnp.diagonal(gram)
    raised = jnp.where(diagonal == 0, 1, diagonal)
    damp = damping * jnp.mean(raised, where=valid)
    H = gram + jnp.diag(raised - diagonal + damp)
    R = linalg.cholesky(H[::-1, ::-1])[::-1, ::-1]
    pivots = jnp.diagonal(R) ** 2
    # a comparison with NaN is False
    regular = jnp.min(pivots) > pivots.size * jnp.finfo(H.dtype).eps * jnp.max(jnp.diagonal(H))
    if concretely(np.logical_not, regular):
        raise InputError(
            f"SparseGPT: the Cholesky factor of X^T X fails with damping = {damping:g}; raise "
            "damping (L < d needs damping > 0)"
        )
    U = _inverse(R)
    return jnp.where(regular, U, jnp.nan)


def sparsegpt(
    weights: Float[ArrayLike, "m n"],
    gram: Float[ArrayLike, "m m"],
    rule: Rule,
    valid: Bool[Array, "m n"],
    mask: Bool[Array, "m n"] | None = None,
    damping: float = DAMPING,
    block_size: int = BLOCK_SIZE,
) -> Float[Array, "m n"]:
    """Zero weights input by input, and let the later inputs make up for each.

    With U from `inverse_factor`, for j = 1, 2, ...

    e = (w_j - q_j) / U_jj,   w_i <- w_i - U_ji e for i >= j,   q_j the masked row w_j.

    The mask of a block of inputs is chosen when the block is reached, by the smallest w_ji^2 /
    U_jj^2 over the whole block, all outputs together (the reference code prunes one more). For N:M
    the blocks have M inputs. If `mask` is given (True where a weight is kept), it is used instead.
    Dead inputs get zero weights. Source: Frantar and Alistarh 2023.
    """
    m = jnp.shape(weights)[0]
    size = min(block_size if rule.pattern is None else rule.pattern[1], m)
    more = -m % size  # rows to fill the last block
    U = inverse_factor(gram, jnp.any(valid, axis=1), damping)
    U = jax.scipy.linalg.block_diag(U, jnp.eye(more, dtype=U.dtype))
    W = jnp.where(jnp.diagonal(gram)[:, None] == 0, 0, weights)
    filled = lambda a: jnp.pad(a, ((0, more), (0, 0)))
    W, valid = filled(W), filled(valid)
    kept_rows = None if mask is None else filled(mask)

    def prune_input(errors: Array, row: tuple) -> tuple[Array, Array]:
        j, w, u, kept_j = row
        w = w - u @ errors  # the updates of the inputs before j in the block
        q = jnp.where(kept_j, w, 0)
        return errors.at[j].set((w - q) / u[j]), q

    def prune_block(i: Array, W: Array) -> Array:
        rows = lambda a: jax.lax.dynamic_slice_in_dim(a, i * size, size)
        W_in, U_in = rows(W), rows(rows(U).T).T
        scores = (W_in / jnp.diagonal(U_in)[:, None]) ** 2
        chosen = rule.matrix_mask(scores, rows(valid)) if kept_rows is None else rows(kept_rows)
        errors, done = jax.lax.scan(
            prune_input, jnp.zeros_like(W_in), (jnp.arange(size), W_in, U_in.T, chosen)
        )
        return jax.lax.dynamic_update_slice_in_dim(W - rows(U).T @ errors, done, i * size, 0)

    return jax.lax.fori_loop(0, (m + more) // size, prune_block, W)[:m]
