"""Source files: a user's module, and what a file says of itself."""

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from jaxtheory.core.errors import InputError


def load(path: str | Path) -> ModuleType:
    """The module of a file. Raises InputError when it is missing or cannot be executed."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"{file}: no such file")
    name = f"jaxtheory_user_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InputError(f"{file}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        where = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        reason = " ".join(str(error).split())
        raise InputError(f"{file}{where}: {type(error).__name__}: {reason}") from error
    return module


def question(file: Path) -> str:
    """What a source asks or holds: the first sentence of its docstring, read without running it."""
    text = ast.get_docstring(ast.parse(file.read_text())) or ""
    first = " ".join(text.partition("\n\n")[0].split())
    asked, mark, _ = first.partition("?")
    return asked + mark
