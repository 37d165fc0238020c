"""The words of a command line as a command, and one line about words that it does not take."""

import contextlib
import dataclasses
import functools
import inspect
import io
import itertools
import operator
import re
import sys
import typing
from collections.abc import Sequence
from typing import Annotated, Any

import tyro
from tyro.conf import FlagCreatePairsOff, arg, subcommand

from jaxtheory.texts.errors import InputError, suggest

_DESCRIPTION = (
    "A laboratory for transformer learning theory. `jaxtheory COMMAND --help` describes a command."
)
Flag = FlagCreatePairsOff[Annotated[bool, arg(help_behavior_hint="")]]  # which is off by default


def takes(metavar: str, name: str | None = None) -> Any:
    """Return the help of an option, which mentions its default value if it has one.

    Args:
        metavar: The words that the option takes.
        name: The name of the option; None for that of its field.
    """
    return arg(metavar=metavar, name=name, help_behavior_hint=_default)


def _default(text: str) -> str:
    return f"(default: {text})" if text not in ("", "None") else ""


def read_command(commands: Any, words: Sequence[str]) -> Any:
    """Return the command that the words ask for.

    Raises InputError, in one line, for words that no command takes, and SystemExit for --help.

    Args:
        commands: The union of the commands, annotated with their names.
        words: The words after `jaxtheory`.
    """
    types = _types(commands)
    name = next(iter(words), "")
    if not name:
        listed = ", ".join(types)
        raise InputError(f"jaxtheory: the command is missing; jaxtheory --help lists {listed}")
    if not name.startswith("-") and name not in types:
        raise InputError(f"jaxtheory: unknown command {name!r}; {suggest(name, types)}")
    boxes = io.StringIO()
    try:
        with contextlib.redirect_stderr(boxes):
            return tyro.cli(
                _in_short(commands) if name in ("-h", "--help") else commands,
                prog="jaxtheory",
                description=_DESCRIPTION,
                args=list(words),
            )
    except SystemExit as stop:
        if not stop.code:
            raise
        title = f"jaxtheory {name}" if name in types else "jaxtheory"
        fault = _unknown_option(types, words) or f"{_first(boxes.getvalue())}; see {title} --help"
        raise InputError(f"{title}: {fault}") from None
    finally:
        if sys.exc_info()[0] is None:
            sys.stderr.write(boxes.getvalue())


def _types(commands: Any) -> dict[str, type]:
    """Return the classes of the commands by name."""
    pairs = [typing.get_args(command) for command in typing.get_args(commands)]
    return {configured.name: command for command, configured in pairs}


def _in_short(commands: Any) -> Any:
    """Return the union of the commands, each described by the first paragraph of its docstring."""
    described = []
    for name, command in _types(commands).items():
        first, _, _ = (inspect.getdoc(command) or "").partition("\n\n")
        described.append(Annotated[command, subcommand(name, description=first)])
    return functools.reduce(operator.or_, described)


def _options(command: type) -> list[str]:
    names = [field.name.rstrip("_") for field in dataclasses.fields(command)]
    return [f"--{name.replace('_', '-')}" for name in names]


def _unknown_option(types: dict[str, type], words: Sequence[str]) -> str:
    """Return a line about the first option that a command does not have, or ""."""
    if words[0] not in types:
        return ""
    options = _options(types[words[0]])
    for word in words[1:]:
        option = word.partition("=")[0].replace("_", "-")
        if not re.match("--?[a-zA-Z]", option) or option.replace("--no-", "--", 1) in options:
            continue
        commands = [name for name, command in types.items() if option in _options(command)]
        listed = " and ".join(filter(None, [", ".join(commands[:-1]), *commands[-1:]]))
        hint = f"it is an option of {listed}" if commands else suggest(option, options)
        return f"unknown option {option}; {hint}"
    return ""


def _first(box: str) -> str:
    """Return the first part of a box of tyro, after its title, in one line.

    The frame of a box is of lines, or of hyphens where the encoding lacks them.
    """
    lines = [line.strip("│| ") for line in box.splitlines()[1:]]
    parts = [[*group] for text, group in itertools.groupby(lines, _is_text) if text]
    text = " ".join(parts[0]) if parts else "the words are not understood"
    return re.sub(r"^Missing from jaxtheory[^:]*:", "missing:", text).rstrip(".")


def _is_text(line: str) -> bool:
    return bool(line.strip("─-+╰╯"))
