"""Functions that the command line names: stop rules, and FILE.py:NAME."""

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import jaxtheory
from jaxtheory.core import plugins

_RULE = re.compile(r"\s*(?P<metric>[^<>=\s]+)\s*(?P<sign>[<>])\s*(?P<limit>\S+)\s*")
_RULES = '"METRIC < NUMBER", "METRIC > NUMBER" or FILE.py:FUNCTION'


@dataclasses.dataclass(frozen=True)
class StopRule:
    """The rule that a run stops when a metric is below, or above, a limit."""

    metric: str
    is_below: bool
    limit: float

    def __call__(self, metrics: dict[str, Any]) -> bool:
        value = metrics[self.metric]
        if getattr(value, "shape", ()) != ():
            raise jaxtheory.InputError(
                f"--stop: {self.metric} has the shape {value.shape}, but a rule compares one number"
            )
        return bool(value < self.limit if self.is_below else value > self.limit)


def stop_rule(text: str) -> Callable[[dict[str, Any]], bool]:
    """Return the stop rule `METRIC < NUMBER`, `METRIC > NUMBER` or FILE.py:FUNCTION."""
    rule = _compared("--stop", text)
    return StopRule(*rule) if rule else loaded_function("--stop", text, f"must be {_RULES}")


def boundary_property(text: str) -> Callable[..., Any]:
    """Return the property `diverged`, `METRIC < NUMBER`, `METRIC > NUMBER` or FILE.py:FUNCTION."""
    if text == "diverged":
        return jaxtheory.diverged
    if rule := _compared("--when", text):
        metric, below, limit = rule
        return (jaxtheory.below if below else jaxtheory.above)(metric, limit)
    return loaded_function("--when", text, f"must be diverged, {_RULES}")


def _compared(option: str, text: str) -> tuple[str, bool, float] | None:
    """Return the metric, True for <, and the limit of a comparison, or None for another text."""
    if not (match := _RULE.fullmatch(text)):
        return None
    try:
        return match["metric"], match["sign"] == "<", float(match["limit"])
    except ValueError:
        raise jaxtheory.InputError(
            f"{option} {text!r}: {match['limit']!r} is not a number; write METRIC < NUMBER or "
            "METRIC > NUMBER"
        ) from None


def loaded_function(option: str, text: str, hint: str) -> Callable[..., Any]:
    """Return the function NAME of FILE.py, as FILE.py:NAME.

    Raises InputError, with the option and the hint, if the text has another form.
    """
    file, colon, name = text.rpartition(":")
    if not colon or not file.endswith(".py"):
        raise jaxtheory.InputError(f"{option} {text!r}: {hint}")
    function = getattr(plugins.loaded_file(file), name, None)
    if not callable(function):
        raise jaxtheory.InputError(f"{option} {text!r}: {file} defines no function {name}")
    definition: Callable[..., Any] = function
    return definition


def observables(texts: tuple[str, ...], theory: Any, algorithm: str | None) -> dict[str, Any]:
    """Return observables by name, given as FILE.py:NAME or as names of jaxtheory.observables."""
    functions: dict[str, Callable[..., Any]] = {}
    known = jaxtheory.observables.BY_NAME if texts else ()
    for text in texts:
        name = text.rpartition(":")[2]
        if name in functions:
            raise jaxtheory.InputError(f"--observe {text!r}: {name} is given twice")
        if text in known:
            functions[name] = jaxtheory.observables.by_name(text, theory, algorithm)
        else:
            hint = f"must be FILE.py:FUNCTION, or one of {', '.join(known)}"
            functions[name] = loaded_function("--observe", text, hint)
    return functions
