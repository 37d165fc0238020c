"""Descriptions of figures and verdicts: question, sweep, measured number, seeds."""

import functools
import inspect
import math
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxtheory.claims.figure import Figure, arguments
from jaxtheory.claims.figure import seeds as seeds_of
from jaxtheory.code.plain import without_address
from jaxtheory.core.plugins import question_of_file
from jaxtheory.core.theory import Theory
from jaxtheory.engine.results.attributes import values

SIGNS = {"holds": "✓", "fails": "✗", "undecided": "?", "not tested": "–"}
RULE = (
    "A replicate is the whole experiment with a seed of its own. A claim holds where the evidence "
    "that at least a share q of all replicates satisfies the bound (q = 1/2 where nothing is said) "
    "is 100, fails where the evidence for the contrary is, and is undecided otherwise: a verdict "
    "is wrong with probability 1 % at most, whatever the law of the numbers and however often one "
    "looks."
)


def question_of(figure: Figure) -> str:
    """Return the question of a figure, which is the first sentence of its file."""
    module = sys.modules.get(figure.draw.__module__)
    file = getattr(module, "__file__", None)
    return question_of_file(Path(file)) if file else ""


def sweep_in_words(figure: Figure, quick: bool) -> str:
    """Describe the sweep of a figure: theory, axes, seeds, steps, records and other options."""
    config, options = arguments(figure, quick)
    options = dict(options)
    parts = [_base(figure.theory, config)] if figure.theory else ["an experiment"]
    zipped = options.pop("zip", None) or []
    groups = [zipped] if isinstance(zipped, Mapping) else zipped
    for axes in groups:
        parts.append("together " + " with ".join(_axis(*item) for item in axes.items()))
    if "along" in options:
        parts.append(_search(options))
    for axes in ("vary", "over"):
        parts += ["every " + _axis(*item) for item in (options.pop(axes, None) or {}).items()]
    options.pop("seeds", None)
    count = len(seeds_of(figure, quick))
    parts.append("1 seed" if count == 1 else f"{count} seeds")
    if "steps" in options:
        parts.append(f"{options.pop('steps')} steps")
    if (record := options.pop("record", None)) is not None:
        parts.append(f"recorded {_records(record)}")
    if observed := options.pop("observe", None):
        parts.append(f"with {', '.join(observed)} observed")
    for layout in ("buckets", "dims"):
        options.pop(layout, None)
    parts += [f"{name} {_value(options[name])}" for name in options]
    return "; ".join(parts)


def _search(options: dict[str, Any]) -> str:
    """Describe the interval and the property of a search for a boundary, and remove them."""
    low, high = map(_value, options.pop("between"))
    when, law = options.pop("when"), options.pop("law", None)
    words = when.__doc__ or "" if inspect.isfunction(when) else ""
    named = _value(when) if isinstance(when, functools.partial | types.FunctionType) else str(when)
    phrase = " ".join(words.split("\n\n")[0].split()).rstrip(".") or without_address(named)
    names = list(law) if isinstance(law, Mapping) else ["a law"] * (law is not None)
    ours = f", compared with {' and '.join(names)}" if names else ""
    return f"the {options.pop('along')} between {low} and {high} where this changes: {phrase}{ours}"


def _base(theory: Theory, config: Any) -> str:
    """Describe a theory with the values that differ from its defaults."""
    current, default = values(config), values(theory.Config())
    differences = [f"{name} = {_value(x)}" for name, x in current.items() if x != default[name]]
    return (
        f"{theory.name} with {', '.join(differences)}"
        if differences
        else f"{theory.name} at its defaults"
    )


def _axis(name: str, values: Any) -> str:
    """Describe an axis with its values, or with the first and the last of many."""
    listed = [_value(one) for one in values]
    if len(listed) > 8:
        listed = [*listed[:3], "..", f"{listed[-1]} ({len(listed)} values)"]
    return f"{name} = {', '.join(listed)}"


def _records(record: Any) -> str:
    """Describe the steps at which metrics are evaluated."""
    if isinstance(record, Mapping):
        return ", ".join(f"{name} {_records(steps)}" for name, steps in record.items())
    if isinstance(record, int):
        return "every step" if record == 1 else f"every {record} steps"
    steps = [str(step) for step in record]
    return f"at {', '.join(steps)}" if len(steps) <= 8 else f"at {len(steps)} steps"


def _value(one: Any) -> str:
    """Format a value of an option; functions, also in containers, by their names."""
    if isinstance(one, functools.partial):
        return f"{_value(one.func)}(…)"
    if callable(one):
        return getattr(one, "__name__", type(one).__name__)
    if isinstance(one, float):
        return f"{one:.4g}"
    if isinstance(one, Mapping):
        text = f"{{{', '.join(f'{name}: {_value(entry)}' for name, entry in one.items())}}}"
    elif type(one) in (list, tuple, set, frozenset):
        text = f"[{', '.join(map(_value, one))}]"
    else:
        text = repr(one) if isinstance(one, str) and not one.isidentifier() else str(one)
    text = without_address(text)
    return text if len(text) <= 60 else f"{text[:59]}…"


def seeds(claim: dict[str, Any]) -> str:
    """Format how many replicates satisfy the bound, of how many, and what else is to be said."""
    n, satisfied, q = claim["n"], claim.get("satisfied"), claim.get("q")
    if n is None:
        return ""
    if satisfied is None:  # a record of before counts seeds with a value alone
        return str(n)
    claimed = "" if q in (None, 0.5) else " (all are claimed)" if q == 1 else f" ({q:g} is claimed)"
    undefined = f", {claim['undefined']} without a number" if claim["undefined"] else ""
    ties = f", {claim['equal']} equal" if claim["equal"] > max(1, n // 4) else ""
    return f"{satisfied} of {n}{claimed}{undefined}{ties}"


def line(claim: dict[str, Any]) -> str:
    """Format what was measured and claimed; the same wherever a verdict is shown.

    Such as "growth of the diagonal: 1.06 [1.02, 1.11], claimed ≥ 1.12; 3 of 16".
    """
    text, behind = measured(claim), seeds(claim)
    if not text:
        return ""
    is_earlier = claim.get("satisfied") is None  # whose number may have been another one
    name = "" if is_earlier or not claim["number"] else f"{claim['number']}: "
    law = f"; the stated value {claim['law']:.4g} is rejected" if claim.get("rejects_law") else ""
    return f"{name}{text}, claimed {claim['bound']}; {behind}{' seeds' * is_earlier}{law}"


def measured(claim: dict[str, Any]) -> str:
    """Format the measured number with its interval."""
    number, ends = claim["measured"], claim["interval"]
    if number is None:
        return "" if claim["n"] is None else "no number"
    text = _rounded(number, 4)
    if ends and ends != [None, None] and ends != [number, number]:
        text += f" [{_ends(number, ends)}]"
    return text


def _ends(number: float, ends: list[float | None]) -> str:
    """Format the ends of an interval with as many digits as tell one from the other.

    Three digits, or four where three would put its number outside of it. An open end lies beyond
    all numbers.
    """
    for digits in range(3, 18):
        low, high = (_rounded(end, digits) if end is not None else "" for end in ends)
        outside = float(low or "-inf") > number or float(high or "inf") < number
        if low != high and (digits > 3 or not outside):
            break
    return f"{low or 'open'}, {high or 'open'}"


def count(number: int, noun: str) -> str:
    """Format a number of things, such as 1 claim or 2 claims."""
    words = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else words}"


def _rounded(value: float, digits: int) -> str:
    return f"{value:.{digits}g}" if math.isfinite(value) else str(value)
