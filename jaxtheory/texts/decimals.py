"""Numbers of low precision as the decimals that people write."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_DIGITS = 17  # enough to distinguish any two float64 numbers


def shortest(array: np.ndarray) -> np.ndarray:
    """Return for each entry the shortest decimal that rounds to it, as float64.

    float32(0.1) becomes 0.1, not 0.10000000149. Arrays that have no floats are returned unchanged,
    signed integers as int.
    """
    if not jnp.issubdtype(array.dtype, np.floating):
        signed = jnp.issubdtype(array.dtype, np.signedinteger) and array.dtype.kind != "m"
        return array.astype(int) if signed else array
    if array.dtype.itemsize >= 8:
        return array.astype(float)
    if array.dtype in (np.float32, np.float16):  # NumPy prints these as the shortest decimal
        return array.astype(str).astype(float)
    kind = array.dtype.type  # bfloat16, or an 8-bit float
    return np.array([_least(kind, float(x)) for x in array.ravel()]).reshape(array.shape)


def _least(kind: Any, value: float) -> float:
    tried = (float(f"{value:.{digits}g}") for digits in range(1, _DIGITS + 1))
    return next((decimal for decimal in tried if kind(decimal) == kind(value)), value)


def python_value(value: Any) -> Any:
    """Return a NumPy scalar or zero-dimensional array as a Python value, shortest for floats.

    Anything else is returned unchanged.
    """
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return value
    if isinstance(value, np.generic) or (hasattr(value, "__array__") and np.ndim(value) == 0):
        return shortest(np.asarray(value)).item()
    return value
