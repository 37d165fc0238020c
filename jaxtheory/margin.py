"""Attention as a hard-margin support vector machine that selects tokens."""

import numpy as np
from jax.typing import ArrayLike
from numpy.typing import NDArray

from jaxtheory.texts.errors import InputError

_AT_ONCE = 64  # the violated constraints that are added before the next solution
_TOLERANCE = 1e-9  # by which a margin may be below 1
_SEPARABLE = 1e-7  # the smallest margin of rows of norm 1 that counts as positive

Rows = NDArray[np.float64]


def max_margin(keys: ArrayLike, queries: ArrayLike, optimal: ArrayLike) -> Rows:
    """Return the smallest matrix whose scores select one token of each sample by a margin of 1.

    It solves the token-selection problem of attention scores x_ij^T W z_i,

        minimize |W|_F^2  such that  (x_{i, o_i} - x_ij)^T W z_i >= 1  for all i and all j != o_i,

    whose solution is the direction to which gradient descent on W is predicted to converge. It is
    solved exactly, as a problem of nonnegative least squares (Lawson and Hanson 1974, chapter 23;
    `scipy.optimize.nnls`) in the constraints that matter: violated ones are added until none is
    left. This runs in NumPy on the CPU, in float64, and cannot be traced by JAX.

    Source: arXiv 2308.16898, equation (Att-SVM); arXiv 2306.13596.

    Args:
        keys: The tokens x (samples, tokens, d).
        queries: The vectors z (samples, e) that ask.
        optimal: The index o of the token that each sample shall select (samples,).

    Returns:
        The solution W (d, e). It is NaN if no matrix selects these tokens, and 0 if each sample has
        a single token.

    Raises:
        InputError: The shapes do not fit each other, an index is out of range, or a number is not
            finite.

    Example:
        >>> import numpy as np, jaxtheory
        >>> keys = np.array([[[1.0, 0.0], [-1.0, 0.0]]])
        >>> jaxtheory.max_margin(keys, [[2.0]], [0])[:, 0].tolist()
        [0.25, 0.0]
    """
    x, z = np.asarray(keys, np.float64), np.asarray(queries, np.float64)
    best = np.asarray(optimal)
    _require(x, z, best)
    rivals = np.arange(x.shape[1])[None, :] != best[:, None]
    sample, token = np.nonzero(rivals)
    gaps = x[sample, best[sample]] - x[sample, token]
    coordinates, basis = _coordinates(z)
    query = coordinates[sample]
    scale = max((np.linalg.norm(gaps, axis=1) * np.linalg.norm(query, axis=1)).max(initial=0), 0.0)
    if scale == 0:
        return np.full((x.shape[2], z.shape[1]), np.nan if len(sample) else 0.0)
    gaps = gaps / scale
    rows, W = np.zeros((0, gaps.shape[1] * len(basis))), np.zeros((gaps.shape[1], len(basis)))
    while True:
        margins = np.sum((gaps @ W) * query, axis=1)
        violated = np.argsort(margins, kind="stable")[:_AT_ONCE]
        violated = violated[margins[violated] < 1 - _TOLERANCE]
        new = (gaps[violated][:, :, None] * query[violated][:, None, :]).reshape(-1, rows.shape[1])
        union = np.unique(np.concatenate([rows, new]), axis=0)
        if len(union) == len(rows):
            solution: Rows = (W / scale) @ basis
            return solution
        rows, w = union, _smallest(union)
        if w is None:
            return np.full((x.shape[2], z.shape[1]), np.nan)
        W = w.reshape(W.shape)


def _smallest(rows: Rows) -> Rows | None:
    """Return the smallest w with rows @ w >= 1, for rows of norm 1 at most, or None."""
    from scipy.optimize import nnls  # half a second that `import jaxtheory` does without

    target = np.append(np.zeros(rows.shape[1]), 1.0)
    multipliers, distance = nnls(np.vstack([rows.T, np.ones(len(rows))]), target)
    if distance < _SEPARABLE:
        return None
    support = rows[multipliers > 0]
    w: Rows = np.linalg.lstsq(support, np.ones(len(support)))[0]
    return w


def _coordinates(z: Rows) -> tuple[Rows, Rows]:
    """Return coordinates (samples, rank) of the rows of z in an orthonormal basis (rank, e)."""
    U, s, basis = np.linalg.svd(z, full_matrices=False)
    rank = max(int(np.sum(s > 1e-12 * s.max(initial=0))), 1)
    return U[:, :rank] * s[:rank], basis[:rank]


def _require(x: Rows, z: Rows, best: np.ndarray) -> None:
    """Raise InputError unless these are tokens, queries and indices of the same samples."""
    shapes = f"keys {x.shape}, queries {z.shape} and optimal {best.shape}"
    if x.ndim != 3 or z.ndim != 2 or best.shape != x.shape[:1] or len(z) != len(x):
        raise InputError(
            f"max_margin: the shapes are {shapes}, expected (samples, tokens, d), (samples, e) and "
            "(samples,)"
        )
    if 0 in (*x.shape, *z.shape):
        raise InputError(f"max_margin: there is nothing to select; the shapes are {shapes}")
    if best.dtype.kind not in "iu" or not np.all((best >= 0) & (best < x.shape[1])):
        raise InputError(f"max_margin: optimal must hold integers in [0, {x.shape[1]})")
    if not (np.isfinite(x).all() and np.isfinite(z).all()):
        raise InputError("max_margin: keys and queries must be finite")
