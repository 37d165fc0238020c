"""Config fields without effect, such as one in whose place a constant is left.

A sweep along such a field would return equal curves.
"""

import inspect
from typing import NamedTuple

from jaxtheory.core.config import Config, fields
from jaxtheory.core.theory import Theory
from jaxtheory.engine.request.dependence import trains, unread
from jaxtheory.engine.request.settings import numerics

# whose configs have fields that only some networks, or some of a theory's functions, read
_LENT = ("jaxtheory.core.", "jaxtheory.theories.", "jaxtheory.tasks.", "jaxtheory.networks.")


class IdleField(NamedTuple):
    """A field in words; with a hint if it is a fault, and not only worth a look."""

    words: str
    hint: str


def find_idle_fields(theory: Theory) -> list[IdleField]:
    """List the fields of a theory's own Config that have no effect, or not that of their kind.

    Fields that Config inherits from a theory or a task of jaxtheory do not count.
    """
    table, own = fields(theory.Config), _own_fields(theory.Config)
    silent, untrained, algorithms = set(own), set(own), list(theory.algorithms)
    with numerics("float64"):
        for example in theory.examples if own else ():
            silent &= {*unread(theory, example, sorted(silent), algorithms)}
            untrained &= {*unread(theory, example, sorted(untrained), algorithms, trains)}
    rows = []
    for name in own:
        kind, symbol = table[name].kind, table[name].symbol
        label = name if symbol == name else f"{name} ({symbol})"
        if name in silent:
            words, hint = "no slot depends on it", "was a constant left in its place?"
        elif kind == "evaluation" and name not in untrained:
            words, hint = "training depends on it", "declare it with jaxtheory.traced"
        elif kind == "traced" and name in untrained:
            words, hint = "training does not depend on it", ""
        else:
            continue
        rows.append(IdleField(f"{label}: {words}", hint))
    return rows


def _own_fields(config_type: type[Config]) -> list[str]:
    """Return the fields that a class of a user declares."""
    homes = {
        name: kind.__module__
        for kind in reversed(config_type.__mro__)
        for name in inspect.get_annotations(kind)
    }
    return [name for name in fields(config_type) if not homes[name].startswith(_LENT)]
