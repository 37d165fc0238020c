"""Replacement of the functions of a theory, with its algorithms rebuilt for them.

An algorithm computes its own steps and does not read the slots `loss` and `gradient`. If such a
slot is replaced, the algorithm must be rebuilt, or it would continue to train the old function.
"""

import functools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from jaxtheory.texts.errors import InputError, suggest

_OWN_LOSS = "original_"  # prefix of the metrics of a replaced loss
_OF_LOSS = re.compile("loss|gradient|hessian")
_LISTED = re.compile(
    r"(?m)^( *)(\w+(?:, \w+)*)(?=(?:: \w+(?:, \w+)*)? {2,}\S)"
)  # rows of docstrings
DESCENT = "jaxtheory.from_optax(theory, lambda config: optax.sgd(config.learning_rate))"


class Origin(NamedTuple):
    """Functions of the theory that an algorithm was made for; `gradient` is that of `loss`."""

    problem: Callable
    sample: Callable
    init: Callable
    loss: Callable
    gradient: Callable


def same(one: Any, other: Any) -> bool:
    """True if two slots have the same function.

    Bound methods are compared by value, because each access makes a new one.
    """
    return one is other or bool(one == other)


def replaced_slots(theory: Any, algorithm: Any) -> list[str]:
    """Return the slots that were replaced after the algorithm was made and that it does not read.

    It never reads loss, gradient and init from the theory, and sample only if it has none itself.
    """
    if algorithm.origin is None:
        return []
    slots = ["loss", "gradient", "init", *["sample"] * (algorithm.sample is not None)]
    old = algorithm.origin
    return [slot for slot in slots if not same(getattr(old, slot), getattr(theory, slot))]


def loss_of_gradient(theory: Any) -> Callable:
    """Return the loss whose gradient is in the slot `gradient`, as far as the algorithms know.

    This is the slot `loss`, unless an algorithm was made for this gradient and another loss.
    """
    slots: Any = theory.algorithms if isinstance(theory.algorithms, dict) else {}
    origins = [x.origin for x in slots.values() if getattr(x, "origin", None) is not None]
    losses = [origin.loss for origin in origins if same(origin.gradient, theory.gradient)]
    loss: Callable = losses[0] if losses else theory.loss
    return loss


def replace(theory: Any, slots: dict[str, Any]) -> Any:
    """Return the theory with other slots and its algorithms rebuilt or dropped."""
    if unknown := sorted(slots.keys() - {*theory._fields}):
        raise InputError(
            f"{theory.name}.replace: a theory has no slot {unknown[0]!r}; "
            f"{suggest(unknown[0], theory._fields)}"
        )
    for slot in Origin._fields:
        if slot in slots and not callable(slots[slot]):
            raise InputError(
                f"{theory.name}.replace: {slot} is a {type(slots[slot]).__name__}, expected a "
                "function"
            )
    if "loss" in slots and "gradient" not in slots:
        slots = {**slots, "gradient": jax.grad(slots["loss"])}
    changed = [s for s in Origin._fields if s in slots and not same(slots[s], getattr(theory, s))]
    if not changed:
        return theory._replace(**slots)
    reset: dict[str, Any] = {slot: theory._field_defaults[slot] for slot in _DESCRIPTIVE}
    if not same(slots.get("loss", theory.loss), theory.derived) and "metrics" not in slots:
        reset |= _renamed(theory)
    new = theory._replace(**reset | slots)
    if "gradient" in slots:
        new.derived = new.loss
    return _with_algorithms(new, changed)


_DESCRIPTIVE = ("checks", "predict", "assumptions")  # slots that describe the replaced functions


def _with_algorithms(theory: Any, changed: list[str]) -> Any:
    """Return the theory with each algorithm that was made for other functions rebuilt or dropped.

    Raises InputError if none is left.
    """
    if not isinstance(theory.algorithms, dict):
        return theory  # `check_theory` reports it
    origin = Origin(*(getattr(theory, slot) for slot in Origin._fields))
    rebuilt = {
        name: _rebuilt(theory, algorithm, origin) for name, algorithm in theory.algorithms.items()
    }
    algorithms = {name: algorithm for name, algorithm in rebuilt.items() if algorithm is not None}
    names = " and ".join(changed)
    if theory.algorithms and not algorithms:
        raise InputError(
            f"{theory.name}.replace: none of its algorithms ({', '.join(rebuilt)}) can be rebuilt "
            f"for another {names}; pass one that can, as in theory.replace({changed[0]}=..., "
            f'algorithms={{"sgd": {DESCENT}}})'
        )
    new = theory._replace(algorithms=algorithms)
    why = f"it was made for another {names} and cannot be rebuilt"
    new.dropped = {**theory.dropped, **dict.fromkeys(rebuilt.keys() - algorithms.keys(), why)}
    return new


def _rebuilt(theory: Any, algorithm: Any, origin: Origin) -> Any:
    """Return an algorithm for the functions of the theory, or None if it cannot be rebuilt.

    It is returned unchanged if it reads what was replaced from the theory.
    """
    slots = replaced_slots(theory, algorithm)
    if not slots:
        return algorithm
    new = algorithm.again(algorithm.origin, origin) if algorithm.again is not None else None
    if new is None and slots == ["init"] and same(algorithm.init, algorithm.origin.init):
        new = algorithm._replace(init=theory.init)
    return None if new is None or "sample" in slots else new.made_for(origin)


# Metrics of the replaced loss


def _renamed(theory: Any) -> dict[str, Any]:
    """Return metrics, analyses, baselines and dims with the names of the loss marked as original.

    These quantities are still computed from the loss that was replaced.
    """
    slots: dict[str, Any] = {
        slot: _naming(getattr(theory, slot))
        for slot in ("metrics", "analyses", "baselines")
        if callable(getattr(theory, slot))
    }
    if isinstance(theory.dims, dict):
        slots["dims"] = {_original(name): dims for name, dims in theory.dims.items()}
    return slots


def _original(name: Any) -> Any:
    """Return the new name of a metric of the replaced loss, and other names unchanged."""
    old = isinstance(name, str) and _OF_LOSS.search(name) and not name.startswith(_OWN_LOSS)
    return _OWN_LOSS + name if old else name


def _naming(function: Callable) -> Callable:
    """Return a function whose dictionary has the names of the loss marked as original."""

    @functools.wraps(function)
    def named(*args: Any) -> Any:
        arrays = function(*args)
        return {_original(n): x for n, x in arrays.items()} if isinstance(arrays, dict) else arrays

    def row(match: re.Match) -> str:
        return match[1] + ", ".join(map(_original, match[2].split(", ")))

    named.__doc__ = _LISTED.sub(row, function.__doc__ or "") or None
    return named
