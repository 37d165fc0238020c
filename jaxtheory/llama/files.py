"""Reading of files from other sources, which are checked before they are opened."""

import json
import os
import reprlib
import stat
from pathlib import Path
from typing import Any

from jaxtheory.texts.errors import InputError

LARGEST = 2**26  # bytes of a JSON file; the largest index of a published checkpoint has 2^23


def regular(path: Path) -> None:
    """Raise InputError unless a path leads to a regular file; opening a pipe would block."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({_reason(error)})") from None
    if not stat.S_ISREG(mode):
        raise InputError(f"{path}: is not a regular file; use a file or a link to one")


def text(path: Path, largest: int | None = None) -> str:
    """Read a UTF-8 file of at most `largest` bytes, without converting line ends."""
    regular(path)
    try:
        size = path.stat().st_size
        if largest is not None and size > largest:
            raise InputError(f"{path}: has {size} bytes, must have at most {largest}")
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: is not UTF-8 ({error.reason} at byte {error.start}); convert it to UTF-8"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({_reason(error)})") from None


def parse_object(document: str, origin: str) -> dict[str, Any]:
    """Parse a JSON object in which no key is repeated; origin: the file, for messages."""
    try:
        parsed = json.loads(document, object_pairs_hook=_once)
    except DuplicateKeyError as twice:
        raise InputError(f"{origin}: names {twice.args[0]} twice; keep one of the two") from None
    except RecursionError:
        raise InputError(f"{origin}: JSON cannot be read (nested too deeply)") from None
    except ValueError as error:
        raise InputError(f"{origin}: is not JSON ({error})") from None
    if not isinstance(parsed, dict):
        raise InputError(f"{origin}: must be a JSON object, is a {type(parsed).__name__}")
    return parsed


class DuplicateKeyError(Exception):
    """A key that an object has twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for name, value in pairs:
        if name in entries:
            raise DuplicateKeyError(reprlib.repr(name))
        entries[name] = value
    return entries


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
