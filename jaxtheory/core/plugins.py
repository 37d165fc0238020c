"""Theories and figures of users, from files and from entry points of installed packages.

[project.entry-points."jaxtheory.theories"]
my_theory = "my_package.my_theory:THEORY"

[project.entry-points."jaxtheory.figures"]
my_figure = "my_package.my_theory:FIGURE"
"""

import ast
import contextlib
import hashlib
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import weakref
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from jaxtheory.texts.errors import InputError, line, place

THEORIES, FIGURES = "jaxtheory.theories", "jaxtheory.figures"
SHIPPED = (  # packages of jaxtheory.theories
    "random_walk",
    "attention_pruning",
    "contextual_bigram",
    "nearest_neighbor",
    "group_sparse",
    "low_rank",
    "in_context_regression",
    "causal_graph",
    "task_diversity",
    "factual_recall",
    "positional_semantic",
)
_EXPECTED = {
    THEORIES: "Theory",
    FIGURES: "Figure",
}  # class names: core has no Figure
_texts: dict[int, tuple[Path, bytes]] = {}  # the path and text of the file loaded last
# for each module of a file: its path, and the SHA-256 of its contents when it was executed
_files: weakref.WeakKeyDictionary[ModuleType, dict[str, str]] = weakref.WeakKeyDictionary()
_siblings: set[str] = set()  # modules in the folder of the file that was loaded last


def load_file(path: str | Path) -> ModuleType:
    """Execute a file and return its module.

    It may import modules in its folder, which are read again with each file. Raises InputError if
    the file is missing or cannot be executed.
    """
    file = Path(path)
    text = _text_of(file)
    name = f"jaxtheory_user_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InputError(f"{file}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module
    try:
        with _importing_from(file.resolve().parent):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        reason = " ".join((error.msg if isinstance(error, SyntaxError) else str(error)).split())
        kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        at = (
            f" ({file.name}, line {error.lineno})"
            if isinstance(error, SyntaxError) and error.lineno
            else place(error)
        )
        is_local = at.startswith(f" ({file.name}, ")
        where = f", {at[:-1].rpartition(', ')[2]}" if is_local else ""
        raise InputError(f"{file}{where}: {kind}{reason}{'' if is_local else at}") from error
    _texts.clear()
    _texts[id(module)] = file.resolve(), text
    _files[module] = {"file": str(file.resolve()), "sha256": hashlib.sha256(text).hexdigest()}
    return module


def files() -> list[tuple[ModuleType, dict[str, str]]]:
    """Return the modules that `load_file` has returned and that are still in use, the latest first.

    Each has the path of its file as `file` and the SHA-256 of its contents as `sha256`.
    """
    return [*_files.items()][::-1]


def file_here(name: str) -> str:
    """Return a hint if a Python file or a package has this name, else ""."""
    if os.path.isfile(f"{name}.py"):
        return f"did you mean {name}.py, a file?"
    if os.path.isfile(file := os.path.join(name, "__init__.py")):
        return f"did you mean {file}? A package is known by its name once it is installed"
    return ""


def _text_of(file: Path) -> bytes:
    """Return the contents of a file. Raises InputError if it is not a regular file to be read."""
    try:
        if not file.is_file():  # a pipe would never end
            why = "no such file" if not file.exists() else "is not a regular file"
            raise InputError(f"{file}: {why}")
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or line(error)}") from None


def loaded_file(path: str | Path) -> ModuleType:
    """Return the module of a file.

    It is the module that is loaded if neither it nor the modules of its folder can have changed,
    so that its classes are the same; otherwise a new one.
    """
    file = Path(path)
    module = sys.modules.get(f"jaxtheory_user_{file.stem}")
    home, text = _texts.get(id(module), (None, b""))
    if module is None or _siblings or home != file.resolve() or _text_of(file) != text:
        return load_file(path)
    return module


@contextlib.contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    """Let modules of a folder be imported within the block; forget those of the previous folder."""
    for name in _siblings:
        sys.modules.pop(name, None)
    _siblings.clear()
    importlib.invalidate_caches()
    before = {*sys.modules}
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))
        _siblings.update(name for name in {*sys.modules} - before if _lies_in(folder, name))


def _lies_in(folder: Path, name: str) -> bool:
    """True if a module of a user is in a folder, alone or in a package."""
    top = name.partition(".")[0]
    home = getattr(sys.modules.get(name), "__file__", None) or ""
    locations = (folder / f"{top}.py", folder / top)
    return top != "jaxtheory" and any(
        path in (Path(home), *Path(home).parents) for path in locations
    )


def question_of_file(file: Path) -> str:
    """Return the first paragraph of a file's docstring up to a "?", without running the file."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    first = " ".join(text.partition("\n\n")[0].split())
    question, mark, _ = first.partition("?")
    return question + mark


# Entry points


def offered(group: str) -> dict[str, Any]:
    """Return the entry points of a group by name, sorted and not loaded.

    If the package importlib_metadata has been imported, they are instances of its class, which has
    the same fields.
    """
    return {entry.name: entry for entry in sorted(entry_points(group=group), key=lambda e: e.name)}


def package(entry: Any) -> str:
    """Return the name of the distribution that offers an entry point."""
    return entry.dist.name if entry.dist else entry.module.partition(".")[0]


def load_entry(entry: Any) -> Any:
    """Load the object of an entry point.

    Raises InputError if it cannot be loaded, or is not a Theory or a Figure as its group demands.
    """
    name = f"{entry.name} of {package(entry)}"
    try:
        thing = entry.load()
    except (Exception, SystemExit) as error:  # the code of another package may raise anything
        reason = " ".join(str(error).split())
        raise InputError(f"{name}: {type(error).__name__}: {reason}") from error
    kind, want = type(thing).__name__, _EXPECTED[entry.group]
    if kind != want:
        raise InputError(f"{name}: {entry.value} is a {kind}, expected a jaxtheory.{want}")
    return thing


def question_of_entry(entry: Any) -> str:
    """Return the question of an entry point's module, or why its file cannot be read.

    The file is read and not run, since packages may offer many figures that take long to import.
    """
    try:
        source = file_of_entry(entry)
        return question_of_file(source) if source is not None else ""
    except (ImportError, OSError, SyntaxError, ValueError) as error:
        reason = " ".join(str(error).split())
        return f"broken: {entry.name} of {package(entry)}: {type(error).__name__}: {reason}"


def file_of_entry(entry: Any) -> Path | None:
    """Return the file of an entry point's module, or None if it is not a Python file.

    It is found without importing the packages around it. Raises ModuleNotFoundError if the module
    is missing.
    """
    module = entry.module
    top, *inner = module.split(".")
    name, spec = top, importlib.util.find_spec(top)
    for part in inner:
        if spec is None or spec.submodule_search_locations is None:
            break
        name = f"{name}.{part}"
        spec = importlib.machinery.PathFinder.find_spec(name, spec.submodule_search_locations)
    if spec is None or name != module:
        raise ModuleNotFoundError(f"No module named {module!r}")
    file = Path(spec.origin or "")
    return file if file.suffix == ".py" and file.is_file() else None
