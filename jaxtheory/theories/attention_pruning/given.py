"""Problems from a researcher's own inputs and weights."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.arrays import BOOLEANS, FLOATS, read_arrays, settle
from jaxtheory.ops import draws
from jaxtheory.texts.errors import InputError
from jaxtheory.theories.attention_pruning import data
from jaxtheory.theories.attention_pruning.model import Batch, Config, Problem


def given(
    inputs: Any,
    query: Any,
    key: Any,
    attends: Any = None,
    heldout: Any = None,
    *,
    seed: int = 0,
    **settings: Any,
) -> tuple[Problem, Batch, Config]:
    """Return a problem with your own inputs X and weights W_Q, W_K.

    W = W_Q W_K^T contains all scales, so the logits are X W X^T. Factors of k < d columns are
    filled with zeros. With two masks, only the penalty acts on the entries of the masks there.

    Args:
        inputs: The calibration sequences X, shape (S, L, d) or (L, d).
        query: The query weights W_Q, shape (d, k) with k <= d.
        key: The key weights W_K, shape (d, k).
        attends: Booleans of shape (L, L), True where token i attends to token j. They replace the
            field `attention`.
        heldout: Sequences for the held-out metrics, shape (H, L, d). These metrics are NaN without.
        seed: The seed of the random masks.
        **settings: Fields of the config, by name or paper symbol.

    Returns:
        (problem, batch, config). Pass the problem as `problem=` to `jaxtheory.simulate` or `sweep`.

    Raises:
        InputError: Arrays do not fit each other or the settings.

    Example:
        >>> import numpy as np
        >>> from jaxtheory.theories import attention_pruning
        >>> X, W_Q, W_K = np.ones((2, 5, 4)), np.eye(4), np.eye(4)
        >>> problem, batch, config = attention_pruning.THEORY.given(X, W_Q, W_K)
        >>> problem.weights.shape, config.dimension.n
        ((4, 4), 4)
    """
    X, heldout_inputs = (x[None] if np.ndim(x) == 2 else x for x in (inputs, heldout))
    arrays, n = read_arrays(
        {
            "inputs": (X, FLOATS, "S L d"),
            "query": (query, FLOATS, "d k"),
            "key": (key, FLOATS, "d k"),
            "attends": (attends, BOOLEANS, "L L"),
            "heldout": (heldout_inputs, FLOATS, "heldout L d"),
        }
    )
    d, k = n["d"], n["k"]
    if k > d:
        raise InputError(
            f"query and key have k = {k} columns: must be at most d = {d}; give factors of their "
            "product with fewer"
        )
    read = {"num_sequences": n["S"], "length": n["L"], "dimension": d}
    config = settle(Config, settings, read, rank=k)
    W_Q, W_K = (jnp.pad(arrays[name], ((0, 0), (0, d - k))) for name in ("query", "key"))
    unseen = jnp.full((1, *arrays["inputs"].shape[1:]), jnp.nan)
    problem = Problem(
        arrays["inputs"],
        unseen if heldout is None else arrays["heldout"],
        W_Q,
        W_K,
        W_Q @ W_K.T,
        data.attention_mask(config) if attends is None else arrays["attends"],
        jax.random.uniform(draws.run_key(seed, 0), (3, d, d)),
    )
    return problem, Batch(problem.inputs), config
