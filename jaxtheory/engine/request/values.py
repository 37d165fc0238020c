"""Values along one axis, converted from user input and checked against their field."""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.config import fields
from jaxtheory.core.fields import Field, Interval
from jaxtheory.core.theory import Theory
from jaxtheory.core.validation import validate_value
from jaxtheory.texts.decimals import python_value, shortest
from jaxtheory.texts.errors import InputError, line, suggest
from jaxtheory.texts.errors import brief as brief
from jaxtheory.texts.labels import label_fault

Values = tuple | np.ndarray  # values along an axis; numbers are an array of float64 or int64
MOST = 2**25  # points of a sweep at most; planning takes about 1 microsecond and 200 bytes for each
_LARGEST = 2**31  # bound on integers, as fields and steps are int32 in compiled programs
_BITS = 14_000  # of an integer that Python still writes
_STEPS = Field("steps", "steps", "traced", None, Interval.parse("[0, inf)"), "", "", True)


def refuse_tracers(name: str, inputs: Any) -> None:
    """Raise InputError inside jit, vmap and grad, because the engine needs concrete numbers."""
    try:
        leaves = [*jax.tree.leaves(inputs), jnp.zeros(())]
    except Exception as error:  # such as keys of a dictionary without an order
        raise InputError(
            f"{name}: {brief(inputs)} is not a pytree of arrays; {line(error)}"
        ) from None
    if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
        raise InputError(
            f"{name}: simulate and sweep cannot be called inside jit, vmap or grad; transform the "
            "functions of the theory instead"
        )


def checked_steps(steps: Any) -> int:
    """Return a number of steps. Raises InputError unless it is an integer in [0, 2^31)."""
    number = python_value(steps)
    if type(number) not in (int, float) or not 0 <= number < _LARGEST or number != int(number):
        raise InputError(f"steps = {brief(steps)}: must be an integer in [0, 2^31)")
    return int(number)


def stops(rule: Callable[[Any], Any], metrics: Mapping[str, Any]) -> bool:
    """Return whether a stop rule holds. Raises InputError unless it returns one truth value."""
    answer = rule(metrics)
    if np.shape(answer) != () or np.asarray(answer).dtype != bool:
        raise InputError(
            f"stop(metrics) returns {brief(answer)}: must return True or False, such as "
            "metrics['loss'] < 0.1"
        )
    return bool(answer)


def checked_algorithm(theory: Theory, algorithm: str | None) -> str:
    """Return the name of an algorithm of the theory; None gives its first.

    Raises InputError with the closest name for any other.
    """
    name = next(iter(theory.algorithms)) if algorithm is None else algorithm
    if not isinstance(name, str) or name not in theory.algorithms:
        if isinstance(name, str) and (why := theory.dropped.get(name)):
            raise InputError(
                f"{theory.name} no longer has the algorithm {name!r}: {why}; choose from "
                f"{', '.join(theory.algorithms)}"
            )
        raise InputError(
            f"{theory.name} has no algorithm {brief(name)}; "
            f"{suggest(name if isinstance(name, str) else brief(name), theory.algorithms)}"
        )
    return name


def read_values(theory: Theory, key: str, word: str, raw: Any) -> Values:
    """Return the values of `key` along its axis, checked against the field `word`.

    `word` may also be "algorithm" or "steps", or "" for labels, which can be any strings or
    numbers. A float of less than 64 bits is replaced by the shortest decimal that rounds to it in
    its precision, so that float32(0.1) trains with 0.1 and has this label. Raises InputError for an
    invalid value.
    """
    entries = _listed(theory, key, raw)
    if len(entries) == 0:
        raise InputError(f"{key}: the list of values is empty; give at least one")
    field = _STEPS if word == "steps" else fields(theory.Config).get(word)
    if field is not None and field.kind != "static":
        check = checked_steps if field is _STEPS else _validating(theory, word)
        numbers = _numbers(field, key, entries, check)
        return tuple(numbers.tolist()) if field.kind == "size" else numbers
    if isinstance(entries, np.ndarray):
        values = tuple(shortest(entries).tolist())
    else:
        values = tuple(map(python_value, entries))
    for v in values if word else ():
        _refuse_endless(key, v)
    if word == "algorithm":
        return tuple(checked_algorithm(theory, v) for v in values)
    for v in values:
        if field is not None:
            validate_value(theory.Config, word, v)
        elif fault := label_fault(v):
            raise InputError(f"{key}: {fault}")
    return values


