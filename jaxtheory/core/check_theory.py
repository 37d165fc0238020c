"""The record of a theory: types, names and arguments of its slots, before any of them is called."""

import inspect
from typing import Any, get_args

from jaxtheory.core.config import Config, fields
from jaxtheory.core.theory import Algorithm, Check, Kind, Theory
from jaxtheory.texts.errors import InputError, require_present
from jaxtheory.texts.labels import label_fault, name_fault

_THEORY_SLOTS = {
    "problem": "key config",
    "sample": "key problem config",
    "init": "key problem config",
    "loss": "params batch problem config",
    "gradient": "params batch problem config",
    "metrics": "params problem config",
    "baselines": "problem config",
    "analyses": "params problem config",
    "coords": "config",
    "predict": "problem config steps",
    "assumptions": "problem config",
}
_THEORY_TYPES = {"algorithms": dict, "dims": dict, "checks": tuple, "examples": tuple}
_ALGORITHM_SLOTS = {
    "init": "key problem config",
    "step": "key t state batch problem config",
    "params": "state problem config",
    "sample": "key problem config",
}
_CHECK_KINDS = get_args(Kind)


def signature_fault(where: str, function: Any, expected: str) -> str | None:
    """Return a message if a function has other arguments than expected, else None.

    An underscore may precede the name of an argument that is not used.
    """
    if not callable(function):
        return (
            f"{where} is a {type(function).__name__}, expected a function "
            f"({expected.replace(' ', ', ')})"
        )
    want = expected.split()
    parameters = inspect.signature(function).parameters.values()
    got = [
        p.name
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]
    for position, (g, w) in enumerate(zip(got, want, strict=False), start=1):
        if g.lstrip("_") != w:
            return f"{where}: argument {position} is {g!r}, expected {w!r} in ({', '.join(want)})"
    if len(got) != len(want):
        return (
            f"{where} takes {len(got)} arguments ({', '.join(got)}), expected {len(want)} "
            f"({', '.join(want)})"
        )
    return None


