"""Reads of a theory's functions outside of their code: files, the environment and clocks.

What is read when a function is traced stays in the program, and the hash of the code does not
contain it. So a sweep would still use it, and a store would return it, after a file has changed. A
result that `functools.cache` keeps also outlives the values of globals that it was computed from.

Code is inspected, not run. What a method of an object reads is not found.
"""

import builtins
import functools
import inspect
import math
import os
import pathlib
import re
import sys
import sysconfig
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxtheory.code import traces
from jaxtheory.code.code_hash import functions
from jaxtheory.code.names import Use, attributes, imports, uses
from jaxtheory.texts.errors import InputError

_FILE, _ENVIRONMENT, CLOCK = "a file", "the environment", "a clock"
_REMEDIES = {
    _FILE: "read it where the module is loaded, or pass the arrays by problem=theory.given(...)",
    _ENVIRONMENT: "read it where the module is loaded, or make it a field of Config",
    CLOCK: "make it a field of Config",
}
# names of functions of libraries that read files: numpy.load, pandas.read_csv, pickle.load
_READERS = re.compile(
    "(load|open|read|fetch|restore)(_[a-z0-9_]+)?|loadtxt|loadmat|genfromtxt|fromfile|fromregex"
    "|memmap|imread|urlopen|input"
)
_PURE = {"jax.lax", "jax._src.lax", "operator", "importlib"}  # modules with such names that do not
_PATHS = {
    *("read_text", "read_bytes", "open", "exists", "is_file", "is_dir", "iterdir", "glob", "rglob"),
    *("stat", "cwd", "home", "expanduser"),
}
_OF_OS = {
    *("environ", "environb", "getenv", "getenvb", "listdir", "scandir", "walk", "stat", "open"),
    *("popen", "system", "getcwd", "urandom", "getlogin", "uname", "times"),
    *("exists", "isfile", "isdir", "getsize", "getmtime", "expanduser", "expandvars"),
}
_OS = {"os", "posix", "nt", "posixpath", "ntpath", "genericpath"}
# modules all of whose functions and classes read from outside
_READING = {
    *("glob", "sqlite3", "h5py", "netCDF4", "zipfile", "tarfile", "gzip", "bz2", "lzma", "shelve"),
    *("socket", "subprocess", "requests", "linecache", "fileinput", "getpass", "platform"),
}
_CLOCKS = {"time": {"sleep", "struct_time", "strptime", "mktime"}}
_NOW = {"now", "today", "utcnow"}
_LIBRARIES = tuple(
    str(Path(sysconfig.get_path(kind)).resolve()) for kind in ("stdlib", "purelib", "platlib")
)


class Binding(NamedTuple):
    """The module or closure that binds a name, and the value there.

    home: the id of its dictionary or cell. chain: the attributes of the value that are used. path:
    the name with the modules before it.
    """

    home: int
    name: str
    value: Any
    chain: tuple[str, ...]
    path: str


class Read(NamedTuple):
    """A read of a function from outside (a file, the environment, a clock), by its name."""

    what: str
    name: str


def binding(function: types.FunctionType, use: Use) -> Binding | None:
    """Return the binding of a name, through modules to the one that has it; None for a built-in."""
    free, home = function.__code__.co_freevars, function.__globals__
    chain, path = use.chain, use.name
    if use.name in free:
        cell = (function.__closure__ or ())[free.index(use.name)]
        try:
            value, at = cell.cell_contents, (id(cell), "")
        except ValueError:  # not filled yet
            return None
    elif use.name in home:
        value, at = home[use.name], (id(home), use.name)
    else:
        return None
    while isinstance(value, types.ModuleType) and chain and chain[0] in vars(value):
        at = id(vars(value)), chain[0]
        value, path, chain = vars(value)[chain[0]], f"{path}.{chain[0]}", chain[1:]
    return Binding(*at, value, chain, path)


def without_packages(users: Iterable[types.FunctionType], home: str) -> list[types.FunctionType]:
    """Leave out functions of installed packages other than `home`."""
    installed = lambda f: _installed(f.__code__.co_filename)
    return [f for f in users if package_of(f) == home or not installed(f)]


