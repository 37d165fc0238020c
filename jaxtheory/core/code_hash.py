"""Hashes of code and arrays.

The hash of a function covers its text in normal form, its closure, and every function, class or
value that its globals refer to, down to the libraries. Comments, docstrings, assertions and the
location of a file do not count. Objects are hashed as they are in memory, so a theory has the same
hash in a package, in a file with helper modules, or typed into a notebook. A function whose text is
not available is hashed by its bytecode, which differs between minor versions of Python.
"""

import dataclasses
import functools
import hashlib
import importlib
import os
import sys
import types
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

import jax
import numpy as np

from jaxtheory.core import names, source
from jaxtheory.core.errors import InputError

LIBRARIES = {
    "jax",
    "jaxlib",
    "numpy",
    "scipy",
    "flax",
    "optax",
    "chex",
    "jaxtyping",
    "beartype",
    "xarray",
    "matplotlib",
} | sys.stdlib_module_names
# modules of jaxtheory that affect the bits of a result, hashed as one set in `computing`
DECIDING = (
    "jaxtheory.ops.attention",
    "jaxtheory.core.config",
    "jaxtheory.core.decimals",
    "jaxtheory.core.extended",
    "jaxtheory.core.fields",
    "jaxtheory.core.from_optax",
    "jaxtheory.ops.draws",
    "jaxtheory.core.arrays",
    "jaxtheory.ops.linalg",
    "jaxtheory.ops.positions",
    "jaxtheory.ops.fallback",
    "jaxtheory.core.replaced",
    "jaxtheory.core.shapes",
    "jaxtheory.ops.sizes",
    "jaxtheory.ops.states",
    "jaxtheory.core.theory",
    "jaxtheory.ops.threefry",
    "jaxtheory.engine.compute.precompile",
    "jaxtheory.engine.request.axes",
    "jaxtheory.engine.planning.cost",
    "jaxtheory.engine.results.dataset",
    "jaxtheory.engine.execution.local",
    "jaxtheory.engine.request.jaxprs",
    "jaxtheory.engine.request.fixed_problem",
    "jaxtheory.engine.request.observed",
    "jaxtheory.engine.compute.training",
    "jaxtheory.engine.planning.layout",
    "jaxtheory.engine.planning.padding",
    "jaxtheory.engine.records",
    "jaxtheory.engine.compute.part",
    "jaxtheory.engine.compute.program",
    "jaxtheory.engine.request.request",
    "jaxtheory.engine.request.settings",
    "jaxtheory.engine.request.values",
    "jaxtheory.engine.results.states",
    "jaxtheory.system.blas",
)
# modules that are hashed like those of a user; other modules of jaxtheory count by their texts
_THEORIES = (
    "jaxtheory.theories",
    "jaxtheory.tasks",
    "jaxtheory._sweeps",
    "jaxtheory.llama",
)
# entries of a class that do not affect its behavior; pickling an instance leaves __slotnames__
_NOT_OWN = (
    "__doc__",
    "__dict__",
    "__weakref__",
    "__module__",
    "__firstlineno__",
    "__static_attributes__",
    "__slotnames__",
)
# globals with the location of a module and how it was loaded
_PLACES = {"__file__", "__cached__", "__path__", "__spec__", "__loader__", "__builtins__"}
_VALUES = (tuple, frozenset, types.CodeType, np.ndarray, np.generic, jax.Array)


def array_hash(tree: Any) -> str | None:
    """Return a hash of the arrays of a pytree, or None for None."""
    if tree is None:
        return None
    total = hashlib.sha256()
    for leaf in jax.tree.leaves(tree):
        array = np.ascontiguousarray(leaf)
        total.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return total.hexdigest()[:16]


def code_hash(root: Any) -> str:
    """Return a hash of a function, or of a structure of functions, with all that they refer to."""
    return _digest(root, within_sets=True)


def _digest(root: Any, within_sets: bool) -> str:
    """Return a hash; without `within_sets`, sets count by their number of entries only."""
    total, seen, homes = hashlib.sha256(), dict[int, tuple[int, Any]](), dict[str, None]()
    waiting = [root]
    while waiting:
        thing = waiting.pop()
        # Plain values are hashed at every occurrence; objects that may be cyclic are hashed once,
        # then referred to by index
        if not (_is_plain(thing) or isinstance(thing, _VALUES)):
            if id(thing) in seen:
                total.update(f"again {seen[id(thing)][0]}\0".encode())
                continue
            seen[id(thing)] = len(seen), thing  # kept, so that no id is used twice
        if isinstance(thing, types.FunctionType) and (home := _home(thing)):
            homes[home] = None
        if isinstance(thing, str | PurePath):
            total.update(f"{_placeless(thing, homes)}\0".encode())
            continue
        if isinstance(thing, set | frozenset):
            # sorted by their hashes, because the order of a set differs between processes
            inside = sorted(thing, key=lambda x: _digest(x, False)) if within_sets else []
            text = f"set {len(thing)}"
        else:
            text, inside = _parts(thing)
        total.update(text.encode() + b"\0")
        waiting.extend(reversed(inside))
    return total.hexdigest()[:16]


