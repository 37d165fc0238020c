"""The functions that an algorithm was made for, and a theory with other functions in their place.

An algorithm computes its own steps: it does not read the slots `loss` and `gradient`. Where such a
slot is replaced, the algorithm has to be rebuilt, or it would go on training what it was made for.
"""

import functools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from jaxtheory.core.errors import InputError, suggest

_OWN_LOSS = "original_"  # how a metric of the replaced loss is called
_OF_LOSS = re.compile("loss|gradient|hessian")
_LISTED = re.compile(
    r"(?m)^( *)(\w+(?:, \w+)*)(?=(?:: \w+(?:, \w+)*)? {2,}\S)"
)  # rows of docstrings
DESCENT = "jaxtheory.from_optax(theory, lambda config: optax.sgd(config.learning_rate))"


class Origin(NamedTuple):
    """The functions of the theory that an algorithm was made for; `loss` is the one whose gradient
    `gradient` is.
    """

    problem: Callable
    sample: Callable
    init: Callable
    loss: Callable
    gradient: Callable


def same(one: Any, other: Any) -> bool:
    """True if two slots hold the same function. Bound methods are compared by value, because each
    access makes a new one.
    """
    return one is other or bool(one == other)


def replaced_slots(theory: Any, algorithm: Any) -> list[str]:
    """The slots that were replaced after the algorithm was made, among those that it does not read
    from the theory: loss, gradient and init, and sample where it has its own.
    """
    if algorithm.origin is None:
        return []
    slots = ["loss", "gradient", "init", *["sample"] * (algorithm.sample is not None)]
    old = algorithm.origin
    return [slot for slot in slots if not same(getattr(old, slot), getattr(theory, slot))]


def loss_of_gradient(theory: Any) -> Callable:
    """The loss whose gradient the slot `gradient` holds, as far as the algorithms know: that of the
    slot `loss`, unless one was made for this gradient and another loss.
    """
    slots: Any = theory.algorithms if isinstance(theory.algorithms, dict) else {}
    origins = [x.origin for x in slots.values() if getattr(x, "origin", None) is not None]
    own = [origin.loss for origin in origins if same(origin.gradient, theory.gradient)]
    loss: Callable = own[0] if own else theory.loss
    return loss


def replace(theory: Any, slots: dict[str, Any]) -> Any:
    """`Theory.replace`: the theory with other slots, its algorithms rebuilt for them or dropped."""
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
    kept: dict[str, Any] = {slot: theory._field_defaults[slot] for slot in _SPOKEN}
    if not same(slots.get("loss", theory.loss), theory.derived) and "metrics" not in slots:
        kept |= _renamed(theory)
    new = theory._replace(**kept | slots)
    if "gradient" in slots:
        new.derived = new.loss
    return _with_algorithms(new, changed)


_SPOKEN = ("checks", "predict", "assumptions")  # slots that speak of the functions replaced


def _with_algorithms(theory: Any, changed: list[str]) -> Any:
    """The theory with each algorithm that was made for other functions rebuilt, or dropped. Raises
    InputError where none is left.
    """
    if not isinstance(theory.algorithms, dict):
        return theory  # `check_theory` says so
    origin = Origin(*(getattr(theory, slot) for slot in Origin._fields))
    found = {name: _rebuilt(theory, each, origin) for name, each in theory.algorithms.items()}
    algorithms = {name: each for name, each in found.items() if each is not None}
    names = " and ".join(changed)
    if theory.algorithms and not algorithms:
        raise InputError(
            f"{theory.name}.replace: none of its algorithms ({', '.join(found)}) can be rebuilt "
            f"for another {names}; give one that can, as in theory.replace({changed[0]}=..., "
            f'algorithms={{"sgd": {DESCENT}}})'
        )
    new = theory._replace(algorithms=algorithms)
    why = f"it was made for another {names} and cannot be rebuilt"
    new.dropped = {**theory.dropped, **dict.fromkeys(found.keys() - algorithms.keys(), why)}
    return new


def _rebuilt(theory: Any, algorithm: Any, origin: Origin) -> Any:
    """An algorithm for the theory's functions: itself where it reads what was replaced from the
    theory, else made anew; None where it cannot be.
    """
    slots = replaced_slots(theory, algorithm)
    if not slots:
        return algorithm
    new = algorithm.again(algorithm.origin, origin) if algorithm.again is not None else None
    if new is None and slots == ["init"] and same(algorithm.init, algorithm.origin.init):
        new = algorithm._replace(init=theory.init)
    return None if new is None or "sample" in slots else new.made_for(origin)


# Metrics of the loss that was replaced


def _renamed(theory: Any) -> dict[str, Any]:
    """Metrics, analyses, baselines and dims in which what speaks of the loss is called original: it
    is computed from the loss that was replaced.
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
    """The name of a metric of the replaced loss; other names stay."""
    old = isinstance(name, str) and _OF_LOSS.search(name) and not name.startswith(_OWN_LOSS)
    return _OWN_LOSS + name if old else name


def _naming(function: Callable) -> Callable:
    """A function of a dictionary by name, with names that speak of the loss called original."""

    @functools.wraps(function)
    def named(*args: Any) -> Any:
        found = function(*args)
        return {_original(n): x for n, x in found.items()} if isinstance(found, dict) else found

    def row(match: re.Match) -> str:
        return match[1] + ", ".join(map(_original, match[2].split(", ")))

    named.__doc__ = _LISTED.sub(row, function.__doc__ or "") or None
    return named
