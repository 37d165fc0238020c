"""Problems from a researcher's own sequences and labels."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxtheory.core.arrays import INTEGERS, read_arrays, settle, unknown
from jaxtheory.core.config import fields
from jaxtheory.core.errors import InputError
from jaxtheory.theories.random_walk import data
from jaxtheory.theories.random_walk.model import Batch, Config, Problem


def given(
    sequences: Any,
    labels: Any,
    test_sequences: Any = None,
    test_labels: Any = None,
    **settings: Any,
) -> tuple[Problem, Batch, Config]:
    """Return (problem, batch, config) for your own sequences s_1..s_{N-1} (B, N-1) with labels y
    (B,), integers in [0, K). The weights are 1/B.

    K is the largest integer plus one, where `num_states` is not among the settings. Set `p`: the
    metrics compare with the law. What they say of the test sequences is NaN without such. Raises
    InputError for arrays that do not fit each other or the settings.
    """
    arrays, n = read_arrays(
        {
            "sequences": (sequences, INTEGERS, "B tokens"),
            "labels": (labels, INTEGERS, "B"),
            "test_sequences": (test_sequences, INTEGERS, "tests tokens"),
            "test_labels": (test_labels, INTEGERS, "tests"),
        }
    )
    if (test_sequences is None) != (test_labels is None):
        raise InputError("test_sequences and test_labels: give both, or neither")
    states = np.concatenate([np.ravel(x) for x in arrays.values() if x is not None])
    config = settle(
        Config,
        settings,
        {"length": n["tokens"] + 1, "num_sequences": n["B"]},
        num_states=max(3, int(states.max()) + 1),
        encoding_dim=max(n["tokens"] + 1, fields(Config)["encoding_dim"].default),
    )
    K = config.num_states.cap
    if states.min() < 0 or states.max() >= K:
        raise InputError(
            f"num_states (K) = {K}: the arrays hold {states.min()} to {states.max()}, expected 0 "
            f"to {K - 1}"
        )
    batches = [
        data.make_batch(jnp.pad(s, ((0, 0), (0, 1))), y, len(y), config)
        for s, y in zip(list(arrays.values())[::2], list(arrays.values())[1::2], strict=True)
        if s is not None
    ]
    train, test = batches if len(batches) == 2 else (batches[0], unknown(batches[0]))
    return Problem(train, test), train, config
