"""Shape checks of records: arrays must fit their annotations, the config and each other.

A record is a NamedTuple with annotated fields, such as `inputs: Float[Array, "S L d"]`. In an
annotation, the symbol of a size field means its capacity. Any other name means one length
throughout the record. Shapes are static, so the checks cost nothing in compiled programs.
"""

import functools
import typing
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxtheory.core.config import Config, Size, fields
from jaxtheory.texts.errors import InputError

_KINDS = {"float32": "floats", "int32": "integers", "bool": "booleans"}


class SymbolLength(NamedTuple):
    """Length of a symbol, with the config field it comes from or a phrase about its origin."""

    n: int
    field: str = ""
    origin: str = "by the config"


def _lengths_of(config: Config) -> dict[str, SymbolLength]:
    """Return the capacities of a config's sizes by symbol."""
    return {
        field.symbol: SymbolLength(getattr(config, name).cap, name)
        for name, field in fields(type(config)).items()
        if field.kind == "size"
    }


def check_shapes(
    config: Config, sizes: Mapping[str, Size | int] | None = None, **records: Any
) -> None:
    """Check the shapes and number types of the arrays of records.

    Args:
        config: The config, whose sizes are known lengths.
        sizes: Further lengths by symbol.
        **records: Records by the name that messages use. Fields that are None, and records without
            annotations, pass.

    Raises:
        InputError: An array does not fit its annotation, the config or another array of its record.
    """
    lengths = _lengths_of(config)
    lengths |= {name: SymbolLength(Size.wrap(n).cap) for name, n in (sizes or {}).items()}
    for name, record in records.items():
        _check_record(name, record, lengths)


def _check_record(name: str, record: Any, common: Mapping[str, SymbolLength]) -> None:
    lengths = dict(common)  # with those of this record alone
    kinds: Any = type(record)
    for field, kind in annotations(kinds).items():
        value = getattr(record, field)
        if hasattr(value, "_fields"):
            _check_record(f"{name}.{field}", value, common)
        elif kind is not None and value is not None:
            match(f"{name}.{field}", value, kind, lengths)


@functools.cache
def annotations(record: Any) -> dict[str, Any]:
    """Return the array type of each field of a record, None for other types."""
    hints = typing.get_type_hints(record, include_extras=True) if hasattr(record, "_fields") else {}
    return {
        name: next((h for h in (hint, *typing.get_args(hint)) if hasattr(h, "dim_str")), None)
        for name, hint in hints.items()
    }


def match(name: str, array: Any, kind: Any, lengths: dict[str, SymbolLength]) -> None:
    """Raise InputError if an array does not fit a jaxtyping annotation.

    `lengths` has the known length of each symbol; new symbols are added to it.
    """
    if not hasattr(array, "dtype"):
        raise InputError(f"{name} is a {type(array).__name__}, expected an array ({kind.dim_str})")
    if str(array.dtype) not in kind.dtypes:
        expected = next(plural for dtype, plural in _KINDS.items() if dtype in kind.dtypes)
        raise InputError(f"{name} holds {array.dtype}, expected {expected}")
    symbols, shape = kind.dim_str.split(), np.shape(array)
    want = [_value(symbol, lengths) for symbol in symbols]
    wrong = [i for i, n in enumerate(want) if len(shape) == len(want) and n not in (None, shape[i])]
    if len(shape) == len(want) and not wrong:
        for symbol, n in zip(symbols, shape, strict=True):
            lengths.setdefault(symbol, SymbolLength(n, origin=f"in {name}"))
        return
    expected = ", ".join(
        symbol if n is None else str(n) for symbol, n in zip(symbols, want, strict=True)
    )
    origins = [lengths.get(symbols[i], SymbolLength(0)) for i in wrong]
    ways = [
        f"set {size.field}={shape[i]}" for i, size in zip(wrong, origins, strict=True) if size.field
    ]
    hints = dict.fromkeys(
        ways
        or [f"{symbols[i]} = {want[i]} {s.origin}" for i, s in zip(wrong, origins, strict=True)]
    )
    raise InputError(
        f"{name} has shape {shape}, expected ({kind.dim_str.replace(' ', ', ')}) = ({expected})"
        + (f": {', '.join(hints)}" if hints else "")
        + (", or change the array" if ways else "")
    )


def _value(symbol: str, lengths: Mapping[str, SymbolLength]) -> int | None:
    """Return the length of a symbol, a number or a sum of these; None if it is not known."""
    parts = symbol.split("+")
    if not all(part.isdigit() or part in lengths for part in parts):
        return None
    return sum(int(part) if part.isdigit() else lengths[part].n for part in parts)
