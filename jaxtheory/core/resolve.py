"""Theories as users give them: a record, a module, a name or a file."""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from jaxtheory.core.check_theory import check_theory
from jaxtheory.core.errors import InputError, suggest
from jaxtheory.core.plugins import SHIPPED, THEORIES, load_entry, loaded_file, offered
from jaxtheory.core.theory import Theory


def theory_of(reference: Any, config: Any = None) -> Any:
    """Return the theory that a user means.

    Args:
        reference: A theory, a module that defines `THEORY`, a name, or the path of a Python file. A
            name is one of `SHIPPED`, or one that an installed package offers.
        config: The config it is used with. If its class comes from the file at that path, the
            module that is already loaded is used, because loading it again makes another class.

    Returns:
        The theory; what a module or file defines as THEORY is not checked.

    Raises:
        InputError: It is none of these, the name is unknown, or the file or package cannot be
            loaded or defines no THEORY.
    """
    if isinstance(reference, Theory):
        return reference
    if isinstance(reference, str) and not reference.endswith(".py"):
        return named_theory(reference)
    module = reference if isinstance(reference, ModuleType) else None
    if isinstance(reference, str | Path):
        loaded = sys.modules.get(type(config).__module__)
        home = getattr(loaded, "__file__", None)
        same = home is not None and Path(home).resolve() == Path(reference).resolve()
        module = loaded if same else loaded_file(reference)
    if module is None:
        raise InputError(
            f"theory is a {type(reference).__name__}, expected a jaxtheory.Theory, a module that "
            "defines THEORY, a name, or the path of a file"
        )
    theory = getattr(module, "THEORY", None)
    if theory is None:
        where = reference if isinstance(reference, str | Path) else module.__name__
        raise InputError(f"{where}: defines no THEORY = jaxtheory.Theory(...)")
    return theory


def named_theory(name: str) -> Theory:
    """Return a theory by name, of this package or of another that offers it.

    Raises:
        InputError: There is no such theory; the message names the closest one. Or the other
            package cannot be loaded.
    """
    if name in SHIPPED:
        theory: Theory = importlib.import_module(f"jaxtheory.theories.{name}").THEORY
        return theory
    others = offered(THEORIES)
    if name not in others:
        raise InputError(
            f"unknown theory {name!r}; {suggest(name, [*SHIPPED, *others])}, or pass the path of a "
            "FILE.py that defines THEORY"
        )
    offer: Theory = load_entry(others[name])
    check_theory(offer)
    return offer
