"""Contents of classes: what they derive from, and what they define."""

import contextlib
import enum
import functools
import inspect
import sys
import types
import typing
from typing import Any

from jaxtheory.code.contents import Pair

# entries of a class that do not affect its behavior; pickling an instance leaves __slotnames__
_NOT_OWN = {
    *("__doc__", "__dict__", "__weakref__", "__module__", "__firstlineno__", "__slotnames__"),
    *("__static_attributes__", "__annotations__", "__annotate__", "__annotate_func__"),
    *("__annotations_cache__", "_abc_impl"),
    # of an enumeration, which adds to them when its members are looked up
    *("_value2member_map_", "_hashable_values_", "_unhashable_values_"),
    "_unhashable_values_map_",
}


def read(kind: type) -> list[Pair]:
    """Return the bases of a class, its annotations and its entries."""
    members = vars(kind).get("_member_map_", {}) if isinstance(kind, enum.EnumMeta) else {}
    entries_read = {
        name: value
        for name, value in vars(kind).items()
        if name not in _NOT_OWN and name not in members and not _is_generated(kind, name, value)
    }
    inside: list[Pair] = [(None, base) for base in kind.__mro__[1:-1]]
    if type(kind) is not type:
        inside.append((None, type(kind)))
    if annotations := _annotations(kind):
        inside.append((None, annotations))
    for name, value in entries_read.items():
        inside += ((None, name), (name, value))
    return inside


def _annotations(kind: type) -> dict[str, Any]:
    """Return the annotations of a class; those that are strings are evaluated if possible.

    All are strings after `from __future__ import annotations`.
    """
    try:
        annotations = dict(inspect.get_annotations(kind))
    except Exception:  # they name what does not exist
        return {}
    scope = vars(sys.modules[kind.__module__]) if kind.__module__ in sys.modules else {}
    for name in annotations:
        for _ in range(2):  # a string in quotes is evaluated twice
            value = annotations[name]
            text = value.__forward_arg__ if isinstance(value, typing.ForwardRef) else value
            if isinstance(text, str):
                with contextlib.suppress(Exception):
                    annotations[name] = eval(_compiled(text), scope, dict(vars(kind)))
    return annotations


@functools.lru_cache(maxsize=4096)
def _compiled(text: str) -> types.CodeType:
    """Return the code of an expression."""
    return compile(text, "", "eval", dont_inherit=True)


def is_of_fields(code: types.CodeType) -> bool:
    """True for the code of a function that `dataclasses` generated from the fields of a class."""
    return code.co_filename == "<string>" and code.co_qualname.startswith("__create_fn__.<locals>.")


def _is_generated(kind: type, name: str, value: Any) -> bool:
    """True if an entry of a class was generated from its fields."""
    inner = getattr(value, "__func__", value)
    code = getattr(inner, "__code__", None)
    if code is None:  # the attributes of a named tuple follow from its fields
        return type(value).__name__ == "_tuplegetter" and name in vars(kind).get("_fields", ())
    home = inner.__globals__.get("__name__")
    if "__dataclass_fields__" in vars(kind):
        of_library = home in ("dataclasses", "reprlib") and name in ("__repr__", "__replace__")
        return of_library or is_of_fields(code)
    if "_fields" in vars(kind) and issubclass(kind, tuple):
        is_namedtuple = code.co_filename.startswith("<string") and str(home).startswith(
            "namedtuple_"
        )
        return is_namedtuple or home == "collections"
    return False
