"""Source text in a normal form: the same for two texts that differ in comments, docstrings,
assertions, annotations of arguments or formatting, and hence the same under `python -O` and in
every version of Python.

The text of a function is read from where its module was loaded, a file, an archive or a notebook,
and taken only where compiling it gives the very code that is in memory: a file that was edited
after its import says nothing of what runs.
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

_SILENT = {"ctx", "kind", "type_comment", "returns"}  # fields that change no value
_BODIES = {"body", "orelse", "finalbody"}  # fields that hold statements
_FUTURES = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Text(NamedTuple):
    """A function in normal form, and the names and attributes in it."""

    normal: str
    words: frozenset[str]


def _normal(node: ast.AST) -> Text:
    """A syntax tree in normal form. A function's own name does not count, `__debug__` counts by its
    value.
    """
    out, words, waiting = list[str](), set[str](), list[Any]([node])
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
            for name in _fields(kind):
                value = getattr(thing, name, None)
                if (
                    value is None and kind not in (ast.Constant, ast.MatchSingleton)
                ) or value == []:
                    continue
                if kind is ast.Name or (kind is ast.Attribute and name == "attr"):
                    words.add(str(value))
                    value = str(__debug__) if value == "__debug__" else value
                if name in _BODIES and isinstance(value, list):
                    value = [x for x in value if not _without_effect(x)]
                elif kind is ast.JoinedStr:  # Python 3.12 leaves empty pieces
                    value = [x for x in value if getattr(x, "value", x) != ""]
                if name != "name" or thing is not node:
                    inside += ((name,), value)
            waiting += inside[::-1]
            out.append(str(len(inside)))
        else:
            out.append(repr(thing))
    return Text("\n".join(out), frozenset(words))


@functools.cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a kind of node that say anything; the annotation of a variable may make it a
    field of a class.
    """
    silent = _SILENT if kind is ast.AnnAssign else {*_SILENT, "annotation"}
    return tuple(name for name in kind._fields if name not in silent)


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Within: no garbage is looked for. A syntax tree is many objects, each of which would have
    Python look through all that JAX keeps: half of the time of a first identity.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _without_effect(statement: Any) -> bool:
    """Whether a statement is an assertion, a docstring or another constant, or `pass`."""
    lone = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return lone or isinstance(statement, ast.Assert | ast.Pass)


def text_of(module: str) -> str:
    """The text of an imported module, wherever it was imported from; of one without sources its
    instructions, as a constant.
    """
    loader: Any = sys.modules[module].__spec__.loader
    text = loader.get_source(module)
    if text is not None:
        return str(text)
    codes = list(_inside(loader.get_code(module)))
    return repr([(c.co_code, c.co_names, list(map(_stated, c.co_consts))) for c in codes])


def _stated(constant: Any) -> str:
    """A constant as text, the same in every process."""
    if isinstance(constant, frozenset):
        return f"{sorted(map(_stated, constant))}"
    return constant.co_name if isinstance(constant, types.CodeType) else repr(constant)


@functools.cache
def normal_text(text: str) -> str:
    """A hash of a module's text in normal form."""
    with _without_collection():
        return hashlib.sha256(_normal(ast.parse(text)).normal.encode()).hexdigest()[:16]


def of_function(code: types.CodeType, scope: dict[str, Any]) -> Text | None:
    """The normal form of a function, by its code and its module's globals; None where its text is
    not to be had, or is not that of the code.
    """
    key = (code, code.co_filename)
    if key not in _known:
        with _without_collection():
            _known[key] = _found(code, scope)
    return _known[key]


_known: dict[tuple[types.CodeType, str], Text | None] = {}  # kept: a file may change meanwhile
_reading = threading.Lock()  # threads that fill linecache at once find entries gone


def _found(code: types.CodeType, scope: dict[str, Any]) -> Text | None:
    """What `of_function` gives, looked up."""
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
    return None if node is None else _normal(node)


@functools.lru_cache(maxsize=16)
def _parsed(text: str) -> ast.Module:
    """The syntax tree of a module's text."""
    return ast.parse(text)


def _beginning(text: str, line: int) -> list[_Function]:
    """The functions in a module's text that begin on a line, with their decorators."""
    waiting, found = list[Any]([_parsed(text)]), list[_Function]()
    while waiting:
        node = waiting.pop()
        decorators = getattr(node, "decorator_list", ())
        first = min([getattr(node, "lineno", 0), *(one.lineno for one in decorators)])
        if first <= line <= (getattr(node, "end_lineno", None) or line):
            if first == line and isinstance(node, _Function):
                found.append(node)
            waiting += ast.iter_child_nodes(node)
    return found


@functools.lru_cache(maxsize=16)
def _compiled(text: str, flags: int) -> frozenset[types.CodeType]:
    """The code of a module's text and of all functions in it, as this process compiles them."""
    whole = compile(_parsed(text), "", "exec", flags=flags, dont_inherit=True)
    return frozenset(_inside(whole))


def _inside(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _inside(constant)


def _the_one(code: types.CodeType, functions: list[_Function]) -> _Function | None:
    """Of the functions that begin on one line, the one whose code it is: the innermost that holds
    all its instructions.
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
    for one in named:
        body = one.body if isinstance(one, ast.Lambda) else one
        begin, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
        if begin <= first and last <= end:
            holding.append((begin, one))
    return max(holding, key=lambda pair: pair[0])[1] if holding else None
