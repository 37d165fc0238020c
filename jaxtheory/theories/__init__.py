"""The theories: `from jaxtheory.theories import random_walk`, or `theories.get("random_walk")`;
`load(path)` for a theory in a file of your own. `get` also finds those of installed packages.
"""

import importlib
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxtheory.core.theory import Theory
    from jaxtheory.theories import attention_pruning as attention_pruning
    from jaxtheory.theories import contextual_bigram as contextual_bigram
    from jaxtheory.theories import group_sparse as group_sparse
    from jaxtheory.theories import low_rank as low_rank
    from jaxtheory.theories import nearest_neighbor as nearest_neighbor
    from jaxtheory.theories import random_walk as random_walk

from jaxtheory.core import plugins


def names() -> tuple[str, ...]:
    """The names of the theories that ship with jaxtheory."""
    return plugins.SHIPPED


def question(name: str) -> str:
    """The question that a theory asks, read without importing it."""
    return plugins.question_of_file(Path(__file__).parent / name / "__init__.py")


def load(path: str | Path) -> ModuleType:
    """Load the module of a Python file that defines THEORY, FIGURE, or both.

    Args:
        path: The path of the file. It may import modules that lie beside it, which are read anew.

    Returns:
        The module.

    Raises:
        InputError: The file is missing or cannot be executed.

    Example:
        >>> import jaxtheory
        >>> mine = jaxtheory.theories.load("docs/examples/linear_regression.py")
        >>> mine.THEORY.name
        'linear_regression'
    """
    return plugins.load_file(path)


def get(name: str) -> "Theory":
    """Return the theory of a name, which ships with jaxtheory or with another installed package.

    Args:
        name: One of `names()`, or the name of an entry point of the group "jaxtheory.theories".

    Returns:
        The theory.

    Raises:
        InputError: There is no theory of this name (the message names the closest one), or the
            other package cannot be loaded.

    Example:
        >>> import jaxtheory
        >>> jaxtheory.theories.get("random_walk").name
        'random_walk'
    """
    resolve = importlib.import_module("jaxtheory.core.resolve")  # with JAX
    theory: Theory = resolve.named_theory(name)
    return theory


def __getattr__(name: str) -> Any:
    if name in plugins.SHIPPED:
        return importlib.import_module(f"jaxtheory.theories.{name}")
    raise AttributeError(f"module 'jaxtheory.theories' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*plugins.SHIPPED, "get", "load", "names", "question"])
