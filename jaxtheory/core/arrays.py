"""A user's arrays, checked and measured, and the config that follows from their sizes."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Integer

from jaxtheory.core.config import fields
from jaxtheory.core.fields import by_field_name
from jaxtheory.core.shapes import SymbolLength, match
from jaxtheory.core.validation import validate
from jaxtheory.texts.errors import InputError

FLOATS, INTEGERS, BOOLEANS = Float, Integer, Bool


def with_settings(given: Callable) -> Callable:
    """Let the positional-only arrays of a slot `given` be passed by name too.

    Some of them have the name of a config field. A string under such a name is the value of the
    field: `given(tokens, labels, output="per_token")` sets the field, `output=W_O` is the matrix.
    """
    signature = inspect.signature(given)
    arrays = [p for p in signature.parameters.values() if p.kind is p.POSITIONAL_ONLY]

    @functools.wraps(given)
    def either(*values: Any, **named: Any) -> Any:
        positional = list(values)
        for parameter in arrays[len(values) :]:
            name = parameter.name
            if name in named and not isinstance(named[name], str):
                positional.append(named.pop(name))
            elif parameter.default is parameter.empty:
                raise InputError(f"{name}: this array is missing")
            else:
                positional.append(parameter.default)
        return given(*positional, **named)

    shown = [
        p.replace(kind=p.POSITIONAL_OR_KEYWORD) if p in arrays else p
        for p in signature.parameters.values()
    ]
    wrapper: Any = either
    wrapper.__signature__ = signature.replace(parameters=shown)
    return either


def read_arrays(
    table: Mapping[str, tuple[Any, Any, str]],
) -> tuple[dict[str, Any], dict[str, int]]:
    """Check and convert a user's arrays, and read their lengths.

    Args:
        table: For each name a value, its kind of numbers (FLOATS, INTEGERS or BOOLEANS), and the
            symbols of its axes, such as "n L d".

    Returns:
        The arrays by name in JAX's default types, None unchanged, and the length of each symbol.

    Raises:
        InputError: Values are not numbers, are not finite or are of another kind, or two arrays
            disagree in a length.
    """
    lengths: dict[str, SymbolLength] = {}
    arrays: dict[str, Any] = {}
    for name, (value, kind, dims) in table.items():
        if value is None:
            arrays[name] = None
            continue
        array = value if isinstance(value, jax.Array) else np.asarray(value)
        if array.dtype.kind not in "fiub" or (array.dtype.kind == "f" and kind is INTEGERS):
            raise InputError(f"{name} holds {array.dtype}, expected {_kind_name(kind)}")
        match(name, array, kind[jax.Array, dims], lengths)
        if array.size == 0:
            raise InputError(f"{name} has shape {array.shape}: it must have at least one entry")
        if kind is FLOATS and not np.all(np.isfinite(array)):
            at = np.argwhere(~np.isfinite(array))[0].tolist()
            raise InputError(f"{name} is {array[tuple(at)]} at {at}: all entries must be finite")
        arrays[name] = jnp.asarray(array, {FLOATS: float, INTEGERS: np.int32, BOOLEANS: bool}[kind])
    return arrays, {symbol: length.n for symbol, length in lengths.items()}


def _kind_name(kind: Any) -> str:
    return {FLOATS: "floats", INTEGERS: "integers", BOOLEANS: "booleans"}[kind]


def settle(
    config_type: Any, settings: Mapping[str, Any], read: Mapping[str, int], **least: Any
) -> Any:
    """Return the config that fits a user's arrays.

    Args:
        config_type: The class of the config.
        settings: Values of fields, by name or paper symbol.
        read: Sizes that were read from the arrays, by field name.
        **least: Values of fields that `settings` does not contain, instead of the defaults.

    Returns:
        The config, validated.

    Raises:
        InputError: A setting contradicts an array, or a value is not valid.
    """
    chosen = by_field_name(config_type, settings)
    for name, n in read.items():
        size = chosen.setdefault(name, n)
        if getattr(size, "n", size) != n:
            symbol = fields(config_type)[name].symbol
            raise InputError(
                f"{name} ({symbol}) = {size}: the arrays have {n}; leave {name} out, or change the "
                "arrays"
            )
    config = config_type(**{**least, **chosen})
    validate(config)
    return config


def unknown(record: Any) -> Any:
    """Return weighted samples with weights NaN, whose means are NaN, for a set that is missing."""
    return record._replace(weight=jnp.full_like(record.weight, jnp.nan))
