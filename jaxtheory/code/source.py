"""Source text in a normal form.

Two texts that differ only in comments, docstrings, assertions, annotations of arguments, names of
local variables or formatting have the same normal form. It is therefore the same under `python -O`
and in every version of Python.

The text of a function is read from where its module was loaded: a file, an archive or a notebook.
It is used only if compiling it gives exactly the code in memory, because a file that was edited
after its import does not describe the code that runs.
"""

import __future__

import ast
import contextlib
import functools
import gc
import hashlib
import linecache
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from jaxtheory.code import scopes
from jaxtheory.code.scopes import Function

_SILENT = {"ctx", "kind", "type_comment", "returns"}  # fields that do not affect values
_BODIES = {"body", "orelse", "finalbody"}  # fields with statements
_FUTURES = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})
_IDENTIFIERS = {"id", "asname", "name", "rest"}  # fields with a name that is bound or used


class Text(NamedTuple):
    """Normal form of a function, with the names and attributes in it.

    `local` holds the names of local variables, for which the normal form has numbers, and `free`
    those of the free variables, each in order of appearance. A free variable that occurs in
    assertions only is not in `free`. `inner` holds the names of the functions within the function.
    """

    normal: str
    names: frozenset[str]
    local: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()


def _normal(node: ast.AST, free: tuple[str, ...] = ()) -> Text:
    """Return the normal form of a syntax tree.

    The name of the function itself does not count, nor do its defaults, which count by their
    values. `__debug__` counts by its value, and a local variable by the order of its appearance.
    """
    out, names, waiting = list[str](), set[str](), list[Any]([node])
    arguments, inner = getattr(node, "args", None), list[str]()
    places, numbers = scopes.resolve(node, free), dict[scopes.Local, int]()

    def number(place: Any) -> Any:
        if not isinstance(place, scopes.Local):
            return place
        return f"local {numbers.setdefault(place, len(numbers))}"

    while waiting:
        thing = waiting.pop()
        if isinstance(thing, tuple):  # the name of a field
            out.append(thing[0])
        elif isinstance(thing, list):
            out.append(f"[{len(thing)}")
            waiting += thing[::-1]
        elif isinstance(thing, ast.AST):
            kind: Any = type(thing)
            out.append(kind.__name__)
            inside: list[Any] = []
            place = places.get(id(thing))
            for name in _fields(kind):
                value = getattr(thing, name, None)
                if thing is arguments and name in ("defaults", "kw_defaults"):
                    continue
                if (
                    value is None and kind not in (ast.Constant, ast.MatchSingleton)
                ) or value == []:
                    continue
                if kind is ast.Name or (kind is ast.Attribute and name == "attr"):
                    names.add(str(value))
                    value = str(__debug__) if value == "__debug__" else value
                if place is not None and name in _IDENTIFIERS:
                    value = number(place)
                elif place is not None and kind is ast.Nonlocal:
                    value = [number(local) for local in place]
                if isinstance(thing, ast.AnnAssign) and name == "annotation":
                    if not isinstance(thing.target, ast.Name) or id(thing.target) in places:
                        continue  # of a local variable, which is not evaluated
                    value = ast.unparse(thing.annotation)
                if name in _BODIES and isinstance(value, list):
                    value = [x for x in value if not _without_effect(x)]
                elif kind is ast.JoinedStr:  # Python 3.12 leaves empty pieces
                    value = [x for x in value or () if getattr(x, "value", x) != ""]
                if name == "name" and isinstance(thing, Function) and thing is not node:
                    inner.append(getattr(thing, name))
                if name != "name" or thing is not node:
                    inside += ((name,), value)
            waiting += inside[::-1]
            out.append(str(len(inside)))
        else:
            out.append(repr(thing))
    free_names = [place.name for place in numbers if place.is_free]
    if free:  # such as the class that `super` refers to
        spelled = {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}
        free_names += [name for name in free if name not in spelled]
    own = tuple(place.name for place in numbers if not place.is_free)
    return Text("\n".join(out), frozenset(names), own, tuple(free_names), tuple(inner))


