"""The values along one axis, read from what a user gives and checked against their field."""

import reprlib
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.config import Field, Interval, fields, validate_value
from jaxtheory.core.decimals import python_value, shortest
from jaxtheory.core.errors import InputError, suggest
from jaxtheory.core.theory import Theory

Values = tuple | np.ndarray  # along an axis; an array of float64 or int64 where they are numbers
_LARGEST = 2**31  # of an integer: fields and steps are int32 in what is compiled
_STEPS = Field("steps", "steps", "traced", None, Interval.parse("[0, inf)"), "", "", True)


def refuse_tracers(name: str, inputs: Any) -> None:
    """Raise InputError inside jit, vmap and grad: the engine compiles and looks at
    numbers itself.
    """
    leaves = [*jax.tree.leaves(inputs), jnp.zeros(())]
    if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
        raise InputError(
            f"{name}: sweeps and simulations run outside of jit, vmap and grad; transform the "
            "theory's own functions instead"
        )


def checked_steps(steps: Any) -> int:
    """A number of steps, or InputError."""
    number = python_value(steps)
    if type(number) not in (int, float) or not 0 <= number < _LARGEST or number != int(number):
        raise InputError(f"steps = {steps!r}: must be an integer in [0, 2^31)")
    return int(number)


def checked_algorithm(theory: Theory, algorithm: str | None) -> str:
    """The name of an algorithm of the theory (None: its first), or InputError with the closest
    name.
    """
    name = next(iter(theory.algorithms)) if algorithm is None else algorithm
    if not isinstance(name, str) or name not in theory.algorithms:
        if why := theory.dropped.get(str(name)):
            raise InputError(
                f"{theory.name} has no algorithm {name!r} any more: {why}; choose from "
                f"{', '.join(theory.algorithms)}"
            )
        raise InputError(
            f"{theory.name} has no algorithm {name!r}; {suggest(str(name), theory.algorithms)}"
        )
    return name


def read_values(theory: Theory, key: str, word: str, raw: Any) -> Values:
    """The values that `key` takes along its axis, checked against the field `word` (or algorithm,
    or steps; "": labels, of which nothing is known). Raises InputError.

    A float of less than 64 bits stands for the shortest decimal that rounds to it in its
    precision: float32(0.1) trains with 0.1, and is labeled so.
    """
    entries = _listed(theory, key, raw)
    if len(entries) == 0:
        raise InputError(f"{key}: an empty list of values")
    field = _STEPS if word == "steps" else fields(theory.Config).get(word)
    if field is not None and field.kind != "static":
        check = checked_steps if field is _STEPS else _validating(theory, word)
        found = _numbers(field, key, entries, check)
        return tuple(found.tolist()) if field.kind == "size" else found
    if isinstance(entries, np.ndarray):
        several = tuple(shortest(entries).tolist())
    else:
        several = tuple(map(python_value, entries))
    if word == "algorithm":
        return tuple(checked_algorithm(theory, v) for v in several)
    for v in several:
        if field is not None:
            validate_value(theory.Config, word, v)
        elif not isinstance(v, str | int | float) or v != v:
            raise InputError(f"{key}: {brief(v)} is not a label; give texts or numbers")
    return several


def _listed(theory: Theory, key: str, raw: Any) -> np.ndarray | list:
    """What a user gives as an axis: an array of one dimension, or a list. Raises InputError for
    what has another shape, or no order.
    """
    if isinstance(raw, str | bytes | Mapping | Set):
        raise InputError(f"{key}: give a list of values, not {brief(raw)}")
    if hasattr(raw, "__array__"):
        refuse_tracers(theory.name, raw)
        array = np.asarray(raw)
        if array.ndim == 1:
            return array if array.dtype.kind != "O" else array.tolist()
        shape = f"an array of shape {array.shape}" if array.ndim else repr(array.item())
        raise InputError(f"{key}: give a list of values (one dimension), not {shape}")
    if not hasattr(raw, "__len__"):
        hint = "; write list(...)" if hasattr(raw, "__iter__") else ""
        raise InputError(f"{key}: give a list of values, not {brief(raw)}{hint}")
    entries = list(raw)
    refuse_tracers(theory.name, entries)
    return entries


def brief(value: Any) -> str:
    """A value as Python writes it, in a line of moderate length."""
    return " ".join(reprlib.repr(value).split())


def _numbers(
    field: Field, key: str, entries: np.ndarray | list, check: Callable[[Any], Any]
) -> np.ndarray:
    """The values of a numeric field, of which there may be millions, as float64 or int64; check
    says of one value why it is not valid.
    """
    array = shortest(entries) if isinstance(entries, np.ndarray) else _as_array(entries)
    if array is not None and array.dtype.kind in "fiu" and _in_range(field, array).all():
        found = array.astype(np.int64 if field.integer else np.float64)
        found.flags.writeable = False
        return found
    for value in map(python_value, entries):
        if (isinstance(value, Sequence) and not isinstance(value, str | bytes)) or np.ndim(value):
            raise InputError(f"{key}: give a list of values (one dimension), not a list of lists")
        check(value)
    raise InputError(f"{key}: give a list of numbers, not of {type(entries[0]).__name__}")


def _as_array(entries: list) -> np.ndarray | None:
    """Numbers as an array of float64, or None where one is not a number."""
    several = list(map(python_value, entries))
    if {*map(type, several)} - {int, float}:
        return None
    try:
        return np.array(several, np.float64)
    except OverflowError:
        return None


def _in_range(field: Field, array: np.ndarray) -> np.ndarray:
    """Per entry whether it is a valid value of a numeric field."""
    valid = field.valid
    assert isinstance(valid, Interval)
    low = array >= valid.low if valid.closed_low else array > valid.low
    high = array <= valid.high if valid.closed_high else array < valid.high
    good: np.ndarray = low & high & np.isfinite(array)
    if field.integer:
        good &= (array == np.round(array)) & (np.abs(array.astype(float)) < _LARGEST)
    return good


def _validating(theory: Theory, word: str) -> Callable[[Any], None]:
    """A check of one value of a field."""
    return lambda value: validate_value(theory.Config, word, value)
