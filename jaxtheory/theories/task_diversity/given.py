"""Problems from a researcher's own prompts."""

from typing import Any

import jax.numpy as jnp

from jaxtheory.core.arrays import FLOATS, read_arrays, settle, with_settings
from jaxtheory.texts.errors import InputError
from jaxtheory.theories.task_diversity import data
from jaxtheory.theories.task_diversity.model import Batch, Config, Problem


@with_settings
def given(
    examples: Any,
    labels: Any,
    queries: Any,
    query_labels: Any,
    tasks: Any = None,
    /,
    **settings: Any,
) -> tuple[Problem, Batch, Config]:
    """Return a problem with your own prompts.

    The errors of the metrics are those of tokens x ~ N(0, I/d) with the config's noise: divide your
    features accordingly. Without tasks, unless the setting `tasks` is "fresh", idg_error and the
    predictions `equivalent` and `stopped`, which are made of the tasks, are NaN.

    Args:
        examples: The labeled examples x, shape (n, l, d).
        labels: Their labels y, shape (n, l).
        queries: The queries x, shape (n, d).
        query_labels: The labels of the queries, shape (n,).
        tasks: The task vectors that the prompts use, shape (k, d), for idg_error. A string is the
            setting of that name.
        **settings: Fields of the config, by name or paper symbol.

    Returns:
        (problem, batch, config). Pass the problem as `problem=` to `jaxtheory.simulate` or `sweep`.
        The weights of the prompts are equal and sum to 1.

    Raises:
        InputError: Arrays do not fit each other or the settings.

    Example:
        >>> import numpy as np
        >>> from jaxtheory.theories import task_diversity
        >>> x, w = np.arange(24.0).reshape(3, 4, 2), np.array([1.0, -1.0])
        >>> problem, batch, config = task_diversity.THEORY.given(
        ...     x, x @ w, x[:, 0], x[:, 0] @ w, w[None])
        >>> config.num_prompts.n, config.length.n, config.dimension.n, config.num_tasks.n
        (3, 4, 2, 1)
    """
    arrays, n = read_arrays(
        {
            "examples": (examples, FLOATS, "n l d"),
            "labels": (labels, FLOATS, "n l"),
            "queries": (queries, FLOATS, "n d"),
            "query_labels": (query_labels, FLOATS, "n"),
            "tasks": (tasks, FLOATS, "k d"),
        }
    )
    read = {"num_prompts": n["n"], "length": n["l"], "dimension": n["d"]}
    known = arrays["tasks"] is not None
    config = settle(Config, settings, read | ({"num_tasks": n["k"]} if known else {}))
    if known and config.tasks == "fresh":
        raise InputError('tasks: the setting tasks = "fresh" has none; leave the array out')
    shape = config.num_tasks.cap, n["d"]
    w = arrays["tasks"] if known else jnp.full(shape, 0.0 if config.tasks == "fresh" else jnp.nan)
    x, y, query, label, _ = arrays.values()
    train = data.batch(data.Prompts(x, y, query, label), config)
    return Problem(train, w), train, config