@functools.cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """Return the fields of a kind of node that affect values.

    The annotation of a variable is one of them, because it may make the variable a dataclass field.
    """
    silent = _SILENT if kind is ast.AnnAssign else {*_SILENT, "annotation"}
    return tuple(name for name in kind._fields if name not in silent)


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Disable garbage collection within the block.

    A syntax tree consists of many objects, so Python would repeatedly scan all objects that JAX
    keeps. This would take half of the time of a first identity.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _without_effect(statement: Any) -> bool:
    """True if a statement is an assertion, a constant such as a docstring, or `pass`."""
    lone = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return lone or isinstance(statement, ast.Assert | ast.Pass)


def text_of(module: str) -> str:
    """Return the text of an imported module, from a file, an archive or a notebook.

    For a module without sources it is a representation of its bytecode.
    """
    spec: Any = sys.modules[module].__spec__
    loader = spec.loader
    text = loader.get_source(module)
    if text is not None:
        return str(text)
    codes = list(_inside(loader.get_code(module)))
    return repr([(c.co_code, c.co_names, list(map(_stated, c.co_consts))) for c in codes])


def _stated(constant: Any) -> str:
    """Return a constant as text that is the same in every process."""
    if isinstance(constant, frozenset):
        return f"{sorted(map(_stated, constant))}"
    return constant.co_name if isinstance(constant, types.CodeType) else repr(constant)


@functools.cache
def normal_text(text: str) -> str:
    """Return a hash of the normal form of a module's text."""
    with _without_collection():
        return hashlib.sha256(_normal(ast.parse(text)).normal.encode()).hexdigest()[:16]


def of_function(code: types.CodeType, scope: dict[str, Any]) -> Text | None:
    """Return the normal form of a function, given its code and the globals of its module.

    It is None if the text is not available or does not compile to this code.
    """
    key = (code, code.co_filename)
    if key not in _texts:
        with _without_collection():
            _texts[key] = _read_text(code, scope)
    return _texts[key]


_texts: dict[tuple[types.CodeType, str], Text | None] = {}  # kept: files may change later
_reading = threading.Lock()  # linecache is not thread-safe: concurrent calls may lose entries


def _read_text(code: types.CodeType, scope: dict[str, Any]) -> Text | None:
    """Compute the result of `of_function`."""
    with _reading:
        linecache.checkcache(code.co_filename)
        text = "".join(linecache.getlines(code.co_filename, scope))
    try:
        functions = _beginning(text, code.co_firstlineno)
        if not functions or code not in _compiled(text, code.co_flags & _FUTURES):
            return None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    node = _the_one(code, functions)
    return None if node is None else _normal(node, code.co_freevars)


@functools.lru_cache(maxsize=16)
def _parsed(text: str) -> ast.Module:
    """Return the syntax tree of a module's text."""
    return ast.parse(text)


def _beginning(text: str, line: int) -> list[Function]:
    """Return the functions in a module's text that, with their decorators, begin on a line."""
    waiting, functions = list[Any]([_parsed(text)]), list[Function]()
    while waiting:
        node = waiting.pop()
        decorators = getattr(node, "decorator_list", ())
        first = min([getattr(node, "lineno", 0), *(decorator.lineno for decorator in decorators)])
        if first <= line <= (getattr(node, "end_lineno", None) or line):
            if first == line and isinstance(node, Function):
                functions.append(node)
            waiting += ast.iter_child_nodes(node)
    return functions


@functools.lru_cache(maxsize=16)
def _compiled(text: str, flags: int) -> frozenset[types.CodeType]:
    """Return the code of a module's text and of all its functions, compiled in this process."""
    module = compile(_parsed(text), "", "exec", flags=flags, dont_inherit=True)
    return frozenset(_inside(module))


def _inside(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object and those within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _inside(constant)


def _the_one(code: types.CodeType, functions: list[Function]) -> Function | None:
    """Return the function of a code object among those that begin on the same line.

    It is the innermost function that contains all instructions of the code.
    """
    named = [f for f in functions if getattr(f, "name", "<lambda>") == code.co_name]
    if len(named) < 2:
        return named[0] if named else None
    places = [p for p in code.co_positions() if None not in p and p[2:] != (0, 0)]
    if not places:
        return None
    first = min((p[0], p[2]) for p in places)
    last = max((p[1], p[3]) for p in places)
    holding = []
    for function in named:
        body = function.body if isinstance(function, ast.Lambda) else function
        begin, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
        if begin <= first and last <= end:
            holding.append((begin, function))
    return max(holding, key=lambda pair: pair[0])[1] if holding else None
