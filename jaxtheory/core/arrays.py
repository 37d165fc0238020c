"""A researcher's own arrays: read with their sizes, so that a config follows from them."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Integer

from jaxtheory.core.config import by_field_name, fields, validate
from jaxtheory.core.errors import InputError
from jaxtheory.core.shapes import SymbolLength, match

FLOATS, INTEGERS, BOOLEANS = Float, Integer, Bool


def with_settings(given: Callable) -> Callable:
    """A `given` with positional-only arrays, some of which have the name of a config field: the
    arrays may be passed by name too, and a text under such a name is the field.

    Example:
        `given(tokens, labels, output="per_token")` sets the field; `output=W_O` gives the matrix.
    """
    signature = inspect.signature(given)
    arrays = [p for p in signature.parameters.values() if p.kind is p.POSITIONAL_ONLY]

    @functools.wraps(given)
    def either(*values: Any, **named: Any) -> Any:
        found = list(values)
        for parameter in arrays[len(values) :]:
            name = parameter.name
            if name in named and not isinstance(named[name], str):
                found.append(named.pop(name))
            elif parameter.default is parameter.empty:
                raise InputError(f"{name}: an array is missing")
            else:
                found.append(parameter.default)
        return given(*found, **named)

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
    """The arrays of {name: (value, kind of numbers, "n L d")}, in JAX's default types, and the
    length of each symbol. None stays None.

    Raises InputError for values that are no numbers or not finite, for integers where floats are
    expected and the other way round, and where two arrays do not agree in a length.
    """
    lengths: dict[str, SymbolLength] = {}
    found: dict[str, Any] = {}
    for name, (value, kind, dims) in table.items():
        if value is None:
            found[name] = None
            continue
        array = value if isinstance(value, jax.Array) else np.asarray(value)
        if array.dtype.kind not in "fiub" or (array.dtype.kind == "f" and kind is INTEGERS):
            raise InputError(f"{name} holds {array.dtype}, expected {_words(kind)}")
        match(name, array, kind[jax.Array, dims], lengths)
        if array.size == 0:
            raise InputError(f"{name} has shape {array.shape}: there must be at least one entry")
        if kind is FLOATS and not np.all(np.isfinite(array)):
            at = np.argwhere(~np.isfinite(array))[0].tolist()
            raise InputError(f"{name} is {array[tuple(at)]} at {at}: all entries must be finite")
        found[name] = jnp.asarray(array, {FLOATS: float, INTEGERS: np.int32, BOOLEANS: bool}[kind])
    return found, {symbol: length.n for symbol, length in lengths.items()}


def _words(kind: Any) -> str:
    return {FLOATS: "floats", INTEGERS: "integers", BOOLEANS: "booleans"}[kind]


def settle(
    config_type: Any, settings: Mapping[str, Any], read: Mapping[str, int], **least: Any
) -> Any:
    """The config of given arrays: sizes as they were read, the other fields from `settings` (words
    or symbols), where these say nothing from `least`, else their defaults.

    Raises InputError where a setting contradicts an array, and for what `validate` finds.
    """
    chosen = by_field_name(config_type, settings)
    for word, n in read.items():
        asked = chosen.setdefault(word, n)
        if getattr(asked, "n", asked) != n:
            symbol = fields(config_type)[word].symbol
            raise InputError(
                f"{word} ({symbol}) = {asked}: the arrays have {n}; leave {word} out, or change "
                "the arrays"
            )
    config = config_type(**{**least, **chosen})
    validate(config)
    return config


def unknown(record: Any) -> Any:
    """Weighted samples with weights NaN, whose means are NaN: in place of a set that is not
    given.
    """
    return record._replace(weight=jnp.full_like(record.weight, jnp.nan))
