"""Source files: a user's module, and what a file says of itself."""

import ast
import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from jaxtheory.core.errors import InputError, place

_beside: set[str] = set()  # modules that lie beside the file loaded last


def load(path: str | Path) -> ModuleType:
    """The module of a file, which may import modules that lie beside it; they are read anew with
    each file. Raises InputError when it is missing or cannot be executed.
    """
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
        with importing_from(file.resolve().parent):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        reason = " ".join((error.msg if isinstance(error, SyntaxError) else str(error)).split())
        kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        at = (
            f" ({file.name}, line {error.lineno})"
            if isinstance(error, SyntaxError)
            else place(error)
        )
        here = at.startswith(f" ({file.name}, ")
        where = f", {at[:-1].rpartition(', ')[2]}" if here else ""
        raise InputError(f"{file}{where}: {kind}{reason}{'' if here else at}") from error
    return module


@contextlib.contextmanager
def importing_from(folder: Path) -> Iterator[None]:
    """Within: modules of a folder can be imported; those of the folder before are forgotten."""
    for name in _beside:
        sys.modules.pop(name, None)
    _beside.clear()
    importlib.invalidate_caches()
    before = {*sys.modules}
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))
        _beside.update(name for name in {*sys.modules} - before if lies_in(folder, name))


def lies_in(folder: Path, name: str) -> bool:
    """Whether a module of a user's lies in a folder, alone or in a package."""
    top = name.partition(".")[0]
    home = getattr(sys.modules.get(name), "__file__", None) or ""
    beside = (folder / f"{top}.py", folder / top)
    return top != "jaxtheory" and any(path in (Path(home), *Path(home).parents) for path in beside)


def question(file: Path) -> str:
    """What a source asks or holds: the first sentence of its docstring, read without running it."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    first = " ".join(text.partition("\n\n")[0].split())
    asked, mark, _ = first.partition("?")
    return asked + mark
