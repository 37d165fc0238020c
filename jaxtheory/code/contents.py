"""Contents of objects: the values that tell an object from another one of its class.

They are the fields of a dataclass, the attributes and slots of every class of the object, and for
classes that are written in C the values from which `pickle` would rebuild the object. What an
object fills in when it is used, such as a cache, does not count. Objects whose contents change with
each use or cannot be read are refused.
"""

import collections
import contextlib
import copyreg
import dataclasses
import functools
import hashlib
import io
import random
import sys
import types
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import Any

import jax
import numpy as np

from jaxtheory.code import libraries, readers
from jaxtheory.code.keys import raw

Pair = tuple[str | None, Any]  # the name of an attribute, None for an entry; and its value
PLAIN = frozenset(
    (bytes, int, float, complex, bool, types.NoneType, types.EllipsisType, type(NotImplemented))
)
_STATEFUL: tuple[tuple[tuple[type, ...], str, str], ...] = (
    (
        (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random),
        "which each use changes",
        "draw from the key that the function takes, or store what it draws as an array",
    ),
    ((io.IOBase,), "which each use changes", "read it first, and store its text or its arrays"),
    (
        (Iterator, Coroutine, AsyncGenerator),
        "which each use changes",
        "store its values as a list, a tuple or an array",
    ),
)
_ABSENT = object()
_PIECE, _BLOCK = 2**22, 2**13  # bytes of a piece of an array, and entries of a block of it
_LINE = 16  # entries that are neighbors in memory and are copied together
_GLOBAL = getattr(np.random.normal, "__self__", None)  # which distributions of SciPy hold
# in which functions of a library look up what they computed before
LOOKUPS = weakref.WeakKeyDictionary | weakref.WeakValueDictionary | weakref.WeakSet
# attributes that describe an object, by which no function computes
DESCRIBED = {
    *("__module__", "__name__", "__qualname__", "__doc__", "__annotations__", "__annotate__"),
    *("__dict__", "__weakref__", "__type_params__", "__dictoffset__", "__weaklistoffset__"),
    *("__vectorcalloffset__", "__orig_class__", "__text_signature__"),
}
# attributes that objects of classes of a library, not of a user, fill in when they are used
_FILLED = {
    *("_hash", "_cache", "_mhash", "_transform", "_vertex_to_simplex", "_vertex_neighbor_vertices"),
    *("_qhull", "_diff_cij", "_diff_baryint", "_has_sorted_indices", "_has_canonical_format"),
    *("has_canonical_format", "source_info", "debug_info"),
}
# the same of classes from which a user derives, by the beginning of their module and their name
_FILLED_BY = {
    ("flax.linen", "Module"): {
        *("_id", "_state", "_parent_ref", "parent", "scope", "_compact_name_scope_modules"),
    },
    ("flax.nnx", "Pytree"): {"_pytree__state"},
    ("flax.nnx", "Object"): {"_object__state"},
    ("flax.nnx", "Variable"): {"_trace_state"},
    ("flax.nnx", "CustomVjp"): {"ctxtag"},
    ("numpy", "vectorize"): {"_ufunc"},
    ("pandas", "Index"): {"_cache", "_id", "_engine", "_references"},
    ("jaxtheory.core.theory", "Theory"): {"dropped", "derived"},
    ("jaxtheory.core.theory", "Algorithm"): {"origin", "again"},
}


