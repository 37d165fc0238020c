"""Problems from a researcher's own features and labels."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.arrays import FLOATS, read_arrays, settle, unknown, with_settings
from jaxtheory.core.config import Size
from jaxtheory.core.errors import InputError
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
    """Return (problem, batch, config) for your own features X (n, d, D), with one group in each
    column, and labels y = +-1 (n,). The weights are 1/n.

    truth (d,): v*, taken over its length. Set `jstar`. What is measured against the truth, on test
    samples or downstream is NaN without them; the downstream task is not given. Raises InputError
    for arrays that do not fit each other or the settings.
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
