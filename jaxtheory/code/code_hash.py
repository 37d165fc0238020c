"""Hashes of code and arrays.

The hash of a function covers its text in normal form, its closure, and every function, class or
value that its globals refer to, down to the libraries. Comments, docstrings, assertions, names of
local variables and the location of a file do not count. Objects are hashed as they are in memory,
so a theory has the same hash in a package, in a file with helper modules, or typed into a notebook.
A function whose text is not available is hashed by its bytecode, which differs between minor
versions of Python.

An object counts by its class and its contents, also if the class is that of a library. An object
whose contents cannot be read, or change with each use, is refused.
"""

import hashlib
import importlib
import sys
import types
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

import jax
import numpy as np

from jaxtheory.code import classes, contents, libraries, names, places, readers, source
from jaxtheory.code.contents import array_hash as array_hash
from jaxtheory.code.libraries import LIBRARIES as LIBRARIES
from jaxtheory.texts.errors import InputError

# modules of jaxtheory that affect the bits of a result, hashed as one set in `computing`
DECIDING = (
    "jaxtheory.ops.attention",
    "jaxtheory.core.config",
    "jaxtheory.texts.decimals",
    "jaxtheory.core.extended",
    "jaxtheory.core.fields",
    "jaxtheory.core.from_optax",
    "jaxtheory.ops.draws",
    "jaxtheory.core.arrays",
    "jaxtheory.code.keys",
    "jaxtheory.ops.lanczos",
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
    "jaxtheory.engine.planning.buckets",
    "jaxtheory.engine.planning.padding",
    "jaxtheory.engine.records",
    "jaxtheory.engine.compute.part",
    "jaxtheory.engine.compute.compiled",
    "jaxtheory.engine.compute.program",
    "jaxtheory.engine.request.request",
    "jaxtheory.engine.request.settings",
    "jaxtheory.engine.request.values",
    "jaxtheory.engine.store.states",
    "jaxtheory.system.blas",
)
# globals with the location of a module and how it was loaded
_PLACES = {"__file__", "__cached__", "__path__", "__spec__", "__loader__", "__builtins__"}
_HEAP = 1 << 9  # flag of a class that is not static in C
_ARRAYS = np.ndarray | np.generic | jax.Array
_DESCRIPTORS = (
    types.MethodDescriptorType
    | types.WrapperDescriptorType
    | types.ClassMethodDescriptorType
    | types.GetSetDescriptorType
    | types.MemberDescriptorType
)
_NUMBERS = {int, float, complex, bool, types.NoneType}
# names by which code finds globals and modules that it does not name
_FIND_GLOBALS, _FIND_MODULES = (
    {"globals", "eval", "exec"},
    {"import_module", "__import__", "modules"},
)
# names by which code reads the names of local variables, and those of functions
_READ_LOCALS = {
    *("locals", "vars", "dir", "eval", "exec", "f_locals", "_getframe", "currentframe", "numexpr"),
    *("co_varnames", "co_freevars", "co_cellvars"),
}
_READ_NAMES = {"__name__", "__qualname__", "co_name", "co_qualname"}

Label = tuple[str, str, str] | None  # kind, name and owner of a variable, such as an attribute
Route = tuple[Label, Any] | None  # a variable, and the route to the object that holds it
Part = tuple[Label, Any]  # an object, and the variable that holds it if there is one


def code_hash(root: Any) -> str:
    """Return a hash of a function, or of a structure of functions, with all that they refer to.

    Raises InputError if an object cannot be hashed by its contents. The message names the variable
    that holds it.
    """
    return _digest(root, None, frozenset())


