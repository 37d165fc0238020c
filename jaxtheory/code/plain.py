"""Values as plain data that JSON can write."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxtheory.code.code_hash import code_hash


def as_json(value: Any) -> Any:
    """Return a value that JSON can write.

    Arrays become lists, functions their name with a hash of their code, and other objects their
    string without the memory address that `repr` may add.
    """
    if isinstance(value, Mapping):
        return {str(k): as_json(v) for k, v in value.items()}
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "__array__"):
        return np.asarray(value).tolist()
    if isinstance(value, list | tuple):
        return [as_json(v) for v in value]
    if isinstance(value, str | int | float | bool | None):
        return value
    if callable(value):
        return f"{getattr(value, '__qualname__', type(value).__qualname__)} {code_hash(value)}"
    return without_address(str(value))


def without_address(text: str) -> str:
    """Return what `repr` or `str` says of objects without their addresses in memory.

    Args:
        text: What they return.

    Example:
        >>> from jaxtheory.code.plain import without_address
        >>> without_address("<function f at 0x7f0a12>")
        '<function f>'
    """
    return re.sub(r" at 0x[0-9a-f]+", "", text)
