"""A checksum of code: what a function is made of, its instructions and constants, what it closes
over, and every function, class or value it names in its module, down to the libraries.

Comments, docstrings and names of variables do not count. It reads objects as they are in memory, so
that theories in a room, in a file with its helpers, or typed into a notebook are alike.
"""

import dataclasses
import functools
import hashlib
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np

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
# entries of a class that say nothing of what it does; pickling an instance leaves __slotnames__
NOT_OWN = (
    "__doc__",
    "__dict__",
    "__weakref__",
    "__module__",
    "__firstlineno__",
    "__slotnames__",
)
VALUES = (tuple, frozenset, types.CodeType, np.ndarray, np.generic, jax.Array)


def digest_arrays(tree: Any) -> str | None:
    """A checksum of the arrays of a pytree; None for None."""
    if tree is None:
        return None
    total = hashlib.sha256()
    for leaf in jax.tree.leaves(tree):
        array = np.ascontiguousarray(leaf)
        total.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return total.hexdigest()[:16]


def digest_code(root: Any) -> str:
    """A checksum of all that a function, or a structure of functions, is made of."""
    total, seen = hashlib.sha256(), dict[int, tuple[int, Any]]()
    waiting = [root]
    while waiting:
        thing = waiting.pop()
        # values count as often as they stand; what can refer to itself counts once, then by number
        if not (_is_plain(thing) or isinstance(thing, VALUES)):
            if id(thing) in seen:
                total.update(f"again {seen[id(thing)][0]}\0".encode())
                continue
            seen[id(thing)] = len(seen), thing  # kept, so that no id is used twice
        text, inside = _parts(thing)
        total.update(text.encode() + b"\0")
        waiting.extend(reversed(inside))
    return total.hexdigest()[:16]


def functions(root: Any) -> list[types.FunctionType]:
    """The functions that a function, or a structure of them, is made of, itself included; those of
    libraries are left out.
    """
    seen, found = dict[int, Any](), list[types.FunctionType]()
    waiting = [root]
    while waiting:
        thing = waiting.pop()
        if _is_plain(thing) or isinstance(thing, np.ndarray | jax.Array) or id(thing) in seen:
            continue
        text, inside = _parts(thing)
        seen[id(thing)] = thing, inside  # kept, so that no id is used twice
        if isinstance(thing, types.FunctionType) and not text.startswith("library"):
            found.append(thing)
        waiting.extend(reversed(inside))
    return found


def code_of_module(module: types.ModuleType) -> list[types.CodeType]:
    """The code of a module's functions and methods, without what they refer to."""
    functions: list[Any] = []
    for thing in vars(module).values():
        if getattr(thing, "__module__", None) == module.__name__:
            functions += vars(thing).values() if isinstance(thing, type) else [thing]
    return [function.__code__ for function in functions if isinstance(function, types.FunctionType)]


def _is_plain(thing: Any) -> bool:
    return isinstance(thing, str | bytes | int | float | complex | bool | None | types.EllipsisType)


def _parts(thing: Any) -> tuple[str, list[Any]]:
    """An object's own text, and what it is made of."""
    if _is_plain(thing):
        return f"{type(thing).__name__} {thing!r}", []
    if isinstance(thing, np.ndarray | np.generic | jax.Array):
        if isinstance(thing, jax.Array) and jax.numpy.issubdtype(thing.dtype, jax.dtypes.prng_key):
            thing = jax.random.key_data(thing)
        if isinstance(thing, jax.core.Tracer):
            raise InputError(
                f"a function kept a traced value, {thing.aval.str_short()}, in a variable outside "
                "of it: return what is needed later"
            )
        return f"array {digest_arrays(thing)}", []
    if isinstance(thing, Mapping):
        return f"dict {len(thing)}", [x for pair in thing.items() for x in pair]
    if isinstance(thing, set | frozenset):
        return f"set {sorted(map(digest_code, thing))}", []
    if isinstance(thing, list | tuple):
        return f"{type(thing).__name__} {len(thing)}", list(thing)
    if isinstance(thing, types.CodeType):
        return _instructions(thing), list(thing.co_consts[_has_docstring(thing) :])
    module = getattr(thing, "__module__", None) or ""
    name = getattr(thing, "__qualname__", type(thing).__qualname__)
    library = isinstance(thing, types.ModuleType) or str(module).partition(".")[0] in LIBRARIES
    if isinstance(thing, types.FunctionType):
        cells = [_content(cell) for cell in thing.__closure__ or ()]
        if library:  # a function made by a library may hold a user's
            return f"library {module} {name}", cells if "<locals>" in name else []
        more = [
            thing.__code__,
            thing.__defaults__,
            thing.__kwdefaults__,
            getattr(thing, "__wrapped__", None),
        ]
        return "function", [*more, *cells, *_globals(thing)]
    if library and not _wraps(thing):
        return f"library {module} {name}", []
    if isinstance(thing, type):
        bases = list(thing.__mro__[1:-1])
        own = {k: v for k, v in vars(thing).items() if k not in NOT_OWN}
        return f"class {name}", [*bases, *(x for pair in own.items() for x in pair)]
    return f"object {type(thing).__qualname__}", list(_contents(thing))


def _instructions(code: types.CodeType) -> str:
    return f"code {code.co_code.hex()} {code.co_names} {code.co_argcount} {code.co_flags}"


def _has_docstring(code: types.CodeType) -> bool:
    """Whether the first constant is the docstring."""
    if sys.version_info >= (3, 13):
        return bool(code.co_flags & 0x4000000)
    return (
        not code.co_name.startswith("<")
        and bool(code.co_consts)
        and isinstance(code.co_consts[0], str)
    )


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _wraps(thing: Any) -> bool:
    """Whether a library's object stands for a user's function: partial, jit, custom derivatives,
    bound methods.
    """
    return isinstance(
        thing, functools.partial | types.MethodType | staticmethod | classmethod | property
    ) or hasattr(thing, "__wrapped__")


def _contents(thing: Any) -> Iterator[Any]:
    """What an object that is neither function nor class holds."""
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
        yield {k: v for k, v in getattr(thing, "__dict__", {}).items() if k != "__wrapped__"}
        slots = [
            name
            for base in type(thing).__mro__
            for name in np.atleast_1d(getattr(base, "__slots__", ()))
        ]
        yield {name: getattr(thing, name, None) for name in map(str, slots)}


def _globals(function: types.FunctionType) -> Iterator[Any]:
    """What the names in a function's code stand for: globals of its module, attributes of modules,
    modules imported within.
    """
    names = list(dict.fromkeys(_names(function.__code__)))
    scope = function.__globals__
    for name in names:
        found = scope.get(name, sys.modules.get(name))
        if isinstance(found, types.ModuleType):
            yield from _of_module(found, names)
        elif name in scope:
            yield found


def _of_module(module: types.ModuleType, names: list[str]) -> Iterator[Any]:
    """What the names stand for in a module, and in the modules they stand for there."""
    if module.__name__.partition(".")[0] in LIBRARIES:
        yield module.__name__
        return
    for name in names:
        found = getattr(module, name, None) if not name.startswith("__") else None
        if isinstance(found, types.ModuleType):
            if found.__name__ not in (module.__name__, module.__name__.partition(".")[0]):
                yield from _of_module(found, [other for other in names if other != name])
        elif found is not None:
            yield found


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)
