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
import gc
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

from jaxtheory.core import libraries

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
_GLOBAL = getattr(np.random.normal, "__self__", None)  # which distributions of SciPy hold
# in which functions of a library look up what they computed before
LOOKUPS = weakref.WeakKeyDictionary | weakref.WeakValueDictionary | weakref.WeakSet
# attributes that describe an object, by which no function computes
DESCRIBED = {
    *("__module__", "__name__", "__qualname__", "__doc__", "__annotations__", "__annotate__"),
    *("__dict__", "__weakref__", "__type_params__", "__dictoffset__", "__weaklistoffset__"),
    *("__vectorcalloffset__", "__orig_class__", "__text_signature__"),
}
# attributes that objects of a library fill in when they are used
_FILLED = {"_hash", "_cache", "_mhash"}
_FILLED_BY = {
    "flax": {
        *("_id", "_state", "_parent_ref", "parent", "scope", "_compact_name_scope_modules"),
        *("_pytree__state", "_object__state", "_trace_state"),
    },
    "scipy": {
        *("_transform", "_vertex_to_simplex", "_vertex_neighbor_vertices", "_qhull"),
        *("_diff_cij", "_diff_baryint", "_has_sorted_indices", "_has_canonical_format"),
        "has_canonical_format",
    },
    "jax": {"source_info", "debug_info"},
    "numpy": {"_ufunc"},  # of `vectorize`
    "pandas": {"_id"},
    "jaxtheory": {"origin", "again", "dropped", "derived"},  # of Theory and Algorithm
}
_OF_PANDAS = {
    *("_mgr", "_item_cache", "_cache", "_attrs", "_flags", "_name", "_names", "_data", "_id"),
    *("_references", "_levels", "_codes", "_range", "_freq", "_engine", "_is_copy"),
}
_OF_XARRAY = {
    *("_accessors", "_cache", "_close", "_coords", "_coord_names", "_data", "_dims", "_encoding"),
    *("_attrs", "_indexes", "_name", "_variable", "_variables"),
}
_OF_TYPING = {
    *("_inst", "_name", "_nparams", "_defaults", "_paramspec_tvars", "_typevar_types"),
    *("__origin__", "__slots__", "__args__", "__parameters__", "__metadata__"),
}
_OF_MASKED = {"_mask", "_fill_value", "_sharedmask", "_basedict", "_optinfo", "_baseclass"}


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
        array = np.asarray(leaf)
        total.update(f"{array.dtype}{array.shape}".encode())
        total.update(_bytes(array))
    return total.hexdigest()[:16]


def _bytes(array: np.ndarray) -> memoryview:
    """Return the bytes of an array in the order of its entries, copied only if they are not so."""
    flat = _in_order(array).reshape(-1)
    if flat.dtype.char in "gG":  # the 16 bytes of a long double have 6 that are undefined
        real = flat.view(flat.real.dtype)
        high = real.astype(np.float64)
        flat = np.stack([high, np.where(np.isfinite(high), real - high, 0).astype(np.float64)])
    return flat.reshape(-1).view(np.uint8).data


def _in_order(array: np.ndarray) -> np.ndarray:
    """Return an array stored in the order of its entries.

    A large transposed matrix is copied in tiles, which takes a fifth of the time.
    """
    if array.ndim != 2 or not array.flags.f_contiguous or array.size < 2**20:
        return np.ascontiguousarray(array)
    ordered, size = np.empty(array.shape, array.dtype), 128
    for i in range(0, array.shape[0], size):
        for j in range(0, array.shape[1], size):
            ordered[i : i + size, j : j + size] = array[i : i + size, j : j + size]
    return ordered


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
    reader, replaced = _reader(kind)
    values = {} if reader is None else reader(thing)
    parts: list[Pair] = [(None, kind), *values.items()]
    held = [] if reader is not None else _of_c(thing)
    parts += ((None, x) for x in held)
    attributes = {k: v for k, v in _attributes(thing).items() if k not in replaced}
    for name, value in sorted(attributes.items(), key=lambda item: str(item[0])):
        if own or value is not _GLOBAL:
            parts += ((None, name), (str(name), value))
    return f"object {len(values)} {len(held)} {len(attributes)}", parts


def _attributes(thing: Any) -> dict[Any, Any]:
    """Return the attributes of an object itself, without those that it fills in when it is used."""
    kind: Any = type(thing)
    slots, place, filled, _ = _layout(kind)
    kept = dict[Any, Any]()
    for name, slot in slots:
        with contextlib.suppress(AttributeError):  # it has no value yet
            kept[name] = slot.__get__(thing)
    own = {} if place is None else place.__get__(thing) or {}
    kept.update({k: v for k, v in own.items() if k not in filled and k not in DESCRIBED})
    if dataclasses.is_dataclass(thing):
        for field in dataclasses.fields(thing):
            if field.name not in kept and field.name not in filled:
                kept[field.name] = getattr(thing, field.name, None)
    return kept


