"""Problems from a researcher's own tokens."""

from typing import Any

import jax.numpy as jnp

from jaxtheory.core.arrays import FLOATS, read_arrays, settle
from jaxtheory.texts.errors import InputError
from jaxtheory.theories.positional_semantic.model import Batch, Config, Problem


def given(
    tokens: Any, targets: Any, position: Any, direction: Any = None, **settings: Any
) -> tuple[Problem, Batch, Config]:
    """Return a problem with your own samples.

    The metric test_error is that of features N(0, sigma^2) with the config's sigma, omega and a.

    Args:
        tokens: The two tokens of each sample, shape (n, 2, d).
        targets: The weights t that each token's label gives to itself, shape (n, 2).
        position: p, shape (d,); the first token has p added and the second -p.
        direction: Q*, shape (d,), of norm sqrt(d); semantic and test_error are NaN without it.
        **settings: Fields of the config, by name or paper symbol.

    Returns:
        (problem, batch, config). Pass the problem as `problem=` to `jaxtheory.simulate` or `sweep`.

    Raises:
        InputError: Arrays do not fit each other or the settings.

    Example:
        >>> import numpy as np
        >>> from jaxtheory.theories import positional_semantic
        >>> x = np.arange(12.0).reshape(2, 2, 3)
        >>> problem, batch, config = positional_semantic.THEORY.given(
        ...     x, np.full((2, 2), 0.7), np.ones(3))
        >>> config.num_samples.n, config.dimension.n
        (2, 3)
    """
    arrays, n = read_arrays(
        {
            "tokens": (tokens, FLOATS, "n 2 d"),
            "targets": (targets, FLOATS, "n 2"),
            "position": (position, FLOATS, "d"),
            "direction": (direction, FLOATS, "d"),
        }
    )
    x, t, p, known = arrays.values()
    if not bool(jnp.all((t >= 0) & (t <= 1))):
        raise InputError("targets: weights must be in [0, 1]")
    config = settle(Config, settings, {"num_samples": n["n"], "dimension": n["d"]})
    square = jnp.sum((x[:, 0] - x[:, 1]) ** 2, axis=1) / n["d"]
    train = Batch(jnp.moveaxis(x, 1, 0), t.T, square)
    direction = jnp.full(n["d"], jnp.nan) if known is None else known
    return Problem(train, direction, p), train, config
