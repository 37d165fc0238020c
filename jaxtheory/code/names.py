"""Outer names that a function's code uses, read from its bytecode.

These are globals and free variables, each with the attributes that follow it, and the modules that
the function imports. An attribute is not a global: `params.V` does not refer to a function V of the
module.
"""

import dis
import functools
import inspect
import types
from collections.abc import Iterator
from typing import NamedTuple

_MUTATORS = {
    *("add", "append", "appendleft", "clear", "discard", "extend", "fill", "insert", "itemset"),
    *("pop", "popitem", "popleft", "put", "remove", "resize", "reverse", "setdefault", "sort"),
    "update",
}
_CHANGES = {f"{act}_{what}" for act in ("STORE", "DELETE") for what in ("SUBSCR", "SLICE", "ATTR")}
CONSTANT = frozenset(dis.hasconst)
_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
_LOCAL = frozenset((*dis.haslocal, *dis.hasfree))
KIND = inspect.CO_GENERATOR | inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_COROUTINE


class Use(NamedTuple):
    """Use of an outer name in a function's code.

    `chain` has the attributes that follow the name. `act` is "read", "rebind", "call" (of a method
    that changes the object) or "change" (in place).
    """

    name: str
    chain: tuple[str, ...]
    act: str


class Import(NamedTuple):
    """Import within a function.

    `level` is that of a relative import, 0 for an absolute one. `names` are the names taken from
    the module; they are empty if the module itself is used. `is_value` is true if the module is
    used otherwise than for its attributes, such as an argument of a call.
    """

    level: int
    module: str
    names: tuple[str, ...]
    is_value: bool = False


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object and those of the functions within it."""
    waiting = [code]
    while waiting:
        yield (current := waiting.pop())
        waiting += [c for c in reversed(current.co_consts) if isinstance(c, types.CodeType)]


@functools.lru_cache(maxsize=4096)
def steps_of(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    """Return the instructions of a code object, except those that only extend an argument."""
    return tuple(step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG")


@functools.lru_cache(maxsize=4096)
def uses(root: types.CodeType) -> tuple[Use, ...]:
    """Return the outer names in a function's code and in the functions within it."""
    return tuple(_uses(root))


def _uses(root: types.CodeType) -> Iterator[Use]:
    outer = root.co_freevars
    for code in _nested(root):
        steps = steps_of(code)
        begun: dict[tuple, str] = {}  # source position -> the name that begins there
        for i, step in enumerate(steps):
            at = (step.positions.lineno, step.positions.col_offset) if step.positions else ()
            closure = step.opname.endswith("_DEREF") and step.argval in outer
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") or (closure and "LOAD" in step.opname):
                chain = []
                for after in steps[i + 1 :]:
                    if after.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                        break
                    chain.append(after.argval)
                if at and at[1] is not None:
                    begun[at] = step.argval
                yield Use(step.argval, tuple(chain), "read")
                if chain and chain[0] in _MUTATORS:
                    yield Use(step.argval, (), "call")
            elif step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") or closure:
                yield Use(step.argval, (), "rebind")
            elif step.opname in _CHANGES and at in begun:
                attribute = (step.argval,) if step.opname.endswith("ATTR") else ()
                yield Use(begun[at], attribute, "change")


@functools.lru_cache(maxsize=4096)
def imports(root: types.CodeType) -> tuple[Import, ...]:
    """Return the imports within a function."""
    entries = []
    for steps in map(steps_of, _nested(root)):
        for i, step in enumerate(steps):
            if step.opname == "IMPORT_NAME" and i > 1:
                level, names = int(steps[i - 2].argval or 0), tuple(steps[i - 1].argval or ())
                target = next((x.argval for x in steps[i + 1 :] if "STORE" in x.opname), "")
                is_value = not names and _is_value(root, str(target))
                entries.append(Import(level, str(step.argval), names, is_value))
    return tuple(entries)


def _is_value(root: types.CodeType, name: str) -> bool:
    """True if a local variable is loaded other than to read an attribute of it."""
    for steps in map(steps_of, _nested(root)):
        for step, after in zip(steps, (*steps[1:], None), strict=True):
            loaded = step.argval if isinstance(step.argval, tuple) else (step.argval,)
            outer = step.opcode in CONSTANT or step.opname in (*_ATTRIBUTE, "LOAD_CLOSURE")
            followed = after is not None and after.opname in _ATTRIBUTE
            if "LOAD" in step.opname and name in loaded and not outer and not followed:
                return True
    return False


@functools.lru_cache(maxsize=4096)
def attributes(root: types.CodeType) -> set[str]:
    """Return the names of the attributes that a function's code reads, of any object."""
    return {
        str(step.argval)
        for code in _nested(root)
        for step in steps_of(code)
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD")
    }


@functools.lru_cache(maxsize=4096)
def spelled(root: types.CodeType) -> frozenset[str]:
    """Return the globals and attributes that a function's code names."""
    return frozenset(name for code in _nested(root) for name in code.co_names)


def signature(code: types.CodeType) -> str:
    """Return the name, the arguments and the attributes of a simple function as text.

    It is the same in every version of Python.
    """
    attributes = sorted({*code.co_names, *texts(code)} - {"__setattr__", "object", "tuple"})
    return f"signature {code.co_name} {code.co_kwonlyargcount} {_arguments(code)} {attributes}"


def _arguments(code: types.CodeType) -> tuple[str, ...]:
    """Return the names of the arguments of a function."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[:count]


@functools.lru_cache(maxsize=4096)
def texts(root: types.CodeType) -> tuple[str, ...]:
    """Return the strings in a function's code."""
    constants = (x for code in _nested(root) for x in code.co_consts)
    return tuple(dict.fromkeys(x for x in constants if isinstance(x, str)))


@functools.lru_cache(maxsize=4096)
def listing(code: types.CodeType) -> tuple[str, list]:
    """Return the instructions of a function as text, and their constants.

    The text has a number in place of the name of a local variable that is not an argument: for a
    free variable its place among these, for others the order of their appearance.
    """
    arguments, numbers = _arguments(code), dict[str, int]()

    def number(name: str) -> str:
        if name in arguments:
            return name
        if name in code.co_freevars:
            return f"free {code.co_freevars.index(name)}"
        return f"local {numbers.setdefault(name, len(numbers))}"

    texts, constants = list[str](), []
    for step in steps_of(code):
        value = step.argval
        if step.opcode in CONSTANT:
            constants.append(code.co_consts[step.arg or 0] if step.opname == "KW_NAMES" else value)
            value = ""
        elif step.opcode in _LOCAL:
            value = [number(x) for x in ([value] if isinstance(value, str) else value)]
        texts.append(f"{step.opname} {value}")
    kinds = (code.co_posonlyargcount, code.co_argcount, code.co_flags & KIND)
    return f"code {kinds} {arguments} {texts} {code.co_exceptiontable!r}", constants