def _listed(theory: Theory, key: str, raw: Any) -> np.ndarray | list:
    """User input for an axis as a one-dimensional array or a list.

    Raises InputError for arrays of other shapes and for unordered collections.
    """
    if isinstance(raw, str | bytes | Mapping | Set):
        raise InputError(f"{key}: must be a list of values, got {brief(raw)}")
    if hasattr(raw, "__array__"):
        refuse_tracers(theory.name, raw)
        try:
            array = np.asarray(raw)
        except Exception as error:  # an array of keys, for instance
            raise InputError(f"{key}: the values cannot be read ({line(error)})") from None
        if array.ndim == 1:
            return array if array.dtype.kind != "O" else array.tolist()
        shape = f"an array of shape {array.shape}" if array.ndim else brief(array.item())
        raise InputError(f"{key}: must be a list of values (one dimension), got {shape}")
    if not hasattr(raw, "__len__"):
        hint = "; write list(...)" if hasattr(raw, "__iter__") else ""
        raise InputError(f"{key}: must be a list of values, got {brief(raw)}{hint}")
    try:
        is_oversized = len(raw) > MOST
        entries = [] if is_oversized else list(raw)
    except OverflowError:  # of a range
        is_oversized, entries = True, []
    except Exception as error:  # the object may raise anything
        raise InputError(f"{key}: the values cannot be read ({line(error)})") from None
    if is_oversized:
        raise InputError(f"{key}: at most 2^25 values are allowed, got {brief(raw)}")
    refuse_tracers(theory.name, entries)
    return entries


def _numbers(
    field: Field, key: str, entries: np.ndarray | list, check: Callable[[Any], Any]
) -> np.ndarray:
    """Values of a numeric field, of which there may be millions, as float64 or int64.

    `check` raises InputError for one invalid value.
    """
    array = shortest(entries) if isinstance(entries, np.ndarray) else _as_array(entries)
    if array is not None and array.dtype.kind in "fiu" and _in_range(field, array).all():
        numbers = array.astype(np.int64 if field.integer else np.float64)
        numbers.flags.writeable = False
        return numbers
    for value in map(python_value, entries):
        if (isinstance(value, Sequence) and not isinstance(value, str | bytes)) or np.ndim(value):
            raise InputError(
                f"{key}: must be a list of values (one dimension), got a list of lists"
            )
        _refuse_endless(key, value)
        check(value)
    raise InputError(f"{key}: must be a list of numbers, got {type(entries[0]).__name__}")


def _refuse_endless(key: str, value: Any) -> None:
    """Raise InputError for an integer of so many digits that Python does not write it."""
    if isinstance(value, int) and value.bit_length() > _BITS:
        raise InputError(f"{key}: an integer of {value.bit_length()} bits is not a valid value")


def _as_array(entries: list) -> np.ndarray | None:
    """Numbers as an array of float64, or None if one is not a number."""
    values = list(map(python_value, entries))
    if {*map(type, values)} - {int, float}:
        return None
    try:
        return np.array(values, np.float64)
    except OverflowError:
        return None


def _in_range(field: Field, array: np.ndarray) -> np.ndarray:
    """True for each entry that is a valid value of a numeric field."""
    valid = field.valid
    assert isinstance(valid, Interval)
    low = array >= valid.low if valid.closed_low else array > valid.low
    high = array <= valid.high if valid.closed_high else array < valid.high
    good: np.ndarray = low & high & np.isfinite(array)
    if field.integer:
        good &= (array == np.round(array)) & (np.abs(array.astype(float)) < _LARGEST)
    return good


def _validating(theory: Theory, word: str) -> Callable[[Any], None]:
    """Function that raises InputError for an invalid value of a field."""
    return lambda value: validate_value(theory.Config, word, value)