def _digest(root: Any, route: Route, sets: frozenset[int]) -> str:
    """Return a hash; `sets` are the sets around the root, which are not entered again."""
    total, visited, homes = hashlib.sha256(), dict[int, tuple[int, Any]](), dict[str, None]()
    arrays, spelled = dict[int, tuple[str, Any]](), list[tuple[source.Text | None, Any]]()
    waiting: list[tuple[Any, Route]] = [(root, route)]
    while waiting:
        thing, route = waiting.pop()
        thing = _unchecked(thing)
        kind = type(thing)
        if kind in contents.PLAIN:
            total.update(f"{_plain(thing)}\0".encode())
            continue
        if kind is str or (isinstance(thing, PurePath) and libraries.is_library(kind.__module__)):
            total.update(f"{places.placeless(thing, homes)}\0".encode(errors="surrogatepass"))
            continue
        if id(thing) in arrays:  # by contents, since it may be a copy in another process
            total.update(arrays[id(thing)][0].encode() + b"\0")
            continue
        # Values without parts are hashed at every occurrence; objects that may be cyclic are
        # hashed once, then referred to by index
        if not _is_value(thing):
            if id(thing) in visited:
                total.update(f"again {visited[id(thing)][0]}\0".encode())
                continue
            visited[id(thing)] = len(visited), thing  # kept, so that no id is used twice
        if kind is types.FunctionType:
            if home := places.home(thing):
                homes[home] = None
            if not libraries.is_outside(_module(thing)):
                spelled.append((source.of_function(thing.__code__, thing.__globals__), thing))
        if kind is set or kind is frozenset:
            text, inside = _of_set(thing, route, sets), list[Part]()
        else:
            text, inside = _read(thing, route)
            if not inside and isinstance(thing, _ARRAYS):
                arrays[id(thing)] = text, thing
        total.update(text.encode(errors="surrogatepass") + b"\0")
        waiting.extend((x, (label, route) if label else route) for label, x in reversed(inside))
    total.update(repr(_spelled(spelled)).encode(errors="surrogatepass"))
    return total.hexdigest()[:16]


def _plain(thing: Any) -> str:
    text = hashlib.sha256(thing).hexdigest() if isinstance(thing, bytes) else _text_of_value(thing)
    return f"{type(thing).__name__} {text}"


def _text_of_value(thing: Any) -> str:
    """Return the repr of numbers. Python does not write integers of thousands of digits."""
    try:
        return repr(thing)
    except ValueError:
        return (
            f"{list(map(_text_of_value, thing))}" if isinstance(thing, tuple | list) else hex(thing)
        )


def _is_value(thing: Any) -> bool:
    """True for an object without other objects in it that may refer back to it."""
    if type(thing) in (tuple, frozenset):
        return all(type(x) is str or type(x) in contents.PLAIN for x in thing)
    return isinstance(thing, types.CodeType | np.generic | np.dtype)


def _of_set(things: Any, route: Route, sets: frozenset[int]) -> str:
    """Return the text of a set, with the hashes of its entries in sorted order.

    The order of a set differs between processes.
    """
    if id(things) in sets:
        return f"{type(things).__name__} within itself {len(things)}"
    inner = sets | {id(things)}
    return f"{type(things).__name__} {sorted(_digest(x, route, inner) for x in things)}"


def _spelled(functions: list[tuple[source.Text | None, Any]]) -> list[Any]:
    """Return the names that some function may read: of local variables and of functions."""
    read, spelled = set[str](), list[Any]()
    for text, function in functions:
        code = function.__code__
        read |= names.spelled(code) if text is None else text.names
        if "query" in read and any("@" in x for x in names.texts(code)):  # of a pandas.DataFrame
            read.add("f_locals")
    if read & (_READ_LOCALS | _READ_NAMES):
        spelled += [f.__name__ for _, f in functions]
        spelled += [text.inner for text, _ in functions if text is not None]
    if "__qualname__" in read:
        spelled += [f.__qualname__ for _, f in functions]
    if read & _READ_LOCALS:
        spelled += [(text.local, text.free) for text, _ in functions if text is not None]
    return spelled


