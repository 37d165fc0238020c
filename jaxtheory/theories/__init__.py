"""The registry of theories: `names()` and `get(name)`; `load(path)` for a theory in a file of one's own."""

import importlib

from jaxtheory.core.config import InputError, suggest
from jaxtheory.core.files import load as load
from jaxtheory.core.theory import Theory

_ROOMS = ("random_walk", "attention_pruning", "contextual_bigram", "nearest_neighbor", "group_sparse", "low_rank")


def names() -> tuple[str, ...]:
    """The theories that ship with jaxtheory."""
    return _ROOMS


def get(name: str) -> Theory:
    """The theory of a name. Raises InputError with the closest name."""
    if name not in _ROOMS:
        raise InputError(f"unknown theory {name!r}; {suggest(name, _ROOMS)}, or give the path of a FILE.py that defines THEORY")
    theory: Theory = importlib.import_module(f"jaxtheory.theories.{name}").THEORY
    return theory
