"""Problems from a researcher's own prompts."""

from typing import Any

import jax.numpy as jnp

from jaxtheory.core.arrays import FLOATS, read_arrays, settle, unknown, with_settings
from jaxtheory.texts.errors import InputError
from jaxtheory.theories.nearest_neighbor import data, model
from jaxtheory.theories.nearest_neighbor.model import Config, Problem, Prompts

UNIT = 1e-4  # largest deviation of a point's length from 1


@with_settings
def given(
    examples: Any,
    queries: Any,
    labels: Any = None,
    test_examples: Any = None,
    test_queries: Any = None,
    test_labels: Any = None,
    /,
    **settings: Any,
) -> tuple[Problem, Prompts, Config]:
    """Return a problem with your own prompts.

    Metrics on test prompts are NaN if none are given.

    Args:
        examples: The examples x_i of B prompts, of length 1, shape (B, N, d).
        queries: The queries q, of length 1, shape (B, d).
        labels: The labels y of the examples, shape (B, N); None to average over them.
        test_examples: Examples of the test prompts, in the same form.
        test_queries: Their queries.
        test_labels: Their labels.
        **settings: Fields of the config, by name or paper symbol.

    Returns:
        (problem, batch, config). Pass the problem as `problem=` to `jaxtheory.simulate` or `sweep`.
        The weights of the prompts are equal and sum to 1.

    Raises:
        InputError: Arrays do not fit each other or the settings, or points are off the sphere.

    Example:
        >>> import numpy as np
        >>> from jaxtheory.theories import nearest_neighbor
        >>> x, q = np.eye(3)[None, :2], np.eye(3)[2:]
        >>> problem, batch, config = nearest_neighbor.THEORY.given(x, q)
        >>> config.context.n, config.dimension.n
        (2, 3)
    """
    arrays, n = read_arrays(
        {
            "examples": (examples, FLOATS, "B N d"),
            "queries": (queries, FLOATS, "B d"),
            "labels": (labels, FLOATS, "B N"),
            "test_examples": (test_examples, FLOATS, "M N d"),
            "test_queries": (test_queries, FLOATS, "M d"),
            "test_labels": (test_labels, FLOATS, "M N"),
        }
    )
    x, q, y, *tests = arrays.values()
    test_x, test_q, test_y = tests
    if any(part is None for part in tests) != all(part is None for part in tests):
        raise InputError("test_examples, test_queries and test_labels: give all three, or none")
    for name, points in arrays.items():
        if points is not None and not name.endswith("labels"):
            gap = float(jnp.max(jnp.abs(jnp.sqrt(model.inner(points, points)) - 1)))
            if gap > UNIT:
                raise InputError(
                    f"{name}: points must have length 1, and differ from it by up to {gap:.2g}; "
                    "divide each point by its length"
                )
    signs = y is not None and bool(jnp.all(jnp.abs(y) == 1))
    law = "averaged" if y is None else "rademacher" if signs else "gaussian"
    read = {
        "num_prompts": n["B"],
        "context": n["N"],
        "dimension": n["d"],
        "num_test": n.get("M", n["B"]),
    }
    config = settle(Config, settings, read, labels=law)
    if (config.labels == "averaged") != (y is None):
        raise InputError(
            f"labels (labels) = {config.labels!r}: labels are {'not ' * (y is None)}given; leave "
            "the field out"
        )
    train = data.make_prompts(x, q, y, n["B"], config)
    if test_x is None:
        test = unknown(train._replace(y=jnp.full_like(train.t, jnp.nan)))
    else:
        test = data.make_prompts(test_x, test_q, test_y, n["M"], config)
    return Problem(train, test, data.at_example(test)), train, config
