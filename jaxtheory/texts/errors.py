"""Errors and hints for users.

This module does not import JAX, so that listing names does not wait for it.
"""

import difflib
import functools
import inspect
import os
import re
import reprlib
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar, cast

from jaxtheory.texts.labels import visible

Function = TypeVar("Function", bound=Callable[..., Any])
Record = TypeVar("Record", bound=type)


class InputError(ValueError):
    """An invalid input: the message says what is wrong, what is valid and what to do.

    The command line prints the message without a traceback. It is a ValueError.

    Example:
        >>> import jaxtheory
        >>> try:
        ...     jaxtheory.theories.get("random_wlak")
        ... except jaxtheory.InputError as error:
        ...     print(error)
        unknown theory 'random_wlak'; did you mean 'random_walk'?...
    """


def tried(what: str, function: Callable, *args: Any) -> Any:
    """Call a user's function; its errors become an InputError of one line.

    The message begins with `what` and ends with the last line of the user's code that was reached.
    """
    try:
        return function(*args)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{what}: {line(error)}{place(error)}") from error


def brief(value: Any) -> str:
    """Return the repr of a value, shortened to one line of moderate length."""
    try:
        return " ".join(visible(reprlib.repr(value), "\n").split())
    except Exception:  # such as that of an integer of thousands of digits
        return f"a very large {type(value).__name__}"


def notice(text: str) -> None:
    """Warn the user in one line, without a place in the sources."""
    warnings.warn_explicit(visible(text), UserWarning, "jaxtheory", 1)


_HINTS = {  # texts of errors of JAX -> what to write instead
    "Shapes must be 1D sequences of concrete": "a traced number as a shape: write size.cap, not .n",
    "conversion method __array__()": "NumPy on a traced value: write jnp, not np",
    "NumPy array conversion": "NumPy on a traced value: write jnp, not np",
    "boolean conversion of traced": "`if`, `and` or `while` on a traced value: write jnp.where",
    "Array boolean indices must be concrete": "a traced mask as an index: write jnp.where",
    "__index__() method was called": "a traced number as a length or range: write size.cap, not .n",
    "Abstract tracer value encountered where concrete": "a traced value in int(), float() or a "
    "range: keep it an array, and write size.cap for a length",
    "Encountered an unexpected tracer": "a value kept from an earlier call: pass it as an argument",
    "Tracer' object is not callable": "a traced number where a function is expected: write lambda "
    "step: config.NAME",
    "grad requires real- or complex-valued inputs": "integers are not trained: keep them in the "
    "problem",
    "'Size'": "a Size cannot be used as a number: use .cap for shapes, .n or .real in arithmetic",
}

_CLOSE = 0.6  # likeness of two names from which one is taken for the other
_BYTES = re.compile(r"\d+(?:\.\d*)? ?(?:bytes|[kKMGTPE]i?B)\b")  # as XLA and NumPy write them


def line(error: BaseException) -> str:
    """Return an error in one line: its type, the first line of its message, and a hint.

    There is a hint if the code follows a habit of NumPy that JAX does not allow. If memory is used
    up, the line says so.
    """
    if (fault := out_of_memory(error)) is not None:
        return fault
    lines = (" ".join(text.split()) for text in str(error).splitlines() if text.strip())
    hint = next((f"; {hint}" for part, hint in _HINTS.items() if part in str(error)), "")
    return f"{type(error).__name__}: {next(lines, '')}{hint}"


def out_of_memory(error: BaseException) -> str | None:
    """Return a line for an error of Python, NumPy or XLA about memory; None for any other error.

    The line has the number of bytes that were asked for, and what helps.
    """
    text = str(error)
    if not isinstance(error, MemoryError) and not (
        isinstance(error, RuntimeError) and ("RESOURCE_EXHAUSTED" in text or "bad_alloc" in text)
    ):
        return None
    size = _BYTES.search(text)
    what = f"an array of {size[0]}" if size else "an array"
    return (
        f"not enough memory: {what} cannot be allocated; reduce the sizes, the seeds or the "
        "recorded steps, use dtype float32, or set JAXTHEORY_DEVICES=1 for one chunk at a time"
    )


def place(error: BaseException) -> str:
    """Return ` (FILE.py, line n)`, the last line of a user's code in a traceback, or ""."""
    return user_line((x.filename, x.lineno) for x in traceback.extract_tb(error.__traceback__))


