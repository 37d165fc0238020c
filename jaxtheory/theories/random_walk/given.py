"""Problems from a researcher's own sequences and labels."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxtheory.core.arrays import INTEGERS, read_arrays, settle, unknown
from jaxtheory.core.config import fields
from jaxtheory.texts.errors import InputError
from jaxtheory.theories.random_walk import data
from jaxtheory.theories.random_walk.model import Batch, Config, Problem


def given(
    sequences: Any,
    labels: Any,
    test_sequences: Any = None,
    test_labels: Any = None,
    **settings: Any,
) -> tuple[Problem, Batch, Config]:
    """Return a problem with your own sequences and labels.

    The metrics compare with the law of the walk, so set `p`. Those of the test sequences are NaN if
    none are given.

    Args:
        sequences: The states s_1..s_{N-1} of B sequences, integers in [0, K), shape (B, N-1).
        labels: The states y that follow, integers in [0, K), shape (B,).
        test_sequences: Sequences for the test metrics, in the same form.
        test_labels: Their labels.
        **settings: Fields of the config, by name or paper symbol. `num_states` (K) is the largest
            integer plus one if it is not given.

    Returns:
        (problem, batch, config). Pass the problem as `problem=` to `jaxtheory.simulate` or `sweep`.
        The weights of the samples are equal and sum to 1.

    Raises:
        InputError: Arrays do not fit each other or the settings.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import random_walk
        >>> problem, batch, config = random_walk.THEORY.given([[0, 1, 2], [2, 1, 0]], [0, 2], p=0.5)
        >>> run = jaxtheory.simulate(
        ...     random_walk, config, jaxtheory.run_key(0, 0), steps=2, problem=problem
        ... )
        >>> run.metrics["loss"].shape
        (3,)
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
        {"length": n["tokens"] + 1, "num_sequences": n["B"], "num_test": n.get("tests", n["B"])},
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
