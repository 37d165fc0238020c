"""The figures that ship with jaxtheory: `sweeps/<theory>/<figure>.py`, each with one FIGURE whose
name is the file's.

Names and questions are read from the files without running them; a figure is imported when it is
asked for.
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
from jaxtheory.core.errors import InputError, suggest
from jaxtheory.core.plugins import question_of_file

if TYPE_CHECKING:
    from jaxtheory.claims.figure import Figure

# its name wherever it lies: in the wheel, or beside the package in a checkout
PACKAGE = "jaxtheory._sweeps"


class Entry(NamedTuple):
    """A figure's place: its name, its theory's, and what it asks (the first line of the file's
    docstring).
    """

    name: str
    theory: str
    question: str


def folder() -> Path:
    """Where the figures lie."""
    here = Path(__file__).parents[1]
    return next(place for place in (here / "_sweeps", here.parent / "sweeps") if place.is_dir())


def files() -> dict[str, Path]:
    """The file of every figure by name, in the order of theories and files."""
    found = sorted(folder().glob("*/*.py"))
    return {file.stem: file for file in found if not file.stem.startswith("_")}


def entries() -> dict[str, Entry]:
    """Every figure by name, in the order of theories and files; nothing is imported."""
    return {
        name: Entry(name, file.parent.name, question_of_file(file))
        for name, file in files().items()
    }


def headlines() -> tuple[str, ...]:
    """The one figure of each theory that a reader of its paper would ask for first."""
    names: tuple[str, ...] = _package().HEADLINES
    return names


@functools.cache
def _measured() -> dict[str, float]:
    found: dict[str, float] = json.loads((folder() / "seconds.json").read_text(encoding="utf-8"))
    return found


def seconds(name: str) -> float | None:
    """About how long a figure of this package takes, whole, on two CPU cores; None where it was not
    measured (sweeps/seconds.json).
    """
    return _measured().get(name)


def _package() -> ModuleType:
    """The package of the figures; nothing of JAX is loaded."""
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
    """A figure by name, of this package or another that offers one; loads its file. Raises
    InputError with the closest name, or where another package's cannot be loaded.
    """
    known, others = files(), plugins.offered(plugins.FIGURES)
    if name not in known:
        if name not in others:
            raise InputError(f"unknown figure {name!r}; {suggest(name, [*known, *others])}")
        figure: Figure = plugins.load_entry(others[name])
        return figure
    _package()
    figure = importlib.import_module(f"{PACKAGE}.{known[name].parent.name}.{name}").FIGURE
    return figure
