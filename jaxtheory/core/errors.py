"""What a user is told: InputError, and hints for names that are not known. Imports no JAX, so that
listing names does not wait for it.
"""

import difflib
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
        ours = str(Path(__file__).parents[1])
        places = [
            f" ({Path(frame.filename).name}, line {frame.lineno})"
            for frame in traceback.extract_tb(error.__traceback__)
            if not frame.filename.startswith((ours, "<")) and "site-packages" not in frame.filename
        ]
        reason = next((" ".join(line.split()) for line in str(error).splitlines() if line), "")
        where = places[-1] if places else ""
        raise InputError(f"{what}: {type(error).__name__}: {reason}{where}") from error


def suggest(name: str, known: Iterable[str]) -> str:
    """A hint for an unknown name: the closest known one, or all of them."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else "known: " + ", ".join(known)
