"""Problems from a researcher's own inputs and weights."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.arrays import BOOLEANS, FLOATS, read_arrays, settle
from jaxtheory.core.errors import InputError
from jaxtheory.ops import draws
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
    """Return (problem, batch, config) for your own inputs X (S, L, d) or (L, d) and weights W_Q,
    W_K (d, k), k <= d. W = W_Q W_K^T contains all scales, so the logits are X W X^T.

    Factors of k < d columns are filled with zeros: with two masks their entries there carry the
    penalty alone. attends (L, L): booleans, token i attends to token j, in place of `attention`.
    heldout (H, L, d): what is measured on it is NaN without. seed: of the random masks. Raises
    InputError for arrays that do not fit each other or the settings.
    """
    X, others = (x[None] if np.ndim(x) == 2 else x for x in (inputs, heldout))
    arrays, n = read_arrays(
        {
            "inputs": (X, FLOATS, "S L d"),
            "query": (query, FLOATS, "d k"),
            "key": (key, FLOATS, "d k"),
            "attends": (attends, BOOLEANS, "L L"),
            "heldout": (others, FLOATS, "heldout L d"),
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
