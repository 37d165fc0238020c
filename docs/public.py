"""Public names of a module and their docstrings, for the reference and `tests/test_docs.py`."""

import functools
import importlib
import inspect
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jaxtheory

MARK = re.compile(r"^\.\. public:: (\S+)$", re.MULTILINE)  # on a page: all names of a module
LISTS, TEXTS, CODE = ("Args", "Raises"), ("Returns",), ("Example",)  # sections of docstrings


def module(name: str) -> ModuleType:
    """Return the module of a public name such as `jaxtheory.plot`, wherever its file is."""
    place = jaxtheory
    for word in name.split(".")[1:]:
        try:
            place = getattr(place, word)
        except AttributeError:
            place = importlib.import_module(f"{place.__name__}.{word}")
    return place


def names(name: str) -> list[str]:
    """Return the functions and classes of a module.

    They are those of `__all__`, or else those that the module itself defines, without those that
    `jaxtheory.__all__` contains already.
    """
    at = module(name)
    listed = getattr(at, "__all__", None)
    members = [word for word in listed or vars(at) if not word.startswith("_")]
    members = [word for word in members if shown(getattr(at, word))]
    if at is jaxtheory:
        return members
    above = [getattr(jaxtheory, word) for word in jaxtheory.__all__]
    return [
        word
        for word in members
        if (listed is not None or home(at, getattr(at, word)))
        and not any(getattr(at, word) is x for x in above)
    ]


def shown(thing: Any) -> bool:
    """True for a function or a class, False for a module or a constant."""
    return inspect.isclass(thing) or inspect.isroutine(thing)


def home(at: ModuleType, thing: Callable) -> bool:
    """True if a module defines a function or class; code that workers run is in `__main__`."""
    return thing.__module__ in (at.__name__, "__main__")


def undocumented(name: str) -> list[str]:
    """Return the public names of a module without a docstring, and the module if it has none."""
    at = module(name)
    bare = [] if at.__doc__ else [name]
    return bare + [f"{name}.{word}" for word in names(name) if not described(getattr(at, word))]


def described(thing: Any) -> bool:
    """True if there is a docstring other than the automatic `Params(a, b)` of a NamedTuple."""
    text = inspect.getdoc(thing) or ""
    return bool(text) and not text.startswith(f"{thing.__name__}(")


def directives(name: str) -> str:
    """Return the directives that replace a mark."""
    at = module(name)
    lines = [f".. py:module:: {name}", "", *plain((at.__doc__ or "").splitlines()), ""]
    for word in names(name):
        kind = "autoclass" if inspect.isclass(getattr(at, word)) else "autofunction"
        lines += [f".. {kind}:: {name}.{word}", *["   :members:"] * (kind == "autoclass"), ""]
    return "\n".join(lines)


def expand(page: str) -> str:
    """Replace the marks of a page."""
    return MARK.sub(lambda mark: directives(mark[1]), page)


def plain(lines: list[str]) -> list[str]:
    """Convert a docstring to reStructuredText.

    Sections such as `Args:` become lists. In other text, paragraphs flow, indented and aligned
    lines stay as they are, `code` is code, and nothing else has a meaning.
    """
    text = "\n".join(line.rstrip() for line in inspect.cleandoc("\n".join(lines)).splitlines())
    return list(functools.reduce(lambda done, part: done + paragraph(part), parts(text), []))


def parts(text: str) -> list[str]:
    """Split a docstring into its paragraphs; a section is one, with the blank lines in it."""
    blocks = list[str]()
    for block in text.split("\n\n"):
        if blocks and title(blocks[-1]) and block.startswith(" "):
            blocks[-1] += f"\n\n{block}"
        else:
            blocks.append(block)
    return blocks


def title(block: str) -> str | None:
    """Return the title of a section, without its colon, or None for another paragraph."""
    first = block.strip("\n").partition("\n")[0].removesuffix(":")
    return first if first in LISTS + TEXTS + CODE else None


def paragraph(text: str) -> list[str]:
    """Convert one paragraph or section of a docstring."""
    if (head := title(text)) is not None:
        return section(head, inspect.cleandoc(text.strip("\n").partition("\n")[2]).splitlines())
    lines = text.strip("\n").splitlines()
    flowing = next((i for i, line in enumerate(lines) if aligned(line)), len(lines))
    if any(not aligned(line) for line in lines[flowing:]):
        flowing = 0
    done = [escaped(line) for line in lines[:flowing]]
    if lines[flowing:]:
        done += ["", "::", "", *(f"    {line}" for line in lines[flowing:])]
    return [*done, ""]


def section(head: str, lines: list[str]) -> list[str]:
    """Convert a section of a docstring, given its title and its dedented lines."""
    if head in CODE:
        return [f"**{head}**", "", "::", "", *(f"    {line}" for line in lines), ""]
    if head in TEXTS:
        return [f"**{head}**", "", *(escaped(line.strip()) for line in lines), ""]
    done = [f"**{head}**", ""]
    for line in lines:
        name, colon, description = line.partition(": ")
        if line.startswith(" ") or not colon:
            done.append(f"  {escaped(line.strip())}" if line else "")
        else:
            done += ["", f"- ``{name}``: {escaped(description)}"]
    return [*done, ""]


def aligned(line: str) -> bool:
    """True if the columns of a line have a meaning."""
    return line.startswith(" ") or re.search(r"\S {3,}\S", line) is not None


def escaped(line: str) -> str:
    """Escape a line in which only `code` has a meaning."""
    pieces = re.split(r"`+([^`]+)`+", line)
    return "".join(
        f"``{piece}``" if i % 2 else re.sub(r"([\\*|_`])", r"\\\1", piece)
        for i, piece in enumerate(pieces)
    )