class UnreadableError(Exception):
    """An object that has no hash: what is wrong with it, and what to do instead."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason, remedy)
        self.reason, self.remedy = reason, remedy


def array_hash(tree: Any) -> str | None:
    """Return a hash of the arrays of a pytree, or None for None."""
    if tree is None:
        return None
    total = hashlib.sha256()
    for leaf in jax.tree.leaves(tree):
        array = raw(leaf)
        total.update(f"{array.dtype}{array.shape}".encode())
        for piece in _pieces(array):
            total.update(_bytes(piece))
    return total.hexdigest()[:16]


def _bytes(array: np.ndarray) -> memoryview:
    """Return the bytes of an array that is stored in the order of its entries."""
    flat = array.reshape(-1)
    if flat.dtype.char in "gG":  # the 16 bytes of a long double have 6 that are undefined
        real = flat.view(flat.real.dtype)
        high = real.astype(np.float64)
        flat = np.stack([high, np.where(np.isfinite(high), real - high, 0).astype(np.float64)])
    return flat.reshape(-1).view(np.uint8).data


def _pieces(array: np.ndarray) -> Iterator[np.ndarray]:
    """Yield an array in pieces that are stored in the order of the entries.

    A piece may use the memory of the one before it. Small pieces stay in the cache of the
    processor, so that a transposed array takes little more time than another.
    """
    if array.flags.c_contiguous or array.nbytes <= _PIECE or array.dtype.char in "gG":
        yield np.ascontiguousarray(array)
        return
    row = array.nbytes // len(array)
    pairs = zip(array.strides, array.shape, strict=True)
    steps = [abs(step) if n > 1 else sys.maxsize for step, n in pairs]
    near = min(range(array.ndim), key=steps.__getitem__)  # the axis of neighbors in memory
    if row > _PIECE and near != 0:
        for subarray in array:
            yield from _pieces(subarray)
        return
    rows = max(_PIECE // row, _LINE)
    memory = np.empty((min(rows, len(array)), *array.shape[1:]), array.dtype)
    for start in range(0, len(array), rows):
        piece = array[start : start + rows]
        _copy(memory[: len(piece)], piece)
        yield memory[: len(piece)]


def _copy(to: np.ndarray, array: np.ndarray) -> None:
    """Copy an array, in blocks that are short along every axis if it is large."""
    if array.size <= _BLOCK:
        to[...] = array
        return
    longest = int(np.argmax(array.shape))
    half = array.shape[longest] // 2
    first, second = [(slice(None),) * longest + (x,) for x in (slice(half), slice(half, None))]
    _copy(to[first], array[first])
    _copy(to[second], array[second])


def of_array(array: Any) -> tuple[str, list[Pair]]:
    """Return the text of an array, and the objects in it."""
    kind = ""
    if isinstance(array, jax.Array):
        if jax.numpy.issubdtype(array.dtype, jax.dtypes.prng_key):
            kind, array = f" {array.dtype}", jax.random.key_data(array)
        kind += " weak" * bool(getattr(array, "weak_type", False))
    array = np.asarray(array)
    if array.dtype.fields is not None:  # there may be undefined bytes between the fields
        return f"array {array.dtype}{array.shape}", [(None, array[x]) for x in array.dtype.names]
    if array.dtype.hasobject:
        return f"array {array.dtype}{array.shape}", [(None, array.ravel().tolist())]
    return f"array {array_hash(array)}{kind}", []


def require_constant(thing: Any) -> None:
    """Raise UnreadableError for an object that each use changes."""
    own = not libraries.is_library(str(type(thing).__module__))
    for kinds, reason, remedy in _STATEFUL:
        if isinstance(thing, kinds) and not (own and kinds[0] is Iterator):
            raise UnreadableError(reason, remedy)


def read(thing: Any) -> tuple[str, list[Pair]]:
    """Return the text of an object other than a function or a class, and its contents.

    Raises UnreadableError if the contents cannot be read.
    """
    require_constant(thing)
    kind: Any = type(thing)
    own = not libraries.is_library(str(kind.__module__))
    reader, replaced = readers.reader(kind)
    values = {} if reader is None else reader(thing)
    parts: list[Pair] = [(None, kind), *values.items()]
    c_parts = [] if reader is not None else _of_c(thing)
    parts += ((None, x) for x in c_parts)
    attributes = {k: v for k, v in _attributes(thing).items() if k not in replaced}
    for name, value in sorted(attributes.items(), key=lambda item: str(item[0])):
        if own or value is not _GLOBAL:
            parts += ((None, name), (str(name), value))
    return f"object {len(values)} {len(c_parts)} {len(attributes)}", parts


def _attributes(thing: Any) -> dict[Any, Any]:
    """Return the attributes of an object itself, without those that it fills in when it is used."""
    kind: Any = type(thing)
    slots, place, filled, _ = _layout(kind)
    visible = dict[Any, Any]()
    for name, slot in slots:
        with contextlib.suppress(AttributeError):  # it has no value yet
            visible[name] = slot.__get__(thing)
    own = {} if place is None else place.__get__(thing) or {}
    visible.update({k: v for k, v in own.items() if k not in filled and k not in DESCRIBED})
    if dataclasses.is_dataclass(thing):
        for field in dataclasses.fields(thing):
            if field.name not in visible and field.name not in filled:
                visible[field.name] = getattr(thing, field.name, None)
    return visible


@functools.lru_cache(maxsize=4096)
def _layout(kind: type) -> tuple[list[tuple[str, Any]], Any, frozenset[str], type | None]:
    """Return how objects of a class are stored.

    These are the slots, what gives the dictionary of attributes, the names that do not count, and
    the first class with contents of its own that are neither slots nor attributes.
    """
    slots, place, filled = list[tuple[str, Any]](), None, set[str]()
    if libraries.is_library(str(kind.__module__)):
        filled |= _FILLED
    for base in kind.__mro__:
        for (module, called), attributes in _FILLED_BY.items():
            if base.__qualname__ == called and str(base.__module__).startswith(module):
                filled |= attributes
        for name, entry in vars(base).items():
            if isinstance(entry, functools.cached_property):
                filled.add(name)
            descriptor = isinstance(entry, types.MemberDescriptorType | types.GetSetDescriptorType)
            if name == "__dict__" and descriptor:
                place = entry if place is None else place
            elif isinstance(entry, types.MemberDescriptorType) and name not in DESCRIBED:
                slots.append((name, entry))
    slots = [(name, entry) for name, entry in slots if name not in filled]
    chain: type | None = kind
    while chain is not None and chain is not object and chain not in _BUILT and not _is_open(chain):
        chain = chain.__base__
    if chain is not None and chain not in _BUILT and _is_open(chain):
        return slots, place, frozenset(filled), chain
    return slots, place, frozenset(filled), chain if chain in _BUILT else None


def _is_open(kind: type) -> bool:
    """True if objects of a class have more contents than those of its base, slots and attributes.

    Such a class is written in C.
    """
    base = kind.__base__
    if base is None:
        return False
    members = [x for x in vars(kind).values() if isinstance(x, types.MemberDescriptorType)]
    size = 8 * sum(x.__name__ not in DESCRIBED for x in members)
    size += 8 * (kind.__weakrefoffset__ > 0 and base.__weakrefoffset__ == 0)
    attributes = kind.__dictoffset__ != 0 and base.__dictoffset__ == 0
    sizes = {size + 8} if kind.__dictoffset__ > 0 and attributes else {size, size + 8 * attributes}
    return kind.__basicsize__ - base.__basicsize__ not in sizes or (
        kind.__itemsize__ != base.__itemsize__
    )


_BUILT: dict[type, Callable[[Any], Any]] = {
    int: int.__int__,
    float: float.__float__,
    complex: lambda x: complex(*map(float.__float__, (x.real, x.imag))),
    str: str.__str__,
    bytes: lambda x: bytes(memoryview(x)),
    bytearray: lambda x: bytes(memoryview(x)),
    tuple: lambda x: [*tuple.__iter__(x)],
    list: lambda x: [*list.__iter__(x)],
    collections.OrderedDict: lambda x: [*collections.OrderedDict.items(x)],
    dict: lambda x: [*dict.items(x)],
    set: lambda x: {*set.__iter__(x)},
    frozenset: lambda x: {*frozenset.__iter__(x)},
    np.ndarray: lambda x: x.view(np.ndarray),
}


def _of_c(thing: Any) -> list[Any]:
    """Return the contents that a class written in C holds beside slots and attributes."""
    kind: Any = type(thing)
    base = _layout(kind)[3]
    if base is None:
        return []
    if base in _BUILT:
        return [_BUILT[base](thing)]
    parts = [_BUILT[ancestor](thing) for ancestor in base.__mro__ if ancestor in _BUILT][:1]
    return [*parts, *_pickled(thing, base)]


def _pickled(thing: Any, base: type) -> list[Any]:
    """Return the values from which an object is rebuilt, as a base written in C gives them."""
    reduced: Any = None
    if (giver := _giver(thing, base, "__reduce_ex__")) is not None:
        reduced = giver.__reduce_ex__(thing, 4)
    elif (giver := _giver(thing, base, "__reduce__")) is not None:
        reduced = giver.__reduce__(thing)
    elif base in copyreg.dispatch_table:  # last, since any package may add to the table
        reduced = copyreg.dispatch_table[base](thing)
    else:
        givers = {
            name: giver
            for name in ("__getnewargs_ex__", "__getnewargs__", "__getstate__")
            if (giver := _giver(thing, base, name)) is not None
        }
        reduced = [getattr(giver, name)(thing) for name, giver in givers.items()] or None
    if isinstance(reduced, str) and named(thing) is not None:
        return [reduced]
    if not isinstance(reduced, tuple | list):
        raise UnreadableError(
            "whose contents cannot be read", "store numbers, strings, arrays or containers of them"
        )
    own = getattr(thing, "__dict__", {})
    parts = list[Any]()
    for part in reduced:
        if isinstance(part, Iterator):
            part = [*part]
        if isinstance(part, dict):  # attributes are read by themselves
            part = {k: v for k, v in part.items() if own.get(k, _ABSENT) is not v}
        parts.append(part or None if isinstance(part, dict | list) else part)
    while parts and parts[-1] is None:  # there is an empty dictionary once it was looked for
        parts.pop()
    return parts


def _giver(thing: Any, base: type, name: str) -> Any:
    """Return the class whose method tells the contents of a base written in C.

    It is the base, or a class of a library derived from it; a method of a user may omit something.
    """
    default = getattr(object, name, None)
    if getattr(base, name, default) is not default:
        return base
    for ancestor in type(thing).__mro__:
        if (
            name in vars(ancestor)
            and issubclass(ancestor, base)
            and libraries.is_library(ancestor.__module__)
        ):
            return ancestor
    return None


def named(thing: Any) -> str | None:
    """Return the name of a library's object that is a variable of the module of its class."""
    module = str(getattr(type(thing), "__module__", None) or "")
    if libraries.is_library(module) and module in sys.modules:
        for name, value in vars(sys.modules[module]).items():
            if value is thing:
                return name
    return None
