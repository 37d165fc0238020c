"""Problems from a researcher's own features and labels."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.arrays import FLOATS, read_arrays, settle, unknown, with_settings
from jaxtheory.core.config import Size
from jaxtheory.texts.errors import InputError
from jaxtheory.theories.group_sparse import data
from jaxtheory.theories.group_sparse.model import Batch, Config, Problem


@with_settings
def given(
    features: Any,
    labels: Any,
    truth: Any = None,
    test_features: Any = None,
    test_labels: Any = None,
    /,
    **settings: Any,
) -> tuple[Problem, Batch, Config]:
    """Return a problem with your own features and labels.

    Metrics against v* or on test samples are NaN if these are not given. The downstream task is not
    given, so its metrics are NaN too. Set `jstar`, the relevant group.

    Args:
        features: X with one group in each column, shape (n, d, D).
        labels: y = +1 or -1, shape (n,).
        truth: The direction v*, shape (d,). It is divided by its length.
        test_features: Features for the test metrics, in the same form.
        test_labels: Their labels.
        **settings: Fields of the config, by name or paper symbol.

    Returns:
        (problem, batch, config). Pass the problem as `problem=` to `jaxtheory.simulate` or `sweep`.
        The weights of the samples are equal and sum to 1.

    Raises:
        InputError: Arrays do not fit each other or the settings.

    Example:
        >>> import numpy as np
        >>> from jaxtheory.theories import group_sparse
        >>> X, y = np.arange(24.0).reshape(4, 2, 3), np.array([1, -1, 1, -1])
        >>> problem, batch, config = group_sparse.THEORY.given(X, y, jstar=2)
        >>> config.num_samples.n, config.group_dim.n, config.num_groups.n
        (4, 2, 3)
    """
    labels, test_labels = (
        y if y is None or np.asarray(y).dtype.kind not in "iu" else np.asarray(y, float)
        for y in (labels, test_labels)
    )
    arrays, n = read_arrays(
        {
            "features": (features, FLOATS, "n d D"),
            "labels": (labels, FLOATS, "n"),
            "truth": (truth, FLOATS, "d"),
            "test_features": (test_features, FLOATS, "tests d D"),
            "test_labels": (test_labels, FLOATS, "tests"),
        }
    )
    if (test_features is None) != (test_labels is None):
        raise InputError("test_features and test_labels: give both, or neither")
    for name in ("labels", "test_labels"):
        if arrays[name] is not None and not bool(jnp.all(jnp.abs(arrays[name]) == 1)):
            raise InputError(f"{name}: must be +1 or -1")
    read = {"num_samples": n["n"], "group_dim": n["d"], "num_groups": n["D"]}
    config = settle(Config, settings, {**read, "downstream_samples": 1})
    to_batch = lambda x, y: Batch(jnp.moveaxis(x, 0, 2), y, Size(len(y)).weights())
    train = to_batch(arrays["features"], arrays["labels"])
    nowhere = jax.tree.map(lambda x: jnp.full_like(x[..., :1], jnp.nan), train)
    test = unknown(train)
    if test_features is not None:
        test = to_batch(arrays["test_features"], arrays["test_labels"])
    no_direction = jnp.full(n["d"], jnp.nan)
    v = no_direction if truth is None else data.direction(arrays["truth"])
    return Problem(train, test, nowhere, nowhere, v, no_direction), train, config