@functools.lru_cache(maxsize=4096)
def _layout(kind: type) -> tuple[list[tuple[str, Any]], Any, frozenset[str], type | None]:
    """Return how objects of a class are stored.

    These are the slots, what gives the dictionary of attributes, the names that do not count, and
    the first class with contents of its own that are neither slots nor attributes.
    """
    slots, place, filled = list[tuple[str, Any]](), None, set[str]()
    for base in kind.__mro__:
        top = str(base.__module__).partition(".")[0]
        filled |= _FILLED_BY.get(top, set())
        if top != "builtins" and libraries.is_library(str(base.__module__)):
            filled |= _FILLED
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
    parts = [_BUILT[each](thing) for each in base.__mro__ if each in _BUILT][:1]
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
            name: each
            for name in ("__getnewargs_ex__", "__getnewargs__", "__getstate__")
            if (each := _giver(thing, base, name)) is not None
        }
        reduced = [getattr(each, name)(thing) for name, each in givers.items()] or None
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
    for each in type(thing).__mro__:
        if name in vars(each) and issubclass(each, base) and libraries.is_library(each.__module__):
            return each
    return None


def named(thing: Any) -> str | None:
    """Return the name of a library's object that is a variable of the module of its class."""
    module = str(getattr(type(thing), "__module__", None) or "")
    if libraries.is_library(module) and module in sys.modules:
        for name, value in vars(sys.modules[module]).items():
            if value is thing:
                return name
    return None


# Contents of objects of some classes


def _of_field(field: dataclasses.Field) -> dict[str, Any]:
    """Return a field of a dataclass without its type and its description."""
    metadata = {k: v for k, v in field.metadata.items() if k != "meaning"}
    slots = ("name", "default", "default_factory", "init", "repr", "hash", "compare", "kw_only")
    kind = str(field._field_type)  # type: ignore[attr-defined]
    return {"kind": kind, "metadata": metadata, **{x: getattr(field, x) for x in slots}}


def _of_jitted(function: Any) -> dict[str, Any]:
    """Return the function of `jax.jit` or the like, with its options."""
    state = function.__getstate__() if hasattr(function, "__getstate__") else None
    state = state if isinstance(state, dict) else {}
    options = ("static_argnums", "static_argnames", "global_cache_key")
    return {"wrapped": function.__wrapped__, **{name: state.get(name) for name in options}}


def _of_tree(tree: Any) -> dict[str, Any]:
    return {"node": tree.node_data(), "children": tree.children()}


def _of_index(index: Any) -> dict[str, Any]:
    several = hasattr(index, "levels")
    values = [*index.levels, *index.codes] if several else index.array
    return {"names": [*index.names], "values": values}


def _of_variable(variable: Any) -> dict[str, Any]:
    return {"dims": variable.dims, "values": variable.values, "attrs": {**variable.attrs}}


def _indexes(thing: Any) -> dict[Any, Any]:
    """Return the indexes of an xarray object that are of other classes than its own."""
    kept = {str(k): v for k, v in thing.xindexes.items()}
    return {k: v for k, v in kept.items() if not type(v).__module__.startswith("xarray.")}


def _of_context(variable: Any) -> dict[str, Any]:
    return {"name": variable.name, "value": variable.get(None)}


