"""What other installed packages offer, by the entry-point groups `jaxtheory.theories` and
`jaxtheory.figures`:

    [project.entry-points."jaxtheory.theories"]
    my_theory = "my_package.my_theory:THEORY"

    [project.entry-points."jaxtheory.figures"]
    my_figure = "my_package.my_theory:FIGURE"
"""

import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from jaxtheory.core import files
from jaxtheory.core.errors import InputError

THEORIES, FIGURES = "jaxtheory.theories", "jaxtheory.figures"


def offered(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name, in the order of names; nothing is loaded."""
    return {entry.name: entry for entry in sorted(entry_points(group=group), key=lambda e: e.name)}


def package(entry: EntryPoint) -> str:
    """The distribution that offers an entry point."""
    return entry.dist.name if entry.dist else entry.module.partition(".")[0]


def load(entry: EntryPoint) -> Any:
    """The object of an entry point. Raises InputError where it cannot be loaded."""
    try:
        return entry.load()
    except Exception as error:  # whatever the other package does wrong
        reason = " ".join(str(error).split())
        message = f"{entry.name} of {package(entry)}: {type(error).__name__}: {reason}"
        raise InputError(message) from error


def question(entry: EntryPoint) -> str:
    """What its module asks, or in one line why it cannot be loaded."""
    try:
        load(entry)
    except InputError as error:
        return f"broken: {error}"
    return files.question(Path(str(sys.modules[entry.module].__file__)))
