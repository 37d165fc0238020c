"""The registry of theories: `names()` and `get(name)`; `load(path)` for a theory in a file of one's
own; those that other packages offer are found by `get`, too.
"""

import importlib
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from jaxtheory.core import plugins
from jaxtheory.core.errors import InputError, suggest

if TYPE_CHECKING:
    from jaxtheory.core.theory import Theory

_ROOMS = (
    "random_walk",
    "attention_pruning",
    "contextual_bigram",
    "nearest_neighbor",
    "group_sparse",
    "low_rank",
)


def names() -> tuple[str, ...]:
    """The theories that ship with jaxtheory."""
    return _ROOMS


def question(name: str) -> str:
    """What a theory asks, read without importing it."""
    return plugins.question_of_file(Path(__file__).parent / name / "__init__.py")


def load(path: str | Path) -> ModuleType:
    """The module of a user's file that defines THEORY, FIGURE, or both. Raises InputError when it
    is missing or cannot be executed.
    """
    return plugins.load_file(path)


def get(name: str) -> "Theory":
    """The theory of a name, of this package or another that offers one (`core.plugins`). Raises
    InputError with the closest name, or where another package's cannot be loaded.
    """
    if name in _ROOMS:
        theory: Theory = importlib.import_module(f"jaxtheory.theories.{name}").THEORY
        return theory
    others = plugins.offered(plugins.THEORIES)
    if name not in others:
        raise InputError(
            f"unknown theory {name!r}; {suggest(name, [*_ROOMS, *others])}, or give the path of a "
            "FILE.py that defines THEORY"
        )
    theory = plugins.load_entry(others[name])
    importlib.import_module("jaxtheory.core.contract").check_theory(theory)
    return theory