def _home(kind: Any) -> str:
    """Return the qualified name of a class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _name_faults(theory: Theory) -> list[str]:
    """Return a message for each wrong name in the dictionaries and the checks of a theory."""
    faults = []
    for slot in ("algorithms", "dims"):
        names = getattr(theory, slot)
        odd = [name for name in (names if isinstance(names, dict) else ()) if type(name) is not str]
        faults += [f"{theory.name}.{slot}: names must be strings, got {name!r}" for name in odd]
    names = theory.algorithms if isinstance(theory.algorithms, dict) else ()
    faults += [
        f"{theory.name}.algorithms: {fault}"
        for name in names
        if isinstance(name, str) and (fault := label_fault(name))
    ]
    for name, dims in theory.dims.items() if isinstance(theory.dims, dict) else ():
        if not isinstance(dims, tuple) or not all(isinstance(dim, str) for dim in dims):
            faults.append(
                f"{theory.name}.dims[{name!r}] is {dims!r}, expected a tuple of names, such as "
                f"({dims!r},)"
                if isinstance(dims, str)
                else f"{theory.name}.dims[{name!r}] is {dims!r}, expected a tuple of names"
            )
        elif odd := [fault for dim in dims if (fault := name_fault(dim))]:
            faults.append(f"{theory.name}.dims[{name!r}]: {odd[0]}")
    for check in theory.checks if isinstance(theory.checks, tuple) else ():
        if isinstance(check, Check) and not isinstance(check.name, str):
            faults.append(f"{theory.name}.checks: names must be strings, got {check.name!r}")
        if isinstance(check, Check) and not isinstance(check.tolerance, int | float):
            faults.append(
                f"{theory.name}.checks[{check.name!r}].tolerance is {check.tolerance!r}, expected "
                "a number"
            )
    return faults


def check_theory(theory: Any) -> None:
    """Test a theory against the contract: types, names and arguments of its slots.

    What the slots return is tested when the theory is used.

    Args:
        theory: A Theory.

    Raises:
        InputError: Something is wrong; the message has a line for each wrong slot or argument.

    Example:
        >>> import jaxtheory
        >>> theory = jaxtheory.theories.get("random_walk")
        >>> jaxtheory.check_theory(theory)
        >>> jaxtheory.check_theory(theory._replace(loss=lambda params, config: 0.0))
        Traceback (most recent call last):
        ...
        jaxtheory.texts.errors.InputError: random_walk.loss: argument 2 is 'config', expected ...
    """
    if not isinstance(theory, Theory):
        raise InputError(f"THEORY is a {type(theory).__name__}, expected a jaxtheory.Theory")
    if fault := name_fault(theory.name):  # datasets and folders of results have this name
        raise InputError(f"Theory: name = {fault}")
    name = theory.name
    faults: list[str | None] = [
        f"{name}.{slot} is a {type(value).__name__}, expected a {kind.__name__}"
        for slot, kind in _THEORY_TYPES.items()
        if not isinstance(value := getattr(theory, slot), kind)
    ]
    faults += [
        f"{name}.checks: a {type(check).__name__}, expected a jaxtheory.Check"
        for check in (theory.checks if isinstance(theory.checks, tuple) else ())
        if not isinstance(check, Check)
    ]
    faults += _name_faults(theory)
    if any(faults):
        raise InputError("\n".join(filter(None, faults)))
    faults = [
        signature_fault(f"{name}.{slot}", getattr(theory, slot), want)
        for slot, want in _THEORY_SLOTS.items()
    ]
    if not (isinstance(theory.Config, type) and issubclass(theory.Config, Config)):
        faults.append(f"{name}.Config: expected a subclass of jaxtheory.Config")
    else:
        table = fields(theory.Config)
        symbols = [field.symbol for field in table.values()]
        for symbol in sorted(
            {s for s in symbols if symbols.count(s) > 1 or (s in table and table[s].symbol != s)}
        ):
            faults.append(f"{name}.Config: symbol {symbol!r} is not unique")
        faults += [
            f"{name}.Config: field {word!r} is reserved for an axis"
            for word in ("algorithm", "steps", "seed")
            if word in table
        ]
    if theory.given is not None and not callable(theory.given):
        faults.append(
            f"{name}.given is a {type(theory.given).__name__}, expected a function of arrays"
        )
    if not theory.algorithms:
        faults.append(f"{name}.algorithms is empty; it must have at least one entry, the default")
    for label, algorithm in theory.algorithms.items():
        if not isinstance(algorithm, Algorithm):
            faults.append(
                f"{name}.algorithms[{label!r}] is a {type(algorithm).__name__}, expected a "
                "jaxtheory.Algorithm"
            )
            continue
        for slot, want in _ALGORITHM_SLOTS.items():
            function = getattr(algorithm, slot)
            if not (slot == "sample" and function is None):
                faults.append(
                    signature_fault(f"{name}.algorithms[{label!r}].{slot}", function, want)
                )
    for check in theory.checks:
        if check.kind not in _CHECK_KINDS:
            faults.append(
                f"{name}.checks[{check.name!r}].kind is {check.kind!r}, expected one of "
                f"{', '.join(_CHECK_KINDS)}"
            )
        if check.kind == "equal" and check.tolerance > 1e-11:
            faults.append(
                f"{name}.checks[{check.name!r}].tolerance is {check.tolerance:g}; it must be "
                "at most 1e-11 for kind 'equal'"
            )
        faults.append(signature_fault(f"{name}.checks[{check.name!r}].fn", check.fn, "key config"))
    if mismatches := [e for e in theory.examples if type(e) is not theory.Config]:
        require_present("config in examples", type(mismatches[0]), theory.Config)
        faults.append(
            f"{name}.examples: {len(mismatches)} of {len(theory.examples)} are a "
            f"{_home(type(mismatches[0]))}, expected {_home(theory.Config)}; give "
            f"examples=({theory.Config.__name__}(),) too"
        )
    messages = [fault for fault in faults if fault]
    if messages:
        raise InputError("\n".join(messages))