def _read(thing: Any, route: Route) -> tuple[str, list[Part]]:
    """Return the text and the parts of an object. Raises InputError if it cannot be read."""
    try:
        return _parts(thing)
    except InputError:
        raise
    except contents.UnreadableError as error:
        reason, remedy = error.reason, error.remedy
    except Exception as error:  # the object may raise anything
        reason = f"whose contents cannot be read ({type(error).__name__}: {error})"
        remedy = "store numbers, strings, arrays or containers of them"
    while route is not None and route[0] is None:
        route = route[1]
    where = (
        "a value" if route is None or route[0] is None else "the {} `{}` of {}".format(*route[0])
    )
    reason, name = " ".join(reason.split()), type(thing).__qualname__
    raise InputError(f"{where} is or holds a {name}, {reason}, so the code has no hash; {remedy}")


def _unchecked(thing: Any) -> Any:
    """Return a user's function without the checks of its annotations, which change no number.

    These are the wrappers of jaxtyping and of beartype, which differ between processes.
    """
    while isinstance(thing, types.FunctionType) and "__wrapped__" in vars(thing):
        checks = _module(thing) == "jaxtyping._decorator" or "__beartype_wrapper" in vars(thing)
        if not checks or _address(thing) is not None:
            break
        thing = vars(thing)["__wrapped__"]
    return thing


def functions(root: Any) -> list[types.FunctionType]:
    """Return the functions that a function or a structure refers to, itself included.

    Functions of libraries are omitted.
    """
    visited, users = dict[int, Any](), list[types.FunctionType]()
    waiting = [root]
    while waiting:
        thing = _unchecked(waiting.pop())
        if type(thing) is str or type(thing) in contents.PLAIN or id(thing) in visited:
            continue
        inside = list[Any]()
        if type(thing) in (set, frozenset):
            inside = list(thing)
        elif not isinstance(thing, jax.Array | np.generic) and type(thing) is not np.ndarray:
            try:
                inside = [x for _, x in _parts(thing)[1]]
            except Exception:  # no function of it can be reached
                inside = []
        visited[id(thing)] = thing, inside  # kept, so that no id is used twice
        user = isinstance(thing, types.FunctionType) and not libraries.is_outside(_module(thing))
        if user and _address(thing) is None:
            users.append(thing)
        waiting.extend(reversed(inside))
    return users


def _parts(thing: Any) -> tuple[str, list[Part]]:
    """Return the text of an object itself, and the objects it consists of."""
    kind = type(thing)
    if isinstance(thing, jax.core.Tracer):
        raise InputError(
            f"a function stored a traced value, {thing.aval.str_short()}, in a variable "
            "outside of it; return the value instead"
        )
    if kind is np.ndarray or (
        isinstance(thing, np.generic | jax.Array) and libraries.is_library(kind.__module__)
    ):
        text, values = contents.of_array(thing)
        return text, [(None, x) for _, x in values]
    if kind is dict:
        return f"dict {len(thing)}", [(None, x) for pair in thing.items() for x in pair]
    if (kind is list or kind is tuple) and _NUMBERS.issuperset(map(type, thing)):
        return f"{kind.__name__} of numbers {_text_of_value(thing)}", []
    if kind is list or kind is tuple:
        return f"{kind.__name__} {len(thing)}", [(None, x) for x in thing]
    if kind is types.CodeType:
        return _instructions(thing)
    if kind is types.ModuleType or isinstance(thing, types.ModuleType):
        return _of_module(thing)
    if isinstance(thing, _DESCRIPTORS):
        return f"{kind.__name__} {thing.__name__} {thing.__objclass__.__qualname__}", []
    if kind is types.BuiltinFunctionType and isinstance(thing.__self__, types.ModuleType | None):
        return f"library {thing.__module__} {thing.__qualname__}", []
    if address := _address(thing):
        return address, []
    if kind is types.FunctionType:
        return _of_function(thing)
    if isinstance(thing, type):
        pairs = classes.read(thing)
        owner = thing.__qualname__
        inside = [(("attribute", x, owner) if x else None, value) for x, value in pairs]
        called = "" if libraries.is_library(_module(thing)) else _name(thing)
        return f"class {called} {len(pairs)}", inside
    if name := contents.named(thing):
        contents.require_constant(thing)
        return f"library {_counted(kind.__module__)} {name}", []
    text, pairs = contents.read(thing)
    own = "" if libraries.is_library(_module(kind)) else kind.__qualname__
    return text, [(("attribute", x, own) if x and own else None, value) for x, value in pairs]


