"""Numbers of low precision as people write them."""

from typing import Any

import jax.numpy as jnp
import numpy as np

_DIGITS = 17  # that tell any two float64 apart


def shortest(array: np.ndarray) -> np.ndarray:
    """Per entry the shortest decimal that rounds to it in the array's precision, as float64:
    float32(0.1) is 0.1, and not 0.10000000149. Arrays of other kinds are returned as they are.
    """
    if not jnp.issubdtype(array.dtype, np.floating):
        return array.astype(int) if jnp.issubdtype(array.dtype, np.signedinteger) else array
    if array.dtype.itemsize >= 8:
        return array.astype(float)
    if array.dtype in (np.float32, np.float16):  # NumPy writes these so
        return array.astype(str).astype(float)
    kind = array.dtype.type  # bfloat16, or a float of 8 bits
    return np.array([_least(kind, float(x)) for x in array.ravel()]).reshape(array.shape)


def _least(kind: Any, value: float) -> float:
    tried = (float(f"{value:.{digits}g}") for digits in range(1, _DIGITS + 1))
    return next((each for each in tried if kind(each) == kind(value)), value)


def python_value(value: Any) -> Any:
    """A NumPy scalar, or an array without axes, as the Python value that people write for it;
    anything else as it is.
    """
    if isinstance(value, np.generic) or (hasattr(value, "__array__") and np.ndim(value) == 0):
        return shortest(np.asarray(value)).item()
    return value
