"""The theories that ship with jaxtheory, and functions that find and load others.

A theory is imported with `from jaxtheory.theories import random_walk` or returned by
`theories.get("random_walk")`, which also finds theories of other installed packages.
`theories.load(path)` loads a theory from your own file.
"""

import importlib
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxtheory.core.theory import Theory
    from jaxtheory.theories import attention_pruning as attention_pruning
    from jaxtheory.theories import causal_graph as causal_graph
    from jaxtheory.theories import contextual_bigram as contextual_bigram
    from jaxtheory.theories import group_sparse as group_sparse
    from jaxtheory.theories import in_context_regression as in_context_regression
    from jaxtheory.theories import low_rank as low_rank
    from jaxtheory.theories import nearest_neighbor as nearest_neighbor
    from jaxtheory.theories import random_walk as random_walk
    from jaxtheory.theories import task_diversity as task_diversity

from jaxtheory.core import plugins


def names() -> tuple[str, ...]:
    """Return the names of the theories that ship with jaxtheory.

    Returns:
        The names, which `get` takes.

    Example:
        >>> import jaxtheory
        >>> jaxtheory.theories.names()[0]
        'random_walk'
    """
    return plugins.SHIPPED


def question(name: str) -> str:
    """Return the question that a theory asks, without importing the theory.

    Args:
        name: One of `names()`.

    Returns:
        The text up to the first question mark in the docstring of the theory.

    Example:
        >>> import jaxtheory
        >>> jaxtheory.theories.question("random_walk")[:26]
        'A walk on a circle: when d'
    """
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
    """Return a theory by name, from jaxtheory or from another installed package.

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