def _of_module(module: types.ModuleType) -> tuple[str, list[Part]]:
    """Return the parts of a module that is used as a value: everything in it if it is a user's."""
    name = module.__name__
    if libraries.is_library(name) or name == "jaxtheory":
        return f"library {name}", []
    attributes_read = {
        k: v for k, v in vars(module).items() if not (k.startswith("__") and k.endswith("__"))
    }
    inside = list[Part]()
    for key, value in attributes_read.items():
        inside += ((None, key), (("global", key, name), value))
    return f"module {len(attributes_read)}", inside


def _of_function(function: types.FunctionType) -> tuple[str, list[Part]]:
    """Return a function's code, its defaults, its attributes, its closure and its globals.

    Of a function that a library made, only its closure and its defaults count beside its address.
    """
    code, module = function.__code__, _module(function)
    defaults: list[Part] = [(None, function.__defaults__), (None, function.__kwdefaults__ or {})]
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    by = function.__qualname__.replace(".<locals>", "")
    variables_of_cells = {name: ("closure variable", name, by) for name in cells}
    if libraries.is_outside(module):
        text = f"library {module} {code.co_qualname}"
        if "<" not in code.co_qualname:
            return text, []
        values = {name: _content(cell) for name, cell in cells.items()}
        closed = readers.of_closure(module, values).values()
        inside = [(None, x) for x in closed if not isinstance(x, contents.LOOKUPS)]
        return f"{text} {_offset(function)}", [*defaults, *inside]
    if classes.is_of_fields(code):
        return names.signature(code), [(None, _content(x)) for k, x in cells.items() if "dflt" in k]
    own = source.of_function(code, function.__globals__)
    free_names = code.co_freevars if own is None else own.free
    attributes_read = {k: v for k, v in vars(function).items() if k not in contents.DESCRIBED}
    return "function", [
        (None, code if own is None else own.normal),
        *defaults,
        (None, attributes_read.pop("__wrapped__", None)),
        *(
            x
            for k, v in sorted(attributes_read.items())
            for x in ((None, k), (("attribute", k, by), v))
        ),
        *((variables_of_cells[name], _content(cells[name])) for name in free_names),
        *_globals(function),
    ]


def _offset(function: types.FunctionType) -> int:
    """Return how many lines a library's function begins below the function that made it.

    Functions that were made by the same function may have the same name.
    """
    outer: Any = sys.modules.get(_module(function))
    outer = getattr(outer, function.__code__.co_qualname.partition(".")[0], None)
    while hasattr(outer, "__wrapped__"):
        outer = outer.__wrapped__
    first = getattr(getattr(outer, "__code__", None), "co_firstlineno", 0)
    return function.__code__.co_firstlineno - int(first)


def _module(thing: Any) -> str:
    """Return the name of the module whose code an object runs.

    The `__module__` of a function may be that of the function it wraps.
    """
    if isinstance(thing, types.FunctionType):
        return str(thing.__globals__.get("__name__", ""))
    return str(getattr(thing, "__module__", None) or "")


def _name(thing: Any) -> str:
    called = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", None)
    return str(called or type(thing).__qualname__)


