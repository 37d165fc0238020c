"""Problems from a researcher's own prompts."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp

from jaxtheory.core.arrays import FLOATS, read_arrays, settle, unknown, with_settings
from jaxtheory.texts.errors import InputError
from jaxtheory.theories.in_context_regression import data
from jaxtheory.theories.in_context_regression.model import Batch, Config, Problem


@with_settings
def given(
    examples: Any,
    labels: Any,
    queries: Any,
    query_labels: Any,
    test: Any = None,
    /,
    **settings: Any,
) -> tuple[Problem, Batch, Config]:
    """Return a problem with your own prompts.

    The population metrics (loss, excess, components) are those of Gaussian prompts with the
    config's Lambda and no in-weight tasks. Choose the basis in which your covariance is diagonal.

    Args:
        examples: The labeled examples x, shape (P, N, D).
        labels: Their labels y, shape (P, N).
        queries: The queries x, shape (P, D).
        query_labels: The labels of the queries, shape (P,).
        test: A tuple of the same four arrays for test prompts, which may have other lengths.
        **settings: Fields of the config, by name or paper symbol.

    Returns:
        (problem, batch, config). Pass the problem as `problem=` to `jaxtheory.simulate` or `sweep`.
        The weights of the prompts are equal and sum to 1.

    Raises:
        InputError: Arrays do not fit each other or the settings.

    Example:
        >>> import numpy as np
        >>> from jaxtheory.theories import in_context_regression
        >>> x, w = np.arange(24.0).reshape(3, 4, 2), np.array([1.0, -1.0])
        >>> problem, batch, config = in_context_regression.THEORY.given(
        ...     x, x @ w, x[:, 0], x[:, 0] @ w, heads=2)
        >>> config.num_prompts.n, config.length.n, config.dimension.n
        (3, 4, 2)
    """
    arrays, n = read_arrays(
        {
            "examples": (examples, FLOATS, "P N D"),
            "labels": (labels, FLOATS, "P N"),
            "queries": (queries, FLOATS, "P D"),
            "query_labels": (query_labels, FLOATS, "P"),
        }
    )
    read = {"num_prompts": n["P"], "length": n["N"], "dimension": n["D"]}
    test_arrays = None
    if test is not None:
        if not isinstance(test, tuple) or len(test) != 4:
            raise InputError("test: give (examples, labels, queries, query_labels)")
        names = ("test examples", "test labels", "test queries", "test query_labels")
        shapes = ("T M D", "T M", "T D", "T")
        rows = {name: (x, FLOATS, axes) for name, x, axes in zip(names, test, shapes, strict=True)}
        test_arrays, m = read_arrays(rows)
        if m["D"] != n["D"]:
            raise InputError(f"test examples: D = {m['D']}, but examples have D = {n['D']}")
        read["num_test"] = m["T"]
    config = settle(Config, settings, {"num_test": n["P"], **read})
    train = _batch(arrays, n["P"], n["N"])
    test_batch = unknown(train) if test_arrays is None else _batch(test_arrays, m["T"], m["M"])
    return Problem(train, test_batch, data.moments(train), jnp.zeros(n["D"])), train, config


def _batch(arrays: Mapping[str, Any], count: int, length: int) -> Batch:
    """The batch of examples, labels, queries and labels of the queries."""
    x, y, query, label = arrays.values()
    return data.batch(x, y, query, label, count, length)
