"""Contents of objects of some library classes, which their attributes do not show.

An attribute may be a cache, or differ between objects of the same contents; classes that are
written in C may have none.
"""

import dataclasses
import functools
import gc
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxtheory.code import libraries

# attributes that are read otherwise or do not count
_OF_FRAME = {"_mgr", "_item_cache", "_cache", "_attrs", "_flags", "_name", "_is_copy"}
_OF_INDEX = {
    *("_name", "_names", "_data", "_id", "_cache", "_references", "_levels", "_codes", "_range"),
    *("_freq", "_engine"),
}
_OF_VARIABLE = {"_data", "_dims", "_attrs", "_encoding", "_cache"}
_OF_DATA = {"_accessors", "_cache", "_close", "_coords", "_indexes", "_name", "_variable"}
_OF_DATASET = {
    *("_accessors", "_attrs", "_cache", "_close", "_coord_names", "_dims", "_encoding"),
    *("_indexes", "_variables"),
}
_OF_PARAMETER = {
    *("__name__", "__bound__", "__constraints__", "__covariant__", "__contravariant__"),
    *("__infer_variance__", "__default__"),
}
_OF_TYPING = {
    *("_inst", "_name", "_nparams", "_defaults", "_paramspec_tvars", "_typevar_types"),
    *("__origin__", "__slots__", "__args__", "__parameters__", "__metadata__"),
}
_OF_MASKED = {"_mask", "_fill_value", "_sharedmask", "_basedict", "_optinfo", "_baseclass"}


def _of_field(field: dataclasses.Field) -> dict[str, Any]:
    """Return a field of a dataclass without its type and its description."""
    of_config = "symbol" in field.metadata
    metadata = {k: v for k, v in field.metadata.items() if k != "meaning" or not of_config}
    slots = ("name", "default", "default_factory", "init", "repr", "hash", "compare", "kw_only")
    kind = str(getattr(field, "_field_type", ""))
    return {"kind": kind, "metadata": metadata, **{x: getattr(field, x) for x in slots}}


def _of_jitted(function: Any) -> dict[str, Any]:
    """Return the function of `jax.jit` or the like, with its options."""
    state = function.__getstate__()
    options = ("static_argnums", "static_argnames", "global_cache_key")
    return {"wrapped": function.__wrapped__, **{name: state[name] for name in options}}


def _of_tree(tree: Any) -> dict[str, Any]:
    return {"node": tree.node_data(), "children": tree.children()}


def _of_index(index: Any) -> dict[str, Any]:
    is_multi = hasattr(index, "levels")
    values = [*index.levels, *index.codes] if is_multi else index.array
    return {"names": [*index.names], "values": values}


def _of_variable(variable: Any) -> dict[str, Any]:
    return {"dims": variable.dims, "values": variable.values, "attrs": {**variable.attrs}}


def _indexes(thing: Any) -> dict[Any, Any]:
    """Return the indexes of an xarray object that are of other classes than its own."""
    indexes = {str(k): v for k, v in thing.xindexes.items()}
    return {k: v for k, v in indexes.items() if not type(v).__module__.startswith("xarray.")}


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
    "typing.TypeVar": (lambda x: {"name": x.__name__, "bound": x.__bound__}, _OF_PARAMETER),
    "typing.ParamSpec": (lambda x: {"name": x.__name__}, _OF_PARAMETER),
    "typing.TypeVarTuple": (lambda x: {"name": x.__name__}, _OF_PARAMETER),
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
    "flax.TransformContext": (lambda x: {}, {"stack"}),  # of the calls that are running
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
        _OF_FRAME,
    ),
    "pandas.DataFrame": (
        lambda x: {
            "columns": x.columns,
            "index": x.index,
            "values": [x.iloc[:, i].array for i in range(x.shape[1])],
            "attrs": x.attrs,
        },
        _OF_FRAME,
    ),
    "pandas.Index": (_of_index, _OF_INDEX),
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
        _OF_DATA,
    ),
    "xarray.Dataset": (
        lambda x: {
            "variables": {str(k): v for k, v in x.variables.items()},
            "coords": [*map(str, x.coords)],
            "attrs": {**x.attrs},
            "indexes": _indexes(x),
        },
        _OF_DATASET,
    ),
    "xarray.Variable": (_of_variable, _OF_VARIABLE),
    "xarray.NamedArray": (
        lambda x: {"dims": x.dims, "values": x.to_numpy(), "attrs": {**x.attrs}},
        _OF_VARIABLE,
    ),
}


# variables of closures that the first call changes, by the package: what they are after it
_CHANGED: dict[tuple[str, str], Callable[[dict[str, Any]], Any]] = {
    ("flax", "trafo_fn"): lambda _: None,  # made of the other variables
    ("jax", "axis_names"): lambda x: (
        x["axis_names"] or frozenset(getattr(x.get("mesh"), "axis_names", ()))
    ),
    ("jax", "spmd_axis_name"): lambda x: (
        x["spmd_axis_name"]
        if isinstance(x["spmd_axis_name"], tuple | None)
        else (x["spmd_axis_name"],)
    ),
    ("optax", "decay_steps"): lambda x: (
        float(x["decay_steps"]) if isinstance(x["decay_steps"], int) else x["decay_steps"]
    ),
}


def of_closure(module: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of the closure of a library's function as they are after a call."""
    top = module.partition(".")[0]
    changed = {name: _CHANGED[top, name] for name in values if (top, name) in _CHANGED}
    return values | {name: change(values) for name, change in changed.items()}


@functools.lru_cache(maxsize=4096)
def reader(kind: type) -> tuple[_Reader | None, frozenset[str]]:
    """Return what reads objects of a class, and the attributes that it reads or leaves out."""
    for base in kind.__mro__:
        key = f"{str(base.__module__).partition('.')[0]}.{base.__qualname__}"
        if key in _READERS and libraries.is_library(str(base.__module__)):
            read, names = _READERS[key]
            return read, frozenset(names)
    return None, frozenset()