def package_of(thing: Any) -> str:
    """Return the package of a function or of a class, by its name."""
    home = getattr(thing, "__globals__", {}).get("__name__") or thing.__module__
    return str(home).partition(".")[0]


def _installed(file: str) -> bool:
    """True if a file belongs to Python or to an installed package."""
    return file.startswith("<frozen ") or os.path.realpath(file).startswith(_LIBRARIES)


def functions_of(theory: Any) -> dict[str, Callable]:
    """Return the functions of a theory and of its algorithms, by name, without `given`."""
    slots = {
        slot: part
        for slot, part in theory._asdict().items()
        if callable(part) and not isinstance(part, type) and slot != "given"
    }
    for label, algorithm in theory.algorithms.items():
        parts = algorithm._asdict().items()
        slots |= {f"algorithm {label}.{part}": function for part, function in parts if function}
    return slots


def reads(function: types.FunctionType) -> Iterator[Read]:
    """Yield what the code of a function reads from outside."""
    code = function.__code__
    for use in uses(code):
        if use.act != "read":
            continue
        if (at := binding(function, use)) is not None:
            yield from _of_value(at.value, at.chain, code)
        elif (built_in := getattr(builtins, use.name, None)) in (open, input):
            yield from _of_value(built_in, use.chain, code)
    for entry in imports(code):
        module = sys.modules.get(entry.module)
        for name in entry.names if module is not None and not entry.level else ():
            yield from _of_value(getattr(module, name, None), (), code)
        if module is not None and not entry.names and _installed(str(_file_of(module))):
            inside = attributes(code) & vars(module).keys()
            for name in sorted(inside):
                yield from _of_value(vars(module)[name], (), code)


def _file_of(module: types.ModuleType) -> Any:
    """Return the file of a module; built-in modules have that of `os`."""
    return getattr(module, "__file__", None) or os.__file__


def _of_value(value: Any, chain: tuple[str, ...], code: types.CodeType) -> Iterator[Read]:
    """Yield what a value reads from outside when the code uses it."""
    if value is os.environ or value is getattr(os, "environb", None):
        yield Read(_ENVIRONMENT, "os.environ")
    elif value is sys.argv:
        yield Read(_ENVIRONMENT, "sys.argv")
    elif isinstance(value, pathlib.Path) or (
        isinstance(value, type) and issubclass(value, pathlib.Path)
    ):
        yield from (Read(_FILE, f"Path.{name}") for name in sorted(attributes(code) & _PATHS))
    elif isinstance(value, type) and value.__module__ == "datetime":
        yield from (Read(CLOCK, f"{value.__name__}.{name}") for name in chain[:1] if name in _NOW)
    elif callable(value):
        yield from _of_callable(value)


def _of_callable(value: Any) -> Iterator[Read]:
    """Yield what a function or class of a library reads from outside when it is called."""
    module, name = str(getattr(value, "__module__", "")), str(getattr(value, "__name__", ""))
    top, code = module.partition(".")[0], getattr(inspect.unwrap(value), "__code__", None)
    if top == "jaxtheory" or (code is not None and not _installed(code.co_filename)):
        return
    if module in _OS:
        if name in _OF_OS:
            what = _ENVIRONMENT if name.startswith("getenv") else _FILE
            yield Read(what, f"os.{name}")
    elif module in _CLOCKS:
        if name not in _CLOCKS[module]:
            yield Read(CLOCK, f"{module}.{name}")
    elif top in _READING:
        yield Read(_FILE, f"{module}.{name}")
    elif _READERS.fullmatch(name) and not module.startswith(tuple(_PURE)):
        shown = "" if module in ("io", "builtins") else f"{top.lstrip('_')}."
        yield Read(_FILE, shown + name)


def _candidates(users: list[types.FunctionType]) -> list[types.FunctionType]:
    """Leave out methods of classes whose names occur nowhere as an attribute."""
    named = {"__call__", "__init__"}.union(*(attributes(f.__code__) for f in users))
    owner = lambda f: f.__qualname__.rpartition(".")[0]
    return [f for f in users if owner(f)[-8:] in ("", "<locals>") or f.__name__ in named]


