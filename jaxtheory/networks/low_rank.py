"""Matrices of parameters that are cut to a lower rank."""

import fnmatch
from typing import Any

import jax
import jax.numpy as jnp

from jaxtheory.texts.errors import InputError


def cut(params: Any, matrices: str, rank: int, *, start: Any = None) -> Any:
    """Return parameters whose matrices are cut to a rank.

    A matrix W becomes W_0 + the best approximation of W - W_0 of this rank in the Frobenius norm,
    where W_0 is the matrix in `start`, 0 by default: the sum of the leading terms of the singular
    value decomposition.

    Args:
        params: The parameters, a pytree of arrays.
        matrices: A pattern of names, such as "*/query/kernel" or "layers/*/query". The name of an
            array has the keys that lead to it, separated by slashes.
        rank: The rank, 0 or more.
        start: Parameters such as those before training, to cut the updates alone.

    Returns:
        The parameters with the cut matrices.

    Raises:
        InputError: No name fits the pattern, or the array that it names is not a matrix.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> params = {"query": jnp.diag(jnp.array([3.0, 2.0])), "bias": jnp.ones(2)}
        >>> jaxtheory.networks.cut(params, "query", 1)["query"].tolist()
        [[3.0, 0.0], [0.0, 0.0]]
    """
    if rank < 0:
        raise InputError(f"rank = {rank}: must be 0 or more")
    names = [
        jax.tree_util.keystr(path, simple=True, separator="/")
        for path, _ in jax.tree.leaves_with_path(params)
    ]
    if not fnmatch.filter(names, matrices):
        raise InputError(f"matrices = {matrices!r}: fits none of {', '.join(names)}")

    def at(path: Any, W: Any, first: Any) -> Any:
        name = jax.tree_util.keystr(path, simple=True, separator="/")
        if not fnmatch.fnmatchcase(name, matrices):
            return W
        if W.ndim != 2:
            raise InputError(f"{name} has the shape {W.shape}, and is not a matrix")
        u, s, v = jnp.linalg.svd(W - first, full_matrices=False)
        return first + (u[:, :rank] * s[None, :rank]) @ v[:rank]

    zero = jax.tree.map(jnp.zeros_like, params) if start is None else start
    return jax.tree.map_with_path(at, params, zero)
