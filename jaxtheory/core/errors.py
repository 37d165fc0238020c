"""What a user is told: InputError, and hints for names that are not known. Imports nothing, so that
listing names does not wait for JAX.
"""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """A user's mistake: says what is wrong, which range is valid and what to do. The command line
    prints it without a traceback.
    """


def suggest(name: str, known: Iterable[str]) -> str:
    """A hint for an unknown name: the closest known one, or all of them."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else "known: " + ", ".join(known)
