"""Names from outside that a function's code uses, read from its instructions: globals and free
variables, each with the attributes that follow it, and modules that are imported within.

An attribute is not a global: `params.V` says nothing about a function V of the same module.
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
KIND = inspect.CO_GENERATOR | inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_COROUTINE


class Use(NamedTuple):
    """A name from outside in a function's code, the attributes that follow it, and whether it is
    read, rebound, called for its effect or changed in place.
    """

    name: str
    chain: tuple[str, ...]
    act: str


class Import(NamedTuple):
    """An import within a function: the level of a relative one (0 for an absolute one), the module,
    and the names that are taken from it (empty where the module itself is used).
    """

    level: int
    module: str
    names: tuple[str, ...]


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the functions within it."""
    waiting = [code]
    while waiting:
        yield (one := waiting.pop())
        waiting += [c for c in reversed(one.co_consts) if isinstance(c, types.CodeType)]


@functools.lru_cache(maxsize=4096)
def steps_of(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    """The instructions of a code object, without those that only extend an argument."""
    return tuple(step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG")


@functools.lru_cache(maxsize=4096)
def uses(root: types.CodeType) -> tuple[Use, ...]:
    """The names from outside in a function's code, and in the functions within it."""
    return tuple(_uses(root))


def _uses(root: types.CodeType) -> Iterator[Use]:
    outer = root.co_freevars
    for code in _nested(root):
        steps = steps_of(code)
        begun: dict[tuple, str] = {}  # where in the source an expression begins with such a name
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
    """The imports within a function."""
    found = []
    for steps in map(steps_of, _nested(root)):
        for i, step in enumerate(steps):
            if step.opname == "IMPORT_NAME" and i > 1:
                level, names = steps[i - 2].argval, steps[i - 1].argval
                found.append(Import(int(level or 0), str(step.argval), tuple(names or ())))
    return tuple(found)


@functools.lru_cache(maxsize=4096)
def attributes(root: types.CodeType) -> set[str]:
    """The attributes that a function's code reads, of whatever object."""
    return {
        str(step.argval)
        for code in _nested(root)
        for step in steps_of(code)
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD")
    }
