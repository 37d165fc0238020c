"""A hash of code: what a function is made of, its text in normal form, what it closes over, and
every function, class or value that its globals stand for, down to the libraries.

Comments, docstrings, assertions and the place of a file do not count. It reads objects as they are
in memory, so that theories in a package, in a file with its helpers, or typed into a notebook are
alike; a function whose text cannot be had counts by its instructions, which differ between minor
versions of Python.
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
# modules of jaxtheory that decide the bits of a result, hashed as one set, see `computing`
DECIDING = (
    "jaxtheory.ops.attention",
    "jaxtheory.core.config",
    "jaxtheory.core.decimals",
    "jaxtheory.core.from_optax",
    "jaxtheory.ops.draws",
    "jaxtheory.core.arrays",
    "jaxtheory.ops.linalg",
    "jaxtheory.ops.positions",
    "jaxtheory.ops.fallback",
    "jaxtheory.core.replaced",
    "jaxtheory.core.shapes",
    "jaxtheory.ops.sizes",
    "jaxtheory.core.theory",
    "jaxtheory.ops.threefry",
    "jaxtheory.engine.compute.precompile",
    "jaxtheory.engine.request.axes",
    "jaxtheory.engine.planning.cost",
    "jaxtheory.engine.results.dataset",
    "jaxtheory.engine.execution.local",
    "jaxtheory.engine.request.jaxprs",
    "jaxtheory.engine.request.fixed_problem",
    "jaxtheory.engine.compute.training",
    "jaxtheory.engine.planning.layout",
    "jaxtheory.engine.planning.padding",
    "jaxtheory.engine.compute.part",
    "jaxtheory.engine.compute.program",
    "jaxtheory.engine.request.request",
    "jaxtheory.engine.request.settings",
    "jaxtheory.engine.request.values",
)
# the other modules of jaxtheory count by their texts, theories as those of a user do
_THEORIES = ("jaxtheory.theories", "jaxtheory._sweeps", "jaxtheory.llama")
# entries of a class that say nothing of what it does; pickling an instance leaves __slotnames__
_NOT_OWN = (
    "__doc__",
    "__dict__",
    "__weakref__",
    "__module__",
    "__firstlineno__",
    "__static_attributes__",
    "__slotnames__",
)
# globals that say where a module lies and how it was loaded
_PLACES = {"__file__", "__cached__", "__path__", "__spec__", "__loader__", "__builtins__"}
_VALUES = (tuple, frozenset, types.CodeType, np.ndarray, np.generic, jax.Array)


def array_hash(tree: Any) -> str | None:
    """A checksum of the arrays of a pytree; None for None."""
    if tree is None:
        return None
    total = hashlib.sha256()
    for leaf in jax.tree.leaves(tree):
        array = np.ascontiguousarray(leaf)
        total.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return total.hexdigest()[:16]


def code_hash(root: Any) -> str:
    """A checksum of all that a function, or a structure of functions, is made of."""
    return _digest(root, within_sets=True)


def _digest(root: Any, within_sets: bool) -> str:
    """A checksum; of sets, where they are left out, how many entries they have."""
    total, seen, homes = hashlib.sha256(), dict[int, tuple[int, Any]](), dict[str, None]()
    waiting = [root]
    while waiting:
        thing = waiting.pop()
        # values count as often as they stand; what can refer to itself counts once, then by number
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
            # in an order of their own: that of a set differs from process to process
            inside = sorted(thing, key=lambda x: _digest(x, False)) if within_sets else []
            text = f"set {len(thing)}"
        else:
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
        if isinstance(thing, set | frozenset):
            text, inside = "set", list(thing)
        else:
            text, inside = _parts(thing)
        seen[id(thing)] = thing, inside  # kept, so that no id is used twice
        if isinstance(thing, types.FunctionType) and not text.startswith("library"):
            found.append(thing)
        waiting.extend(reversed(inside))
    return found


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
        if library:  # a function made by a library may hold a user's
            own = thing.__code__.co_qualname
            return f"library {module} {own}", cells if "<locals>" in own else []
        return "function", [*_of_function(thing), *cells, *_globals(thing)]
    if library and not _wraps(thing):
        return f"library {module} {name}", []
    if isinstance(thing, type):
        bases = list(thing.__mro__[1:-1])
        kept = [(k, v) for k, v in vars(thing).items() if k not in _NOT_OWN and not _made(k, v)]
        return f"class {name}", [*bases, *(x for pair in kept for x in pair)]
    return f"object {type(thing).__qualname__}", list(_contents(thing))


def _of_function(function: types.FunctionType) -> list[Any]:
    """A function's code, its defaults and what it wraps."""
    said = source.of_function(function.__code__, function.__globals__)
    code = function.__code__ if said is None else said.normal
    wrapped = getattr(function, "__wrapped__", None)
    return [code, function.__defaults__, function.__kwdefaults__, wrapped]


