"""Catalog of the figures that ship with jaxtheory.

Each file `sweeps/<theory>/<figure>.py` defines one FIGURE with the name of the file. Names and
questions are read from the files without running them. A figure is imported only by `get`.
"""

import functools
import importlib
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from jaxtheory.core import plugins
from jaxtheory.core.plugins import question_of_file
from jaxtheory.texts.errors import InputError, suggest

if TYPE_CHECKING:
    from jaxtheory.claims.figure import Figure

__all__ = ["Entry", "entries", "files", "folder", "get", "headlines", "seconds"]

# its name wherever it lies: in the wheel, or beside the package in a checkout
PACKAGE = "jaxtheory._sweeps"


class Entry(NamedTuple):
    """Entry of the catalog of figures.

    Args:
        name: The name of the figure.
        theory: The folder of the figure in `sweeps`: the name of its theory, "llama" or "networks".
        question: The question that the figure answers, from the docstring of its file.

    Example:
        >>> import jaxtheory
        >>> jaxtheory.figures.entries()["walk_phase"].theory
        'random_walk'
    """

    name: str
    theory: str
    question: str


def folder() -> Path:
    """Return the folder of the figures, in the installed package or in a checkout.

    Returns:
        The path, which has one folder per theory.

    Example:
        >>> import jaxtheory
        >>> (jaxtheory.figures.folder() / "random_walk").is_dir()
        True
    """
    root = Path(__file__).parents[1]
    return next(place for place in (root / "_sweeps", root.parent / "sweeps") if place.is_dir())


def files() -> dict[str, Path]:
    """Return the file of every figure that ships with jaxtheory.

    Returns:
        A mapping from the name of each figure to its path, sorted by path.

    Example:
        >>> import jaxtheory
        >>> jaxtheory.figures.files()["walk_phase"].name
        'walk_phase.py'
    """
    paths = sorted(folder().glob("*/*.py"))
    return {file.stem: file for file in paths if not file.stem.startswith("_")}


def entries() -> dict[str, Entry]:
    """Return the catalog of the figures that ship with jaxtheory, without importing them.

    Returns:
        A mapping from the name of each figure to its `Entry`, sorted by path.

    Example:
        >>> import jaxtheory
        >>> jaxtheory.figures.entries()["walk_phase"].question
        'For which K and p does attention select the parent, and which token else?'
    """
    return {
        name: Entry(name, file.parent.name, question_of_file(file))
        for name, file in files().items()
    }


def headlines() -> tuple[str, ...]:
    """Return the name of the main figure of each theory.

    Returns:
        One name per theory: the figure that a reader of its paper would ask for first.

    Example:
        >>> import jaxtheory
        >>> jaxtheory.figures.headlines()[0]
        'walk_circles'
    """
    names: tuple[str, ...] = _package().HEADLINES
    return names


@functools.cache
def _measured() -> dict[str, float]:
    seconds: dict[str, float] = json.loads((folder() / "seconds.json").read_text(encoding="utf-8"))
    return seconds


def seconds(name: str) -> float | None:
    """Return the approximate time of a figure, not in its quick form, on two CPU cores.

    Args:
        name: The name of a figure.

    Returns:
        The time in seconds from `sweeps/seconds.json`, or None if it was not measured.

    Example:
        >>> import jaxtheory
        >>> jaxtheory.figures.seconds("walk_phase") > 0
        True
    """
    return _measured().get(name)


def _package() -> ModuleType:
    """Return the package of the figures, which is loaded without JAX."""
    if PACKAGE not in sys.modules:
        place = folder()
        spec = importlib.util.spec_from_file_location(
            PACKAGE, place / "__init__.py", submodule_search_locations=[str(place)]
        )
        if spec is None or spec.loader is None:
            raise InputError(f"{place}: the figures cannot be read")
        package = importlib.util.module_from_spec(spec)
        sys.modules[PACKAGE] = package
        spec.loader.exec_module(package)
    return sys.modules[PACKAGE]


def get(name: str) -> "Figure":
    """Load a figure that ships with jaxtheory or with another installed package.

    Args:
        name: A key of `entries()`, or the name of an entry point of another package for figures.

    Returns:
        The figure.

    Raises:
        InputError: There is no figure of this name (the message names the closest one), or the
            figure of another package cannot be loaded.

    Example:
        >>> import jaxtheory
        >>> jaxtheory.figures.get("walk_phase").name
        'walk_phase'
    """
    known, entry_points = files(), plugins.offered(plugins.FIGURES)
    if name not in known:
        if name not in entry_points:
            raise InputError(f"unknown figure {name!r}; {suggest(name, [*known, *entry_points])}")
        figure: Figure = plugins.load_entry(entry_points[name])
        return figure
    _package()
    figure = importlib.import_module(f"{PACKAGE}.{known[name].parent.name}.{name}").FIGURE
    return figure


def __dir__() -> list[str]:
    return sorted(__all__)