def user_line(frames: Iterable[tuple[str, int | None]]) -> str:
    """Return ` (FILE.py, line n)` of the last of these lines that is a user's, or ""."""
    ours = Path(__file__).parents[1]
    homes = (ours, ours.parent / "sweeps", sysconfig.get_path("stdlib"))
    libraries = (*(f"{home}{os.sep}" for home in homes), "<")
    last = ""
    for name, number in frames:
        if not name.startswith(libraries) and "site-packages" not in name:
            last = f" ({Path(name).name}, line {number})"
    return last


def code_line(function: Any) -> str:
    """Return ` (FILE.py, line n)` of a function, or "" if it has no source."""
    code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
    return f" ({Path(code.co_filename).name}, line {code.co_firstlineno})" if code else ""


def suggest(name: str, names: Iterable[str]) -> str:
    """Return a hint for an unknown name: the closest known names, or the nearest five.

    Capital letters do not count. Of several names that are equally close, those that begin with the
    given name are preferred.
    """
    names, plain = list(dict.fromkeys(names)), name.casefold()
    likeness = {
        word: difflib.SequenceMatcher(None, word.casefold(), plain).ratio() for word in names
    }
    near = sorted(names, key=lambda word: -likeness[word])
    if near and likeness[near[0]] >= _CLOSE:
        best = [word for word in names if likeness[word] == likeness[near[0]]]
        best = [word for word in best if word.startswith(name)] or best
        return f"did you mean {' or '.join(map(repr, best))}?"
    if len(names) <= 5:
        return "known: " + ", ".join(names)
    return f"the nearest of {len(names)}: {', '.join(near[:5])}"


def checks_arguments(function: Function) -> Function:
    """Decorate a function so that it raises InputError for arguments that it does not take.

    The error names the closest argument that it takes.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        try:
            signature.bind(*args, **options)
        except TypeError as error:
            known = [*signature.parameters]
            for word in options:
                if word not in known:
                    hint = suggest(word, known)
                    raise InputError(f"unknown argument {word!r}; {hint}") from None
            raise InputError(f"{function.__name__}: {error}") from None
        return function(*args, **options)

    return cast(Function, checked)


def require_present(what: str, kind: type, expected: type) -> None:
    """Raise InputError if two classes have one name, as after a module was loaded again.

    Args:
        what: What has the class in the message, such as "config".
        kind: The class that it has.
        expected: The class that it should have.
    """
    home, name = kind.__module__, kind.__qualname__
    if kind is expected or (home, name) != (expected.__module__, expected.__qualname__):
        return
    again = f"{name} was defined again" if home == "__main__" else f"{home} was loaded again"
    present: Any = sys.modules.get(home)
    for part in name.split("."):
        present = getattr(present, part, None)
    old, remedy = what, f"make it again, as a {name} of the present {home}"
    if present is kind:
        old, remedy = "theory", f"make it again, or take it from the present {home}"
    raise InputError(f"{again}, and the {old} is of the earlier one; {remedy}")


def require_arguments(what: str, function: Callable, expected: str, hint: str = "") -> None:
    """Raise InputError for a function that cannot be called with so many arguments.

    Args:
        what: The name of the function in the message.
        function: The function; one whose arguments Python does not know passes.
        expected: The names of the arguments, as in "key, config".
        hint: The end of the message.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a built-in function
        return
    try:
        signature.bind(*expected.split(", "))
    except TypeError:
        raise InputError(
            f"{what} takes ({', '.join(signature.parameters)}), but is called with ({expected})"
            f"{hint}"
        ) from None


def checks_slots(record: Record) -> Record:
    """Decorate a record so that it raises InputError for slots that it does not have, or lacks."""
    kind: Any = record
    name, title = ("__new__" if issubclass(kind, tuple) else "__init__"), kind.__name__
    constructor, signature = getattr(kind, name), inspect.signature(getattr(kind, name))
    known = [word for word, p in signature.parameters.items() if p.kind is not p.VAR_KEYWORD][1:]

    def require_known(words: Iterable[str]) -> None:
        for word in words:
            if word not in known:
                raise InputError(f"{title} has no {word!r}; {suggest(word, known)}")

    @functools.wraps(constructor)
    def checked(*args: Any, **slots: Any) -> Any:
        try:
            signature.bind(*args, **slots)
        except TypeError as error:
            require_known(slots)
            raise InputError(f"{title}: {error}") from None
        return constructor(*args, **slots)

    setattr(kind, name, staticmethod(checked) if name == "__new__" else checked)
    if issubclass(kind, tuple):
        replaced = kind._replace

        @functools.wraps(replaced)
        def replace(self: Any, /, **slots: Any) -> Any:
            require_known(slots)
            return replaced(self, **slots)

        kind._replace = replace
    return record
