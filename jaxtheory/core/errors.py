"""What a user is told: InputError, and hints for names that are not known. Imports no JAX, so that
listing names does not wait for it.
"""

import difflib
import os
import sysconfig
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


class InputError(ValueError):
    """A user's mistake: says what is wrong, which range is valid and what to do. The command line
    prints it without a traceback.
    """


def tried(what: str, function: Callable, *args: Any) -> Any:
    """function(*args), a user's own. What it raises becomes an InputError of one line, with the
    last line of the user's that was reached.
    """
    try:
        return function(*args)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{what}: {line(error)}{place(error)}") from error


def line(error: BaseException) -> str:
    """An error in one line: its type and the first line of what it says."""
    said = next((" ".join(text.split()) for text in str(error).splitlines() if text.strip()), "")
    return f"{type(error).__name__}: {said}"


def place(error: BaseException) -> str:
    """`(FILE.py, line n)`: the last line of a user's own that an error passed; empty without."""
    ours = Path(__file__).parents[1]
    homes = (ours, ours.parent / "sweeps", sysconfig.get_path("stdlib"))
    libraries = (*(f"{home}{os.sep}" for home in homes), "<")
    found = ""
    for frame in traceback.extract_tb(error.__traceback__):
        name = frame.filename
        if not name.startswith(libraries) and "site-packages" not in name:
            found = f" ({Path(name).name}, line {frame.lineno})"
    return found


def suggest(name: str, known: Iterable[str]) -> str:
    """A hint for an unknown name: the closest known one, or the nearest five."""
    known = list(known)
    if close := difflib.get_close_matches(name, known, n=1):
        return f"did you mean {close[0]!r}?"
    if len(known) <= 5:
        return "known: " + ", ".join(known)
    near = difflib.get_close_matches(name, known, n=5, cutoff=0.0)
    return f"the nearest of {len(known)}: {', '.join(near)}"
