"""What other installed packages offer, by the entry-point groups `jaxtheory.theories` and
`jaxtheory.figures`:

    [project.entry-points."jaxtheory.theories"]
    my_theory = "my_package.my_theory:THEORY"

    [project.entry-points."jaxtheory.figures"]
    my_figure = "my_package.my_theory:FIGURE"
"""

import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from jaxtheory.core import plugins
from jaxtheory.core.errors import InputError

THEORIES, FIGURES = "jaxtheory.theories", "jaxtheory.figures"
EXPECTED = {THEORIES: "Theory", FIGURES: "Figure"}  # by name: a figure's class is not core's


def offered(group: str) -> dict[str, Any]:
    """The entry points of a group by name, in the order of names; nothing is loaded. Where the
    package importlib_metadata has been imported they are of its class, of the same fields.
    """
    return {entry.name: entry for entry in sorted(entry_points(group=group), key=lambda e: e.name)}


def package(entry: Any) -> str:
    """The distribution that offers an entry point."""
    return entry.dist.name if entry.dist else entry.module.partition(".")[0]


def load(entry: Any) -> Any:
    """The object of an entry point. Raises InputError where it cannot be loaded, or is no Theory in
    the one group, no Figure in the other.
    """
    name = f"{entry.name} of {package(entry)}"
    try:
        found = entry.load()
    except (Exception, SystemExit) as error:  # whatever the other package does wrong
        reason = " ".join(str(error).split())
        raise InputError(f"{name}: {type(error).__name__}: {reason}") from error
    kind, want = type(found).__name__, EXPECTED[entry.group]
    if kind != want:
        raise InputError(f"{name}: {entry.value} is a {kind}, expected a jaxtheory.{want}")
    return found


def question(entry: Any) -> str:
    """What its module asks, or in one line why it cannot be loaded."""
    try:
        load(entry)
    except InputError as error:
        return f"broken: {error}"
    source = getattr(sys.modules[entry.module], "__file__", None) or ""
    return plugins.question(Path(source)) if source.endswith(".py") else ""
