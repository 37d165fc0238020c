"""Theories and figures from outside: files of a user, and entry points of installed packages.

[project.entry-points."jaxtheory.theories"]
my_theory = "my_package.my_theory:THEORY"

[project.entry-points."jaxtheory.figures"]
my_figure = "my_package.my_theory:FIGURE"
"""

import ast
import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from jaxtheory.core.errors import InputError, place

THEORIES, FIGURES = "jaxtheory.theories", "jaxtheory.figures"
SHIPPED = (  # packages of jaxtheory.theories
    "random_walk",
    "attention_pruning",
    "contextual_bigram",
    "nearest_neighbor",
    "group_sparse",
    "low_rank",
)
_EXPECTED = {THEORIES: "Theory", FIGURES: "Figure"}  # by name: a figure's class is not core's
_beside: set[str] = set()  # modules that lie beside the file loaded last


def load_file(path: str | Path) -> ModuleType:
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
        with _importing_from(file.resolve().parent):
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
def _importing_from(folder: Path) -> Iterator[None]:
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
        _beside.update(name for name in {*sys.modules} - before if _lies_in(folder, name))


def _lies_in(folder: Path, name: str) -> bool:
    """Whether a module of a user's lies in a folder, alone or in a package."""
    top = name.partition(".")[0]
    home = getattr(sys.modules.get(name), "__file__", None) or ""
    beside = (folder / f"{top}.py", folder / top)
    return top != "jaxtheory" and any(path in (Path(home), *Path(home).parents) for path in beside)


def question_of_file(file: Path) -> str:
    """What a source asks or holds: the first sentence of its docstring, read without running it."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    first = " ".join(text.partition("\n\n")[0].split())
    asked, mark, _ = first.partition("?")
    return asked + mark


# Entry points


def offered(group: str) -> dict[str, Any]:
    """The entry points of a group by name, in the order of names; nothing is loaded. Where the
    package importlib_metadata has been imported they are of its class, of the same fields.
    """
    return {entry.name: entry for entry in sorted(entry_points(group=group), key=lambda e: e.name)}


def package(entry: Any) -> str:
    """The distribution that offers an entry point."""
    return entry.dist.name if entry.dist else entry.module.partition(".")[0]


def load_entry(entry: Any) -> Any:
    """The object of an entry point. Raises InputError where it cannot be loaded, or is no Theory in
    the one group, no Figure in the other.
    """
    name = f"{entry.name} of {package(entry)}"
    try:
        found = entry.load()
    except (Exception, SystemExit) as error:  # whatever the other package does wrong
        reason = " ".join(str(error).split())
        raise InputError(f"{name}: {type(error).__name__}: {reason}") from error
    kind, want = type(found).__name__, _EXPECTED[entry.group]
    if kind != want:
        raise InputError(f"{name}: {entry.value} is a {kind}, expected a jaxtheory.{want}")
    return found


def question_of_entry(entry: Any) -> str:
    """What its module asks, or in one line why it cannot be loaded."""
    try:
        load_entry(entry)
    except InputError as error:
        return f"broken: {error}"
    source = getattr(sys.modules[entry.module], "__file__", None) or ""
    return question_of_file(Path(source)) if source.endswith(".py") else ""
