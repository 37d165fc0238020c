"""A task: a data law with its inputs, its loss and its optimum, independent of any model.

`jaxtheory.from_flax` makes a theory of a task and a network.
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxtheory.core.check_theory import signature_fault
from jaxtheory.core.config import Config
from jaxtheory.texts.errors import InputError, checks_slots

_SLOTS = {
    "problem": "key config",
    "sample": "key problem config",
    "inputs": "batch problem config",
    "loss": "outputs batch problem config",
    "outputs": "config",
    "vocabulary": "config",
    "metrics": "outputs maps problem config",
    "optimal": "problem config",
    "fresh": "key problem config",
    "edges": "batch problem config",
    "optimal_without": "information problem config",
}
_OPTIONAL = ("fresh", "edges", "optimal_without")


def _no_vocabulary(_config: Any) -> None:
    """Slot `vocabulary` of a task whose inputs are vectors."""


def _no_metrics(_outputs: Any, _maps: Any, _problem: Any, _config: Any) -> dict:
    """Slot `metrics` of a task that measures its loss only."""
    return {}


def _no_optimum(_problem: Any, _config: Any) -> dict:
    """Slot `optimal` of a task whose best values are not known."""
    return {}


class _Slots(NamedTuple):
    """Slots of a task."""

    name: str
    Config: type
    problem: Callable
    sample: Callable
    inputs: Callable
    loss: Callable
    outputs: Callable
    vocabulary: Callable = _no_vocabulary
    metrics: Callable = _no_metrics
    optimal: Callable = _no_optimum
    dims: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  (an immutable default of a NamedTuple)
    fresh: Callable | None = None
    edges: Callable | None = None
    optimal_without: Callable | None = None


@checks_slots
class Task(_Slots):
    """A data law with its inputs and its loss, which any network can be trained on.

    An unused argument of a slot may have an underscore before its name.

    Args:
        name: The name of the task.
        Config: The subclass of `jaxtheory.Config` with the fields of the data law.
        problem: problem(key, config) returns what is drawn once per run, a pytree of arrays. If it
            has a field `test`, a batch, the metric `loss` is the loss on it, unless `metrics`
            returns another.
        sample: sample(key, problem, config) returns a batch.
        inputs: inputs(batch, problem, config) returns what the network sees: integers [B, L] that
            are token ids, or floats [B, L, d].
        loss: loss(outputs, batch, problem, config) returns a number, for outputs [B, L, n] of a
            network.
        outputs: outputs(config) returns n, the number of outputs at each position.
        vocabulary: vocabulary(config) returns the number of token ids, or None if the inputs are
            vectors.
        metrics: metrics(outputs, maps, problem, config) returns arrays by name. outputs(batch)
            gives the outputs of the network on a batch, and maps(batch) its attention maps
            [layer, B, head, query, key], or None if it keeps none.
        optimal: optimal(problem, config) returns the best possible values of metrics by name, which
            are drawn beside the measured ones.
        fresh: fresh(key, problem, config) returns a batch of the same law, drawn anew, for training
            without a fixed set of samples (`jaxtheory.tasks.fresh`).
        edges: edges(batch, problem, config) returns True, [B, query, key], where the mechanism of
            the theorem reads a key: what `jaxtheory.networks.cut_edges` cuts.
        optimal_without: optimal_without(information, problem, config) returns the best possible
            loss of answers that know nothing of the "prompt", or all but what the "tokens" of
            `edges` tell.
        dims: A mapping from metrics to the names of their dimensions.

    Raises:
        InputError: A slot is of the wrong type, or a function has other arguments; the message has
            a line for each.

    Example:
        >>> import jax, jax.numpy as jnp, jaxtheory
        >>> class Config(jaxtheory.Config):
        ...     noise: float = jaxtheory.traced(0.1, "sigma", "noise of the targets", "[0, inf)")
        >>> def sample(key, problem, config):
        ...     x = jax.random.normal(key, (8, 1, 3))
        ...     return x, x[:, :, 0] + config.noise
        >>> def loss(outputs, batch, problem, config):
        ...     return jnp.mean((outputs[:, :, 0] - batch[1]) ** 2)
        >>> task = jaxtheory.Task(
        ...     "first_entry", Config, problem=lambda key, config: (), sample=sample,
        ...     inputs=lambda batch, problem, config: batch[0], loss=loss,
        ...     outputs=lambda config: 1)
        >>> task.name, task.vocabulary(Config())
        ('first_entry', None)
    """

    if not TYPE_CHECKING:

        @functools.wraps(_Slots.__new__)
        def __new__(cls, *slots: Any, **named: Any) -> "Task":
            task = super().__new__(cls, *slots, **named)
            _check(task)
            return task

        @classmethod
        def _make(cls, slots: Any) -> "Task":
            return cls(*slots)


def _check(task: Task) -> None:
    """Raise InputError if a slot is of the wrong type or has the wrong arguments."""
    name, faults = task.name, list[str | None]()
    if not isinstance(name, str) or not name:
        raise InputError(f"name = {name!r}: the name of a task must be a non-empty string")
    if not (isinstance(task.Config, type) and issubclass(task.Config, Config)):
        faults.append(f"{name}.Config = {task.Config!r}: must be a subclass of jaxtheory.Config")
    faults += [
        signature_fault(f"{name}.{slot}", getattr(task, slot), want)
        for slot, want in _SLOTS.items()
        if slot not in _OPTIONAL or getattr(task, slot) is not None
    ]
    of_names = lambda dim: isinstance(dim, tuple) and all(isinstance(x, str) for x in dim)
    if not isinstance(task.dims, dict) or not all(map(of_names, task.dims.values())):
        faults.append(
            f"{name}.dims = {task.dims!r}: must map metrics to tuples of names, such as "
            "{'attention': ('lag',)}"
        )
    if messages := [fault for fault in faults if fault]:
        raise InputError("\n".join(messages))