def _module(thing: Any) -> str:
    """The name of the module whose code an object runs: a function's `__module__` may be that of
    what it wraps.
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
    """The name of a library's module; one of ours that is not hashed with the engine counts by its
    text.
    """
    if not _is_ours(module) or module in DECIDING:
        return module
    return f"{module} {source.normal_text(source.text_of(module))}"


def _address(thing: Any) -> str | None:
    """Where a library, or we, have a function or a class under its name; None for anything else."""
    module = str(getattr(thing, "__module__", None) or "")
    if not callable(thing) or not _is_library(module):
        return None
    found: Any = sys.modules.get(module)
    for part in _name(thing).split("."):
        found = getattr(found, part, None)
    return f"library {_counted(module)} {_name(thing)}" if found is thing else None


def _made(name: str, value: Any) -> bool:
    """True for an entry of a class that `dataclasses` generated from its fields."""
    code = getattr(value, "__code__", None)
    return code is not None and code.co_filename == "<string>" and name.startswith("__")


def _instructions(code: types.CodeType) -> tuple[str, list[Any]]:
    """The text of instructions, and their constants; a docstring is none of them."""
    steps = names.steps_of(code)
    constants = [step.argval for step in steps if step.opcode in names.CONSTANT]
    told = [f"{s.opname} {'' if s.opcode in names.CONSTANT else s.argval}" for s in steps]
    return f"code {code.co_argcount} {code.co_flags & names.KIND} {told}", constants


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
        kept = getattr(thing, "__dict__", {}).items()
        yield {k: v for k, v in kept if not k.startswith("__") and not _is_derived(thing, k)}
        slots = [
            name
            for base in type(thing).__mro__
            for name in np.atleast_1d(getattr(base, "__slots__", ()))
        ]
        yield {name: getattr(thing, name, None) for name in map(str, slots)}


def _is_derived(thing: Any, name: str) -> bool:
    """Whether an attribute is kept of a property that computes it."""
    return isinstance(getattr(type(thing), name, None), functools.cached_property)


# What the names in a function stand for


def _globals(function: types.FunctionType) -> Iterator[Any]:
    """What the globals in a function's code stand for, through the modules among them to what is
    taken from those, and what it imports.
    """
    said = source.of_function(function.__code__, function.__globals__)
    code, scope = function.__code__, function.__globals__
    for name, chain in sorted({(use.name, use.chain) for use in names.uses(code)}):
        if name not in scope or name in _PLACES or name in code.co_freevars:
            continue
        if said is None or said.words >= {name, *chain}:  # those of an assertion do not count
            yield name
            yield from _reached(scope[name], chain, code)
    for one in names.imports(code):
        if (found := _imported(one, scope)) is not None:
            for name in one.names or ("",):
                yield from _reached(found, (name,) if name else (), code)


def _reached(found: Any, chain: tuple[str, ...], code: types.CodeType) -> Iterator[Any]:
    """What attributes lead to; of a user's module that is used as a whole, what any attribute of
    the code stands for in it.
    """
    while isinstance(found, types.ModuleType) and not _is_outside(found):
        if not chain:
            whole = sorted(name for name in names.attributes(code) - _PLACES if name in vars(found))
            values = [vars(found)[name] for name in whole]
            yield from (x for x in values if not isinstance(x, types.ModuleType))
            return
        name, *rest = chain
        if name in _PLACES:
            return
        found, chain = getattr(found, name, None), tuple(rest)
    yield found.__name__ if isinstance(found, types.ModuleType) else found


def _is_outside(module: types.ModuleType) -> bool:
    return module.__name__.partition(".")[0] in LIBRARIES


def _imported(one: names.Import, scope: dict[str, Any]) -> types.ModuleType | None:
    """The module of an import within a function; None where it cannot be imported."""
    if one.module.partition(".")[0] in LIBRARIES and not one.level:
        return None
    try:
        found = importlib.import_module("." * one.level + one.module, scope.get("__package__"))
    except Exception:  # as where the function catches it
        return None
    top = one.module.partition(".")[0]
    return found if one.names or one.level else sys.modules.get(top, found)


# Places


def _home(function: types.FunctionType) -> str | None:
    """The folder from which the module of a function was imported."""
    file, module = function.__globals__.get("__file__"), function.__module__
    if not isinstance(file, str) or _is_library(_module(function)):
        return None
    path = Path(file).absolute()
    depth = str(module).count(".") + (path.name == "__init__.py")
    return str(path.parents[min(depth, len(path.parents) - 1)])


def _placeless(thing: str | PurePath, homes: Mapping[str, Any]) -> str:
    """A text, but for the folder from which code was imported; of an absolute path elsewhere its
    last part: a place is not a number.
    """
    text = str(thing)
    for home in homes:
        if text == home or text.startswith(home + os.sep):
            return f"{type(thing).__name__} below {text[len(home) :]!r}"
    if isinstance(thing, str):
        return f"str {text!r}"
    return f"path {thing.name if thing.is_absolute() else text!r}"