# of a dataclass, beside those that show in its methods and that later versions of Python record
_OPTIONS = ("init", "repr", "eq", "order", "unsafe_hash", "frozen")
_Reader = Callable[[Any], dict[str, Any]]
_READERS: dict[str, tuple[_Reader, Any]] = {
    "builtins.method": (lambda x: {"function": x.__func__, "object": x.__self__}, ()),
    "builtins.builtin_function_or_method": (
        lambda x: {"name": x.__name__, "object": x.__self__},
        (),
    ),
    "builtins.method-wrapper": (lambda x: {"name": x.__name__, "object": x.__self__}, ()),
    "builtins.property": (lambda x: {"get": x.fget, "set": x.fset, "delete": x.fdel}, ()),
    "builtins.staticmethod": (lambda x: {"function": x.__func__}, {"__wrapped__"}),
    "builtins.classmethod": (lambda x: {"function": x.__func__}, {"__wrapped__"}),
    "builtins.mappingproxy": (lambda x: {"items": [*x.items()]}, ()),
    "builtins.memoryview": (lambda x: {"bytes": (x.format, x.shape, x.tobytes())}, ()),
    "builtins.dict_keys": (lambda x: {"of": x.mapping}, ()),
    "builtins.dict_values": (lambda x: {"of": x.mapping}, ()),
    "builtins.dict_items": (lambda x: {"of": x.mapping}, ()),
    "builtins.cell": (lambda x: {"contents": x.cell_contents}, ()),
    "_struct.Struct": (lambda x: {"format": x.format}, ()),
    "_contextvars.ContextVar": (_of_context, ()),
    "typing._GenericAlias": (
        lambda x: {"of": x.__origin__, "parts": (x.__args__, getattr(x, "__metadata__", ()))},
        _OF_TYPING,
    ),
    "weakref.ReferenceType": (lambda x: {"object": x()}, ()),
    "weakref.WeakKeyDictionary": (lambda x: {"items": [*x.items()]}, {"data"}),
    "weakref.WeakValueDictionary": (lambda x: {"items": [*x.items()]}, {"data"}),
    "weakref.WeakSet": (lambda x: {"items": {*x}}, {"data"}),
    "functools.partial": (
        lambda x: {"function": x.func, "arguments": x.args, "keywords": x.keywords},
        {"func", "args", "keywords"},
    ),
    "functools.cached_property": (lambda x: {"function": x.func}, {"func", "attrname", "lock"}),
    "functools._lru_cache_wrapper": (
        lambda x: {"wrapped": x.__wrapped__},
        {"__wrapped__", "cache_parameters"},
    ),
    "dataclasses.Field": (_of_field, dataclasses.Field.__slots__),
    "dataclasses._DataclassParams": (
        lambda x: {k: getattr(x, k) for k in _OPTIONS},
        {*_OPTIONS, "kw_only", "match_args", "slots", "weakref_slot"},
    ),
    "numpy.dtype": (lambda x: {"text": repr(x), "metadata": dict(x.metadata or {})}, ()),
    "numpy.ufunc": (
        lambda x: {"name": x.__name__, "parts": [y for y in gc.get_referents(x) if callable(y)]},
        (),
    ),
    "numpy.MaskedArray": (
        lambda x: {
            "data": np.ma.getdata(x).view(np.ndarray),
            "mask": np.ma.getmaskarray(x),
            "fill": np.asarray(x.fill_value),
        },
        _OF_MASKED,
    ),
    "numpy.memmap": (
        lambda x: {"data": x.view(np.ndarray)},
        {"_mmap", "filename", "offset", "mode"},
    ),
    "jaxlib.PjitFunction": (_of_jitted, {"__wrapped__", "_fun", "_jit_info"}),
    "jaxlib.PmapFunction": (_of_jitted, {"__wrapped__", "_fun"}),
    "jaxlib.PyTreeDef": (_of_tree, ()),
    "jaxlib.PyTreeRegistry": (lambda x: {}, ()),
    "jaxlib.Device": (lambda x: {"text": f"{x.platform} {x.id}"}, ()),
    "scipy.UnivariateSpline": (  # the other arrays of FITPACK have undefined entries
        lambda x: {"data": x._data[:8], "spline": x._eval_args},
        {"_data", "_eval_args", "_spline_class"},
    ),
    "pandas.Series": (
        lambda x: {"name": x.name, "index": x.index, "values": x.array, "attrs": x.attrs},
        _OF_PANDAS,
    ),
    "pandas.DataFrame": (
        lambda x: {
            "columns": x.columns,
            "index": x.index,
            "values": [x.iloc[:, i].array for i in range(x.shape[1])],
            "attrs": x.attrs,
        },
        _OF_PANDAS,
    ),
    "pandas.Index": (_of_index, _OF_PANDAS),
    "pandas.ArrowExtensionArray": (
        lambda x: {"type": str(x.dtype), "values": x.to_numpy(dtype=object)},
        {"_pa_array", "_dtype"},
    ),
    "xarray.DataArray": (
        lambda x: {
            "name": x.name,
            "variable": x.variable,
            "coords": {str(k): v.variable for k, v in x.coords.items()},
            "indexes": _indexes(x),
        },
        _OF_XARRAY,
    ),
    "xarray.Dataset": (
        lambda x: {
            "variables": {str(k): v for k, v in x.variables.items()},
            "coords": [*map(str, x.coords)],
            "attrs": {**x.attrs},
            "indexes": _indexes(x),
        },
        _OF_XARRAY,
    ),
    "xarray.Variable": (_of_variable, _OF_XARRAY),
    "xarray.NamedArray": (
        lambda x: {"dims": x.dims, "values": x.to_numpy(), "attrs": {**x.attrs}},
        _OF_XARRAY,
    ),
}


@functools.lru_cache(maxsize=4096)
def _reader(kind: type) -> tuple[_Reader | None, frozenset[str]]:
    """Return what reads objects of a class, and the attributes that it reads or leaves out."""
    for base in kind.__mro__:
        key = f"{str(base.__module__).partition('.')[0]}.{base.__qualname__}"
        if key in _READERS and libraries.is_library(str(base.__module__)):
            reader, names = _READERS[key]
            return reader, frozenset(names)
    return None, frozenset()