def functions(root: Any) -> list[types.FunctionType]:
    """Return the functions that a function or a structure refers to, itself included.

    Functions of libraries are omitted.
    """
    seen, users = dict[int, Any](), list[types.FunctionType]()
    waiting = [root]
    while waiting:
        thing = waiting.pop()
        if _is_plain(thing) or isinstance(thing, np.ndarray | jax.Array) or id(thing) in seen:
            continue
        if isinstance(thing, set | frozenset):
            text, inside = "set", list(thing)
        else:
            text, inside = _parts(thing)
        seen[id(thing)] = thing, inside  # kept, so that no id is used twice
        if isinstance(thing, types.FunctionType) and not text.startswith("library"):
            users.append(thing)
        waiting.extend(reversed(inside))
    return users


def _is_plain(thing: Any) -> bool:
    return isinstance(thing, str | bytes | int | float | complex | bool | None | types.EllipsisType)


def _parts(thing: Any) -> tuple[str, list[Any]]:
    """Return the text of an object itself, and the objects it consists of."""
    if _is_plain(thing):
        return f"{type(thing).__name__} {thing!r}", []
    if isinstance(thing, np.ndarray | np.generic | jax.Array):
        if isinstance(thing, jax.Array) and jax.numpy.issubdtype(thing.dtype, jax.dtypes.prng_key):
            thing = jax.random.key_data(thing)
        if isinstance(thing, jax.core.Tracer):
            raise InputError(
                f"a function stored a traced value, {thing.aval.str_short()}, in a variable "
                "outside of it; return the value instead"
            )
        return f"array {array_hash(thing)}", []
    if isinstance(thing, Mapping):
        return f"dict {len(thing)}", [x for pair in thing.items() for x in pair]
    if isinstance(thing, list | tuple):
        return f"{type(thing).__name__} {len(thing)}", list(thing)
    if isinstance(thing, types.CodeType):
        return _instructions(thing)
    if isinstance(thing, types.ModuleType):
        return f"library {thing.__name__}", []
    if named := _address(thing):
        return named, []
    module, name = _module(thing), _name(thing)
    library = module.partition(".")[0] in LIBRARIES
    if isinstance(thing, types.FunctionType):
        cells = [_content(cell) for cell in thing.__closure__ or ()]
        if library:  # the closure of a function made by a library may have a user's
            qualname = thing.__code__.co_qualname
            return f"library {module} {qualname}", cells if "<locals>" in qualname else []
        return "function", [*_of_function(thing), *cells, *_globals(thing)]
    if library and not _wraps(thing):
        return f"library {module} {name}", []
    if isinstance(thing, type):
        bases = list(thing.__mro__[1:-1])
        kept = [(k, v) for k, v in vars(thing).items() if k not in _NOT_OWN and not _made(k, v)]
        return f"class {name}", [*bases, *(x for pair in kept for x in pair)]
    return f"object {type(thing).__qualname__}", list(_contents(thing))


def _of_function(function: types.FunctionType) -> list[Any]:
    """Return a function's code, its defaults and what it wraps."""
    text = source.of_function(function.__code__, function.__globals__)
    code = function.__code__ if text is None else text.normal
    wrapped = getattr(function, "__wrapped__", None)
    return [code, function.__defaults__, function.__kwdefaults__, wrapped]


def _module(thing: Any) -> str:
    """Return the name of the module whose code an object runs.

    The `__module__` of a function may be that of the function it wraps.
    """
    if isinstance(thing, types.FunctionType):
        return str(thing.__globals__.get("__name__", ""))
    return str(getattr(thing, "__module__", None) or "")


def _name(thing: Any) -> str:
    named = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", None)
    return str(named or type(thing).__qualname__)


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in LIBRARIES or _is_ours(module)


def _is_ours(module: str) -> bool:
    return module.startswith("jaxtheory.") and not module.startswith(_THEORIES)


def _counted(module: str) -> str:
    """Return the name of a library's module.

    A module of jaxtheory that is not hashed with the engine also counts by its text.
    """
    if not _is_ours(module) or module in DECIDING:
        return module
    return f"{module} {source.normal_text(source.text_of(module))}"


def _address(thing: Any) -> str | None:
    """Return the address of a function or class of a library or jaxtheory, None for others."""
    module = str(getattr(thing, "__module__", None) or "")
    if not callable(thing) or not _is_library(module):
        return None
    target: Any = sys.modules.get(module)
    for part in _name(thing).split("."):
        target = getattr(target, part, None)
    return f"library {_counted(module)} {_name(thing)}" if target is thing else None


def _made(name: str, value: Any) -> bool:
    """True if an entry of a class was generated by `dataclasses` from its fields."""
    code = getattr(value, "__code__", None)
    return code is not None and code.co_filename == "<string>" and name.startswith("__")


