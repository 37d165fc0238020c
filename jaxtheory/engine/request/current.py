"""Refuse algorithms that were made for a function which their theory no longer has."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from jaxtheory.code.code_hash import functions
from jaxtheory.core.replaced import DESCENT, replaced_slots, same
from jaxtheory.core.theory import Algorithm, Theory
from jaxtheory.texts.errors import InputError

_DOES = {
    "loss": "trains another loss than the theory's, which was replaced",
    "gradient": "trains along another gradient than the theory's, which was replaced",
    "init": "starts from another init than the theory's, which was replaced",
    "sample": "draws batches by another sample than the theory's, which was replaced",
    "problem": "draws another problem than the theory's, which was replaced",
}

_NAMES = ("__module__", "__qualname__")


class Fault(NamedTuple):
    """A replaced slot, and a sentence that names the algorithm and the remedy."""

    slot: str
    words: str


def find_fault(theory: Theory, names: Iterable[str]) -> Fault | None:
    """Return the first fault of these algorithms, or None.

    A fault is an algorithm that was made for another function than that of the theory, or a loss
    that was replaced without its gradient.
    """
    if not same(theory.derived, theory.loss):
        return Fault(
            "loss",
            f"{theory.name}: the loss was replaced and the gradient is still that of the old loss; "
            "use theory.replace(loss=...), which differentiates the new loss, or "
            "theory.replace(loss=..., gradient=...)",
        )
    for name in names:
        algorithm = theory.algorithms[name]
        slots = replaced_slots(theory, algorithm) or _drawn(theory, algorithm)
        if slots and (home := _reloaded(getattr(algorithm.origin, slots[0]), theory, slots[0])):
            return Fault(
                slots[0],
                f"{theory.name}: {home} was loaded again, and the algorithm {name!r} is of the "
                "earlier one; make it again",
            )
        if slots:
            return Fault(
                slots[0],
                f"{theory.name}: the algorithm {name!r} {_DOES[slots[0]]} after the algorithm was "
                f"made; use theory.replace({', '.join(f'{slot}=...' for slot in slots)}) in place "
                "of theory._replace, or make the algorithm again for the new theory, as by "
                f"{DESCENT}",
            )
    return None


def _reloaded(old: Any, theory: Theory, slot: str) -> str:
    """Return the module of a function that is defined there again under its name, or ""."""
    names = [[getattr(f, n, n) for n in _NAMES] for f in (old, getattr(theory, slot))]
    (home, name), replacement = names
    again = names[0] == replacement and "<" not in name and home != "__main__"
    return str(home) if again else ""


def _drawn(theory: Theory, algorithm: Algorithm) -> list[str]:
    """Those of `problem` and `sample` that were replaced while the algorithm calls the old one."""
    old: Any = algorithm.origin
    if old is None:  # it was added to the dictionary of an existing theory
        return []
    changed = [s for s in ("problem", "sample") if not same(getattr(old, s), getattr(theory, s))]
    inside = functions(tuple(algorithm)) if changed else []
    return [slot for slot in changed if any(getattr(old, slot) is function for function in inside)]


def require_current(theory: Theory, names: Iterable[str]) -> None:
    """Raise InputError if one of these algorithms was made for other functions than the theory's.

    The functions are its loss, gradient, init, sample and problem.
    """
    if fault := find_fault(theory, names):
        raise InputError(fault.words)
