"""Validation of the values of a config: each field, then the conditions between fields."""

import math
from typing import Any

import jax
import numpy as np

from jaxtheory.core.config import Config, Size
from jaxtheory.core.fields import Field, fields, resolve
from jaxtheory.texts.errors import InputError, brief


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _violation(field: Field, value: Any) -> str | None:
    """Return a message if a value of a field is invalid, else None; tracers pass unchecked."""
    label = f"{field.name} ({field.symbol})"
    if field.kind == "static":
        if isinstance(value, jax.Array | np.ndarray):
            choose = f"; choose one of {', '.join(map(repr, field.valid))}" if field.valid else ""
            return f"{label} is static: it must be a plain Python value, not an array{choose}"
        if not field.valid:
            return (
                None
                if _hashable(value)
                else f"{label}: must be hashable, for instance a tuple of tuples, not "
                f"{type(value).__name__}"
            )
        if not any(value == choice and type(value) is type(choice) for choice in field.valid):
            return f"{label} = {brief(value)}: choose one of {', '.join(map(repr, field.valid))}"
        return None
    number = value.n if isinstance(value, Size) else value
    if isinstance(number, jax.core.Tracer):
        return None
    kind = "an integer" if field.integer else "a number"
    expected = f"{kind} in {field.valid}{' ' + field.unit if field.unit else ''} ({field.meaning})"
    for entry in np.ravel(number):
        if isinstance(
            entry, bool | np.bool_ | np.timedelta64 | str | bytes | complex
        ) or not np.issubdtype(np.asarray(entry).dtype, np.number):
            plain = entry.item() if isinstance(entry, np.generic) else entry
            return f"{label} = {brief(plain)}: must be {expected}"
        if (
            not math.isfinite(entry)
            or entry not in field.valid
            or (field.integer and entry != int(entry))
        ):
            return f"{label} = {entry!s}: must be {expected}"
    if field.integer and np.any(np.abs(np.asarray(number, float)) >= 2**31):
        return f"{label} = {number!s}: must be {kind} below 2^31 ({field.meaning})"
    if isinstance(value, Size) and np.any(np.asarray(number) > value.cap):
        return (
            f"{label} = {number!s} exceeds its capacity {value.cap}: raise it with "
            f"config.pad({field.name}=...)"
        )
    return None


def _unlike(field: Field, value: Any) -> str | None:
    """Return a message if an integer field of a config has a float, else None."""
    if field.integer and isinstance(value, float | np.inexact):
        return (
            f"{field.name} ({field.symbol}) = {brief(value)}: must be an integer in {field.valid}; "
            f"write {int(value)}"
        )
    return None


def validate(config: Config) -> None:
    """Check every field of a config and the conditions between fields.

    Args:
        config: A config. Traced values pass unchecked.

    Raises:
        InputError: Some value is not valid; the message has a line for each violation.

    Example:
        >>> import jaxtheory
        >>> config = jaxtheory.theories.get("random_walk").Config()
        >>> jaxtheory.validate(config)
        >>> jaxtheory.validate(config.replace(p=2.0))
        Traceback (most recent call last):
        ...
        jaxtheory.texts.errors.InputError: clockwise_probability (p) = 2.0: must be a number in ...
    """
    lines = [
        why
        for name, field in fields(type(config)).items()
        if (
            why := _violation(field, getattr(config, name)) or _unlike(field, getattr(config, name))
        )
    ]
    lines = lines or config.violations()
    if lines:
        raise InputError("\n".join(lines))


def validate_value(config_type: type, name: str, value: Any) -> None:
    """Check one value of one field, for axes that are read before there is a config."""
    field = fields(config_type)[resolve(config_type, name)]
    why = _violation(field, value)
    if why:
        raise InputError(why)
