"""The public names of a module: the reference shows them, `tests/test_docs.py` counts them."""

import functools
import importlib
import inspect
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jaxtheory

MARK = re.compile(r"^\.\. public:: (\S+)$", re.MULTILINE)  # on a page: all names of a module


def module(name: str) -> ModuleType:
    """The module of a public name such as `jaxtheory.plot`, wherever its file lies."""
    found = jaxtheory
    for word in name.split(".")[1:]:
        try:
            found = getattr(found, word)
        except AttributeError:
            found = importlib.import_module(f"{found.__name__}.{word}")
    return found


def names(name: str) -> list[str]:
    """Functions and classes: of `__all__`, or else those that the module itself defines and that
    `jaxtheory.__all__` does not show already.
    """
    at = module(name)
    listed = getattr(at, "__all__", None)
    mine = [word for word in listed or vars(at) if not word.startswith("_")]
    kept = [word for word in mine if shown(getattr(at, word))]
    if listed is not None:
        return kept
    above = [getattr(jaxtheory, word) for word in jaxtheory.__all__]
    return [
        word
        for word in kept
        if home(at, getattr(at, word)) and not any(getattr(at, word) is x for x in above)
    ]


def shown(thing: Any) -> bool:
    """Whether it is a function or a class, not a module or a constant."""
    return inspect.isclass(thing) or inspect.isroutine(thing)


def home(at: ModuleType, thing: Callable) -> bool:
    """Whether a module defines a function or class; what a worker runs says `__main__`."""
    return thing.__module__ in (at.__name__, "__main__")


def undocumented(name: str) -> list[str]:
    """The public names of a module that have no docstring, and the module where it has none."""
    at = module(name)
    bare = [] if at.__doc__ else [name]
    return bare + [f"{name}.{word}" for word in names(name) if not described(getattr(at, word))]


def described(thing: Any) -> bool:
    """Whether somebody has written a docstring; a NamedTuple's `Params(a, b)` is none."""
    text = inspect.getdoc(thing) or ""
    return bool(text) and not text.startswith(f"{thing.__name__}(")


def directives(name: str) -> str:
    """What Sphinx reads in place of a mark."""
    at = module(name)
    lines = [f".. py:module:: {name}", "", *plain((at.__doc__ or "").splitlines()), ""]
    for word in names(name):
        kind = "autoclass" if inspect.isclass(getattr(at, word)) else "autofunction"
        lines += [f".. {kind}:: {name}.{word}", *["   :members:"] * (kind == "autoclass"), ""]
    return "\n".join(lines)


def expand(page: str) -> str:
    """A page with its marks replaced."""
    return MARK.sub(lambda mark: directives(mark[1]), page)


def plain(lines: list[str]) -> list[str]:
    """A docstring as reStructuredText: paragraphs flow, lines that are indented or aligned stay as
    they are, `code` is code, and nothing else has a meaning.
    """
    text = "\n".join(line.rstrip() for line in inspect.cleandoc("\n".join(lines)).splitlines())
    return list(functools.reduce(lambda done, part: done + paragraph(part), text.split("\n\n"), []))


def paragraph(text: str) -> list[str]:
    """One paragraph of a docstring."""
    lines = text.strip("\n").splitlines()
    flowing = next((i for i, line in enumerate(lines) if aligned(line)), len(lines))
    if any(not aligned(line) for line in lines[flowing:]):
        flowing = 0
    done = [escaped(line) for line in lines[:flowing]]
    if lines[flowing:]:
        done += ["", "::", "", *(f"    {line}" for line in lines[flowing:])]
    return [*done, ""]


def aligned(line: str) -> bool:
    """Whether the places of words on a line mean something."""
    return line.startswith(" ") or re.search(r"\S {3,}\S", line) is not None


def escaped(line: str) -> str:
    """A line in which only `code` has a meaning."""
    parts = re.split(r"`+([^`]+)`+", line)
    return "".join(
        f"``{part}``" if i % 2 else re.sub(r"([\\*|_`])", r"\\\1", part)
        for i, part in enumerate(parts)
    )
