"""Files that others wrote: looked at before they are opened, and read up to a bound."""

import json
import os
import reprlib
import stat
from pathlib import Path
from typing import Any

from jaxtheory.core.errors import InputError

LARGEST = 2**26  # bytes of a JSON file; the largest index of a published checkpoint has 2^23


def regular(path: Path) -> None:
    """Raise InputError unless a path leads to a regular file: to open a pipe waits for a writer."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({_reason(error)})") from None
    if not stat.S_ISREG(mode):
        raise InputError(f"{path}: is not a regular file; give a file or a link to one")


def text(path: Path, largest: int | None = None) -> str:
    """The text of a UTF-8 file exactly as its bytes say: line ends stay as they are.

    Raises InputError for what is no regular file, cannot be read, is longer than `largest` bytes
    or is not UTF-8.
    """
    regular(path)
    try:
        size = path.stat().st_size
        if largest is not None and size > largest:
            raise InputError(f"{path}: has {size} bytes, must have at most {largest}")
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: is no UTF-8 text ({error.reason} at byte {error.start}); convert it to UTF-8"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({_reason(error)})") from None


def entries(document: str, origin: str) -> dict[str, Any]:
    """The entries of a JSON object; origin: the file, for messages.

    Raises InputError for what is no JSON, nested too deeply, no object, or names a key twice.
    """
    try:
        found = json.loads(document, object_pairs_hook=_once)
    except TwiceError as twice:
        raise InputError(f"{origin}: names {twice.args[0]} twice; keep one of the two") from None
    except RecursionError:
        raise InputError(f"{origin}: no JSON that can be read (nested too deeply)") from None
    except ValueError as error:
        raise InputError(f"{origin}: no JSON ({error})") from None
    if not isinstance(found, dict):
        raise InputError(f"{origin}: must be a JSON object, is a {type(found).__name__}")
    return found


class TwiceError(Exception):
    """A key that an object names twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise TwiceError(reprlib.repr(name))
        found[name] = value
    return found


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
