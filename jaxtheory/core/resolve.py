"""Theories as users give them: a record, a module, a name or a file."""

import contextlib
import hashlib
import importlib
import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from jaxtheory.core import plugins
from jaxtheory.core.check_theory import check_theory
from jaxtheory.core.extended import without_additions
from jaxtheory.core.plugins import SHIPPED, THEORIES, file_here, load_entry, loaded_file, offered
from jaxtheory.core.theory import Theory
from jaxtheory.texts.errors import InputError, line, suggest


def theory_of(reference: Any, config: Any = None) -> Any:
    """Return the theory that a user means.

    Args:
        reference: A theory, a module that defines `THEORY`, a name, or the path of a Python file. A
            name is one of `SHIPPED`, or one that an installed package offers.
        config: The config it is used with. If its class comes from the file at that path, the
            module that is already loaded is used, because loading it again makes another class.

    Returns:
        The theory; what a module defines as THEORY is not checked.

    Raises:
        InputError: It is none of these, the name is unknown, or the file or package cannot be
            loaded or defines no THEORY, or one that violates the contract.
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
    if isinstance(reference, str | Path):
        try:
            check_theory(theory)
        except InputError as error:
            raise InputError(f"{reference}: {error}") from None
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
    entry_points = offered(THEORIES)
    if name not in entry_points:
        known = suggest(name, [*SHIPPED, *entry_points])
        hint = file_here(name) or f"{known}, or pass the path of a FILE.py that defines THEORY"
        raise InputError(f"unknown theory {name!r}; {hint}")
    offer: Theory = load_entry(entry_points[name])
    check_theory(offer)
    return offer


# Files of users' theories, as datasets record them


def file_of(theory: Theory) -> dict[str, str] | None:
    """Return the record of the FILE.py that defines a theory as THEORY, or None if there is none.

    A theory that ships, is installed, or was made in a notebook or by a script has no such file.
    Observables and weights that a sweep added, and a problem that it fixed, do not count. The
    record covers FILE.py alone, not the modules beside it that it imports; these count in the hash
    of the code, see `code.code_hash`.

    Args:
        theory: A theory, also one in the request of a sweep.

    Returns:
        The absolute path of the file as `file`, and the SHA-256 of its contents as `sha256`.
    """
    if _is_in_catalog(theory):  # though a file may import it
        return None
    for module, record in (*plugins.files(), *_imported(theory)):
        if _is_same(theory, getattr(module, "THEORY", None)):
            return dict(record)
    return None


def _is_same(theory: Theory, other: Any) -> bool:
    """True if a theory is another one, except for what a sweep adds to it."""
    return isinstance(other, Theory) and all(
        mine is its or (slot in ("algorithms", "dims") and mine == its)
        for slot, mine, its in zip(Theory._fields, without_additions(theory), other, strict=True)
        if slot != "problem"
    )


def python_of(theory: Theory) -> str:
    """Return Python code that gives a theory: the load of its file, or its name in the catalog.

    For any other theory it is a name with a comment.
    """
    if (record := file_of(theory)) is not None:
        return f"jaxtheory.theories.load({record['file']!r}).THEORY"
    if _is_in_catalog(theory):
        return f"jaxtheory.theories.get({theory.name!r})"
    return "THEORY  # the one that the sweep was made with"


def _is_in_catalog(theory: Theory) -> bool:
    """True if a theory ships or an installed package offers it, under its own name."""
    if theory.name not in SHIPPED and theory.name not in offered(THEORIES):
        return False
    with contextlib.suppress(InputError):  # what cannot be loaded is not this theory
        return _is_same(theory, named_theory(theory.name))
    return False


def _imported(theory: Theory) -> Iterator[tuple[ModuleType, dict[str, str]]]:
    """Yield the module of a theory's Config and its record, if a user's file was imported as it."""
    name = str(getattr(theory.Config, "__module__", ""))
    module = sys.modules.get(name)
    file = Path(getattr(module, "__file__", None) or "")
    home = f"{sysconfig.get_path('stdlib')}{os.sep}"
    ours = name == "__main__" or "." in name or name.startswith("jaxtheory")
    if module is None or ours or "site-packages" in file.parts or str(file).startswith(home):
        return
    try:
        text = file.read_bytes() if file.suffix == ".py" and file.is_file() else None
    except OSError:
        return
    if text is not None:
        yield module, {"file": str(file.resolve()), "sha256": hashlib.sha256(text).hexdigest()}


def recorded_theory(name: str, record: Any = None) -> Theory:
    """Return the theory that a dataset names, from the file of its record if it has one.

    The file is executed only if its contents are those of the record, and if nobody but the user
    or the administrator owns it, since a dataset of somebody else may name any file.

    Args:
        name: The name of the theory.
        record: What `file_of` returned, or None for a theory that ships or is installed.

    Raises:
        InputError: The theory or its file is missing, or its contents differ from the record.
    """
    remedy = "pass the theory as theory= in Python, or --theory FILE.py on the command line"
    if record is None:
        try:
            return named_theory(name)
        except InputError as error:
            if name in SHIPPED or name in offered(THEORIES):
                raise
            raise InputError(
                f"the theory {name!r} neither ships nor is installed, and the dataset names no "
                f"file that defines it; {remedy}"
            ) from error
    if not isinstance(record, Mapping) or not all(
        isinstance(record.get(key), str) for key in ("file", "sha256")
    ):
        raise InputError(f"the dataset's record of the file of {name!r} is damaged; {remedy}")
    file, what = Path(record["file"]), f"the theory {name!r} is defined in {record['file']}"
    if why := _fault(file, record["sha256"]):
        raise InputError(f"{what}, {why}; {remedy}")
    theory: Theory = theory_of(file)
    check_theory(theory)
    if theory.name != name:
        raise InputError(f"{what}, whose THEORY is {theory.name!r}; {remedy}")
    return theory


def _fault(file: Path, expected: str) -> str | None:
    """Return why a recorded file must not be executed, or None."""
    try:
        if not file.is_absolute() or not file.is_file():
            return "which does not exist here"
        if hasattr(os, "geteuid") and file.stat().st_uid not in (0, os.geteuid()):
            return "which belongs to another user and is not executed"
        actual = hashlib.sha256(file.read_bytes()).hexdigest()
    except (OSError, ValueError) as error:
        return f"which cannot be read ({line(error)})"
    if actual == expected:
        return None
    return f"which has changed since (its SHA-256 was {expected[:12]}, and is {actual[:12]})"
