"""Arrays and typed random keys as arrays of NumPy."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def is_key(x: Any) -> bool:
    """True for an array of typed random keys."""
    return hasattr(x, "dtype") and bool(jnp.issubdtype(x.dtype, jax.dtypes.prng_key))


def host(x: Any) -> Any:
    """Return an array as a NumPy array; typed keys, which NumPy lacks, are returned unchanged."""
    return x if is_key(x) else np.asarray(x)


def raw(x: Any) -> np.ndarray:
    """Return an array as a NumPy array; for typed keys, that of their words."""
    return np.asarray(jax.random.key_data(x) if is_key(x) else x)
