"""A task whose samples are drawn anew in each step."""

from typing import Any

from jaxtheory.core.task import Task
from jaxtheory.texts.errors import InputError


def fresh(task: Any) -> Task:
    """Return the task with samples that are drawn anew in each step of training.

    Args:
        task: A task that says how (`Task.fresh`), as those of the theories do.

    Returns:
        A task of the same name, whose `sample` is the `fresh` of the given one.

    Raises:
        InputError: `task` is not a task, or it has no `fresh`.

    Example:
        >>> import jaxtheory
        >>> task = jaxtheory.tasks.fresh(jaxtheory.tasks.random_walk)
        >>> jaxtheory.networks.transformer(task).name
        'random_walk_transformer'
    """
    if not isinstance(task, Task):
        raise InputError(f"task is a {type(task).__name__}, expected a jaxtheory.Task")
    if task.fresh is None:
        raise InputError(f"the task {task.name} does not say how to draw samples anew")
    return task._replace(sample=task.fresh)