def _instructions(code: types.CodeType) -> tuple[str, list[Any]]:
    """Return the text of instructions and their constants, without the docstring."""
    steps = names.steps_of(code)
    constants = [step.argval for step in steps if step.opcode in names.CONSTANT]
    listing = [f"{s.opname} {'' if s.opcode in names.CONSTANT else s.argval}" for s in steps]
    return f"code {code.co_argcount} {code.co_flags & names.KIND} {listing}", constants


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the cell is still empty
        return None


def _wraps(thing: Any) -> bool:
    """True if a library's object wraps a function, as partial, jit and bound methods do."""
    return isinstance(
        thing, functools.partial | types.MethodType | staticmethod | classmethod | property
    ) or hasattr(thing, "__wrapped__")


def _contents(thing: Any) -> Iterator[Any]:
    """Yield the contents of an object that is neither a function nor a class."""
    if isinstance(thing, functools.partial):
        yield from (thing.func, thing.args, thing.keywords)
    elif isinstance(thing, types.MethodType):
        yield from (thing.__func__, thing.__self__)
    elif isinstance(thing, property):
        yield from (thing.fget, thing.fset)
    elif isinstance(thing, staticmethod | classmethod):
        yield thing.__func__
    elif dataclasses.is_dataclass(thing):
        yield type(thing)
        yield from (getattr(thing, field.name) for field in dataclasses.fields(thing))
    else:
        if not _wraps(thing):
            yield type(thing)
        yield getattr(thing, "__wrapped__", None)
        kept = getattr(thing, "__dict__", {}).items()
        yield {k: v for k, v in kept if not k.startswith("__") and not _is_derived(thing, k)}
        slots = [
            name
            for base in type(thing).__mro__
            for name in np.atleast_1d(getattr(base, "__slots__", ()))
        ]
        yield {name: getattr(thing, name, None) for name in map(str, slots)}


def _is_derived(thing: Any, name: str) -> bool:
    """True if an attribute is the stored value of a cached property."""
    return isinstance(getattr(type(thing), name, None), functools.cached_property)


# Objects that the names in a function refer to


def _globals(function: types.FunctionType) -> Iterator[Any]:
    """Yield the objects that a function's globals refer to, and those that it imports.

    For a module these are the attributes that the function uses.
    """
    text = source.of_function(function.__code__, function.__globals__)
    code, scope = function.__code__, function.__globals__
    for name, chain in sorted({(use.name, use.chain) for use in names.uses(code)}):
        if name not in scope or name in _PLACES or name in code.co_freevars:
            continue
        if text is None or text.names >= {name, *chain}:  # names in assertions do not count
            yield name
            yield from _reached(scope[name], chain, code)
    for entry in names.imports(code):
        if (module := _imported(entry, scope)) is not None:
            for name in entry.names or ("",):
                yield from _reached(module, (name,) if name else (), code)


def _reached(thing: Any, chain: tuple[str, ...], code: types.CodeType) -> Iterator[Any]:
    """Yield what a chain of attributes leads to.

    If a user's module is used as a whole, yield everything in it that is an attribute in the code.
    """
    while isinstance(thing, types.ModuleType) and not _is_outside(thing):
        if not chain:
            whole = sorted(name for name in names.attributes(code) - _PLACES if name in vars(thing))
            values = [vars(thing)[name] for name in whole]
            yield from (x for x in values if not isinstance(x, types.ModuleType))
            return
        name, *rest = chain
        if name in _PLACES:
            return
        thing, chain = getattr(thing, name, None), tuple(rest)
    yield thing.__name__ if isinstance(thing, types.ModuleType) else thing


def _is_outside(module: types.ModuleType) -> bool:
    return module.__name__.partition(".")[0] in LIBRARIES


def _imported(entry: names.Import, scope: dict[str, Any]) -> types.ModuleType | None:
    """Return the module of an import within a function, or None if it cannot be imported."""
    top = entry.module.partition(".")[0]
    if top in LIBRARIES and not entry.level:
        return None
    try:
        name = "." * entry.level + entry.module
        module = importlib.import_module(name, scope.get("__package__"))
    except Exception:  # the function may catch it
        return None
    return module if entry.names or entry.level else sys.modules.get(top, module)


# Locations of files


def _home(function: types.FunctionType) -> str | None:
    """Return the folder from which the module of a function was imported."""
    file, module = function.__globals__.get("__file__"), function.__module__
    if not isinstance(file, str) or _is_library(_module(function)):
        return None
    path = Path(file).absolute()
    depth = str(module).count(".") + (path.name == "__init__.py")
    return str(path.parents[min(depth, len(path.parents) - 1)])


def _placeless(thing: str | PurePath, homes: Mapping[str, Any]) -> str:
    """Return a text without the folder from which code was imported.

    Of an absolute path elsewhere only the last part counts, because a location does not affect a
    result.
    """
    text = str(thing)
    for home in homes:
        if text == home or text.startswith(home + os.sep):
            return f"{type(thing).__name__} below {text[len(home) :]!r}"
    if isinstance(thing, str):
        return f"str {text!r}"
    return f"path {thing.name if thing.is_absolute() else text!r}"
