"""Locations of files, which do not affect a result and do not count in the hash of the code."""

import os
import types
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from jaxtheory.code import libraries


def home(function: types.FunctionType) -> str | None:
    """Return the folder from which the module of a function was imported."""
    scope, module = function.__globals__, function.__module__
    file = scope.get("__file__")
    if not isinstance(file, str) or libraries.is_library(str(scope.get("__name__", ""))):
        return None
    path = Path(file).absolute()
    depth = str(module).count(".") + (path.name == "__init__.py")
    return str(path.parents[min(depth, len(path.parents) - 1)])


def placeless(thing: str | PurePath, homes: Mapping[str, Any]) -> str:
    """Return a text without the folder from which code was imported.

    Of an absolute path elsewhere only the last part counts, because a location does not affect a
    result.
    """
    text = str(thing)
    for home in homes:
        if text == home or text.startswith(home + os.sep):
            return f"{type(thing).__name__} below {text[len(home) :]!r}"
    if isinstance(thing, str):
        return f"str {text!r}"
    return f"path {thing.name if thing.is_absolute() else text!r}"