def _counted(module: str) -> str:
    """Return the name of a library's module with what tells its versions apart.

    A module of jaxtheory that is not hashed with the engine counts by its text.
    """
    if libraries.is_ours(module) and module not in DECIDING:
        return f"{module} {source.normal_text(source.text_of(module))}"
    return f"{module} {libraries.release(module)}".rstrip()


def _address(thing: Any) -> str | None:
    """Return the address of a function or class of a library or jaxtheory, None for others."""
    module = getattr(thing, "__module__", None)
    if not isinstance(module, str) or not callable(thing) or not libraries.is_library(module):
        return None
    short = [_name(thing).rpartition(".")[2]] if isinstance(thing, type) else []
    for name in (_name(thing), *short):
        target: Any = sys.modules.get(module)
        for part in name.split("."):
            target = getattr(target, part, None)
        if target is thing or _is_of_c(thing):
            return f"library {_counted(module)} {name}"
    return None


def _is_of_c(thing: Any) -> bool:
    """True for a class that is written in C, of which a library may not show the name."""
    return isinstance(thing, type) and not thing.__flags__ & _HEAP


def _instructions(code: types.CodeType) -> tuple[str, list[Part]]:
    """Return the text of instructions and their constants, without the docstring."""
    listing, constants = names.listing(code)
    return listing, [(None, x) for x in constants]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the cell is still empty
        return None


# Objects that the names in a function refer to


def _globals(function: types.FunctionType) -> Iterator[Part]:
    """Yield the objects that a function's globals refer to, and those that it imports.

    For a module these are the attributes that the function uses.
    """
    text = source.of_function(function.__code__, function.__globals__)
    code, scope = function.__code__, function.__globals__
    for name, chain in sorted({(use.name, use.chain) for use in names.uses(code)}):
        if name not in scope or name in _PLACES or name in code.co_freevars:
            continue
        if text is None or text.names >= {name, *chain}:  # names in assertions do not count
            yield None, name
            yield from _reached(name, scope[name], chain, _module(function))
    if _FIND_GLOBALS & {use.name for use in names.uses(code)} - scope.keys():
        for name, value in scope.items():
            if not (name.startswith("__") and name.endswith("__")):
                yield None, name
                yield ("global", name, _module(function)), value
    if _FIND_MODULES & names.spelled(code):
        for name in names.texts(code):
            parts = name.split(".")
            if all(map(str.isidentifier, parts)):
                yield None, _imported(names.Import(0, name, (parts[-1],)), scope)
    for entry in names.imports(code):
        if (module := _imported(entry, scope)) is not None:
            chains: list[tuple[str, ...]] = [(name,) for name in entry.names]
            if not chains and not entry.is_value and not _is_outer(module):
                chains = [(x,) for x in sorted(names.attributes(code) & vars(module).keys())]
            for chain in chains or ((),):
                yield from _reached(entry.module, module, chain, _module(function))


def _reached(name: str, thing: Any, chain: tuple[str, ...], module: str) -> Iterator[Part]:
    """Yield what a chain of attributes of a global leads to."""
    while isinstance(thing, types.ModuleType) and not _is_outer(thing) and chain:
        name, module, thing = chain[0], thing.__name__, getattr(thing, chain[0], None)
        yield None, name
        chain = chain[1:]
    if isinstance(thing, types.ModuleType) and _is_outer(thing):
        yield None, thing.__name__
    else:
        yield ("global", name, module), thing


def _is_outer(module: types.ModuleType) -> bool:
    return libraries.is_outside(module.__name__)


def _imported(entry: names.Import, scope: dict[str, Any]) -> types.ModuleType | None:
    """Return the module of an import within a function, or None if it cannot be imported."""
    top = entry.module.partition(".")[0]
    if libraries.is_outside(top) and not entry.level:
        return None
    try:
        name = "." * entry.level + entry.module
        module = importlib.import_module(name, scope.get("__package__"))
    except Exception:  # the function may catch it
        return None
    return module if entry.names or entry.level else sys.modules.get(top, module)