def require_none(name: str, home: str, slots: Mapping[str, Callable]) -> None:
    """Raise InputError if functions of a theory read a file, the environment or a clock.

    Results that `functools.cache` keeps for them are forgotten if its code has changed; those that
    are computed from a global that may change are refused.

    Args:
        name: The name of the theory.
        home: The package that it belongs to.
        slots: Its functions by name.
    """
    parts = tuple(slots.items())
    total = traces.present() or traces.code_of(parts)
    for cache, code in _inspect(total, name, home, parts):
        if _codes.get(cache) != code:
            cache.cache_clear()
            _codes[cache] = code


_codes: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()  # of cached functions


@functools.lru_cache(16)
def _inspect(
    _code: str, name: str, home: str, slots: tuple[tuple[str, Callable], ...]
) -> tuple[tuple[Any, str], ...]:
    """Return the functions that keep their results, each with the hash of its code.

    Raises InputError if a function of a slot reads from outside.
    """
    caches: dict[int, Any] = {}
    for slot, function in slots:
        users = [
            f for f in without_packages(functions(function), home) if package_of(f) != "jaxtheory"
        ]
        for user in _candidates(users):
            for read in reads(user):
                raise InputError(
                    f"{name}.{slot} reads {read.what} ({read.name} in {_place(user)}), whose "
                    f"changes a sweep would not see; {_REMEDIES[read.what]}"
                )
        for cache in _caches([function, *users]):
            for at in _values(cache):
                raise InputError(
                    f"{name}.{slot}: functools.cache keeps results of a function that reads "
                    f"{at.path}, a {type(at.value).__name__} ({_place(cache.__wrapped__)}), also "
                    f"after {at.path} has changed; make it an argument, or remove the cache"
                )
            caches[id(cache)] = cache
    return tuple((cache, traces.code_of(cache.__wrapped__)) for cache in caches.values())


def _place(function: Any) -> str:
    """Return the name of a function with its file and line."""
    name = function.__qualname__.replace(".<locals>", "")
    return f"{name}, {Path(function.__code__.co_filename).name}:{function.__code__.co_firstlineno}"


def _keeps(value: Any) -> bool:
    """True if `functools.cache` or `lru_cache` made a function."""
    return hasattr(value, "cache_clear") and isinstance(
        getattr(value, "__wrapped__", None), types.FunctionType
    )


def _caches(users: Iterable[Any]) -> Iterator[Any]:
    """Yield the functions that keep their results, among functions and what they refer to."""
    for user in users:
        if _keeps(user):
            yield user
        if not isinstance(user, types.FunctionType):
            continue
        bindings = (binding(user, use) for use in uses(user.__code__) if use.act == "read")
        yield from (at.value for at in bindings if at is not None and _keeps(at.value))
        thing: Any = user.__globals__.get(user.__qualname__.partition(".")[0])
        for part in user.__qualname__.split(".")[1:]:
            thing = getattr(thing, part, None)
        if _keeps(thing) and thing.__wrapped__ is user:
            yield thing


def _values(cache: Any) -> Iterator[Binding]:
    """Yield the globals that a cached function reads and that are neither code nor a library's."""
    home = package_of(cache.__wrapped__)
    for user in without_packages(functions(cache.__wrapped__), home):
        for use in uses(user.__code__):
            if use.name in user.__code__.co_freevars or use.name.startswith("__"):
                continue
            at = binding(user, use)
            if at is None or isinstance(at.value, types.ModuleType | type):
                continue
            if inspect.isroutine(at.value) or hasattr(at.value, "__wrapped__"):
                continue
            if not _of_library(user, use, at):
                yield at


def _of_library(function: types.FunctionType, use: Use, at: Binding) -> bool:
    """True if a value is a constant of a library, such as numpy.pi."""
    thing, libraries = function.__globals__.get(use.name), (math, np)
    for name in use.chain:
        if not isinstance(thing, types.ModuleType):
            break
        if _installed(str(_file_of(thing))):
            return True
        thing = getattr(thing, name, None)
    return any(getattr(library, at.name, None) is at.value for library in libraries)
