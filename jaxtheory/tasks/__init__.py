"""Tasks: the data laws of the theories, each with its loss and its optimum.

A task is trained with a network of any kind by `jaxtheory.from_flax`. `tasks.random_walk` and so
on are the tasks of the theories, taken from their own data and laws; `tasks.given` makes one of
your own arrays.

    network = jaxtheory.networks.transformer(jaxtheory.tasks.random_walk)
"""

import importlib
from typing import TYPE_CHECKING, Any

from jaxtheory.texts.errors import InputError, suggest

if TYPE_CHECKING:
    from jaxtheory.core.task import Task
    from jaxtheory.tasks.anew import fresh as fresh
    from jaxtheory.tasks.own import given as given

    random_walk: Task
    attention_pruning: Task
    contextual_bigram: Task
    nearest_neighbor: Task
    group_sparse: Task
    low_rank: Task
    in_context_regression: Task
    causal_graph: Task
    task_diversity: Task
    factual_recall: Task

__all__ = [
    "attention_pruning",
    "causal_graph",
    "contextual_bigram",
    "factual_recall",
    "fresh",
    "get",
    "given",
    "group_sparse",
    "in_context_regression",
    "low_rank",
    "names",
    "nearest_neighbor",
    "random_walk",
    "task_diversity",
]

# The modules have other names than the tasks: an imported module would hide the task.
_MODULES = {
    "random_walk": "walks",
    "attention_pruning": "imitation",
    "contextual_bigram": "bigrams",
    "nearest_neighbor": "prompts",
    "group_sparse": "groups",
    "low_rank": "patterns",
    "in_context_regression": "regression",
    "causal_graph": "chains",
    "task_diversity": "diversity",
    "factual_recall": "facts",
}
_FUNCTIONS = {"fresh": "anew", "given": "own"}


def names() -> tuple[str, ...]:
    """Return the names of the tasks, which are those of the theories.

    Returns:
        The names, which `get` takes.

    Example:
        >>> import jaxtheory
        >>> jaxtheory.tasks.names()[0]
        'random_walk'
    """
    return tuple(_MODULES)


def get(name: str) -> "Task":
    """Return a task by name.

    Args:
        name: One of `names()`.

    Returns:
        The task.

    Raises:
        InputError: The name is unknown; the message names the closest one.

    Example:
        >>> import jaxtheory
        >>> jaxtheory.tasks.get("random_walk").name
        'random_walk'
    """
    if name not in _MODULES:
        raise InputError(f"unknown task {name!r}; {suggest(str(name), _MODULES)}")
    task: Task = importlib.import_module(f"jaxtheory.tasks.{_MODULES[name]}").TASK
    return task


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(f"jaxtheory.tasks.{_FUNCTIONS[name]}"), name)
    if name in _MODULES:
        return get(name)
    raise AttributeError(f"module 'jaxtheory.tasks' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
