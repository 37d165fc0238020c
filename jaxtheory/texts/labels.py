"""Names and labels of users that become folders, variables of datasets, and cells of tables."""

import reprlib
import unicodedata
from typing import Any

_LONGEST = 200  # bytes of a name; file systems allow 255, of which suffixes and hashes take some
_LARGEST = 2**63  # bound on integer labels, which are int64 in a dataset
_HIDDEN = ("Cc", "Cs", "Zl", "Zp")  # control characters, lone surrogates, breaks of lines
_TURNING = {*"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"}


def _is_hidden(character: str) -> bool:
    """True if a character steers a terminal or the direction of a line, or cannot be encoded."""
    return unicodedata.category(character) in _HIDDEN or character in _TURNING


def visible(text: str, allowed: str = "") -> str:
    r"""Return a text with an escape such as \x1b in place of each character that steers a terminal.

    Args:
        text: Any string, also one that cannot be encoded as UTF-8.
        allowed: Control characters that are kept, such as a line break.

    Returns:
        The text; a text of ordinary characters is unchanged.

    Example:
        >>> print(visible("a\x1b[31mb"))
        a\x1b[31mb
    """
    if text.isprintable() and text.isascii():
        return text
    return "".join(
        character.encode("unicode_escape").decode("ascii")
        if character not in allowed and _is_hidden(character)
        else character
        for character in text
    )


def _text_fault(text: str) -> str | None:
    """Return why a string can be neither a name nor a label, or None."""
    if not text:
        return "must not be empty"
    if hidden := [character for character in text if _is_hidden(character)]:
        return f"must not contain the control character {hidden[0]!r}"
    return None


def name_fault(name: Any) -> str | None:
    """Return why a value cannot name a folder, or a variable or dimension of a dataset, or None.

    Args:
        name: The value that a user gave as a name.

    Returns:
        A sentence with the value, such as `'a/b': must not contain '/'`, or None.

    Example:
        >>> name_fault("loss"), name_fault("a/b")
        (None, "'a/b': must not contain '/'; write another character")
    """
    if not isinstance(name, str):
        return f"{_brief(name)} is a {type(name).__name__}, expected a name"
    why = _text_fault(name)
    for character in ("/", "\\"):
        if why is None and character in name:
            why = f"must not contain {character!r}; write another character"
    if why is None and (name.startswith((".", "__")) or name.endswith(".")):
        why = "must not begin with '.' or '__', nor end with '.'"
    if why is None and name != name.strip():
        why = "must not begin or end with a space"
    if why is None and len(name.encode()) > _LONGEST:
        why = f"has {len(name.encode())} bytes; at most {_LONGEST} are allowed"
    if why is None and name == "zarr.json":
        why = "is the name of a file of every dataset; choose another"
    return None if why is None else f"{_brief(name)}: {why}"


def label_fault(value: Any) -> str | None:
    """Return why a value cannot be a label, or None.

    A label is a number or a string that can be stored, printed and found again.
    """
    if isinstance(value, str):
        why = _text_fault(value)
    elif not isinstance(value, int | float) or value != value:
        return f"{_brief(value)} is not a label; labels must be strings or numbers"
    elif isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        why = "must be in [-2^63, 2^63); write it as a string"
    else:
        why = None
    return None if why is None else f"{_brief(value)}: {why}"


def _brief(value: Any) -> str:
    """Return the repr of a value, shortened to one line of moderate length."""
    try:
        return " ".join(reprlib.repr(value).split())
    except ValueError:  # Python writes no integer of thousands of digits
        return f"a very large {type(value).__name__}"
