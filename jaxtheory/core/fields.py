"""The fields of configs: declaring them, and finding one by its name or symbol.

Each field has a paper symbol, a meaning and a valid range, written as an interval such as
`"[0, 1)"`.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from jaxtheory.texts.errors import InputError, suggest

_NOT_AXES = {  # arguments of a sweep that all points share -> what to write instead
    "seed": "every point is run for each seed of seeds=; give seeds=[0, 1, 2] or a count",
    "seeds": "every point is run for each seed of seeds=; give seeds=[0, 1, 2] or a count",
    "key": "a sweep has one key; give several seeds=, or call sweep for each key",
    "step": "a run is recorded at the steps of record=; vary 'steps' for runs of several lengths",
    "record": "all runs are recorded at the same steps; use record=",
    "start": "all points share the same start; use start=, or call sweep for each start",
    "stop": "all points share one stopping rule; use stop=",
    "problem": "all points share one problem; call sweep for each problem",
    "dtype": "all points share one dtype; call sweep for each dtype",
    "buckets": "all points are compiled in the same way; use buckets=",
}


class Interval(NamedTuple):
    """A range of numbers, read from a string such as `"(0, inf)"` or `"[0, 1]"`."""

    low: float
    high: float
    closed_low: bool
    closed_high: bool

    @classmethod
    def parse(cls, text: str) -> "Interval":
        try:
            low, high = (float(end) for end in text[1:-1].split(","))
            if text[0] not in "[(" or text[-1] not in "])":
                raise ValueError
        except (TypeError, ValueError):
            raise InputError(
                f"range {text!r}: write an interval, such as '(0, inf)' or '[0, 1]'"
            ) from None
        return cls(low, high, text[0] == "[", text[-1] == "]")

    def __contains__(self, value: Any) -> bool:
        above = value >= self.low if self.closed_low else value > self.low
        below = value <= self.high if self.closed_high else value < self.high
        return bool(above and below)  # False for NaN

    def __str__(self) -> str:
        return (
            f"{'[' if self.closed_low else '('}{self.low:g}, "
            f"{self.high:g}{']' if self.closed_high else ')'}"
        )


class Field(NamedTuple):
    """Description of a config field.

    `kind` is traced, size, static or evaluation. `valid` is an Interval, or the choices of a static
    field.
    """

    name: str
    symbol: str
    kind: Literal["traced", "size", "static", "evaluation"]
    default: Any
    valid: Interval | tuple
    meaning: str
    unit: str
    integer: bool


def _interval(symbol: str, text: str) -> Interval:
    try:
        return Interval.parse(text)
    except InputError as error:
        raise InputError(f"the field of symbol {symbol!r}: {error}") from None


def _field(kind: str, default: Any, symbol: str, meaning: str, valid: Any, unit: str) -> Any:
    metadata = {"kind": kind, "symbol": symbol, "meaning": meaning, "valid": valid, "unit": unit}
    return dataclasses.field(default=default, metadata=metadata)


def traced(default: float, symbol: str, meaning: str, valid: str, unit: str = "") -> Any:
    """Declare a field for a number that training or the data law reads.

    Args:
        default: The default value. An int makes an integer field.
        symbol: The symbol of the paper, which is a second name of the field.
        meaning: A short phrase for messages and tables.
        valid: The interval of valid values, such as "(0, inf)" or "[0, 1]".
        unit: The unit, if there is one.

    Returns:
        A dataclass field, to be annotated as `float` or `int`.

    Raises:
        InputError: `valid` is not an interval.

    Example:
        >>> import jaxtheory
        >>> class Config(jaxtheory.Config):
        ...     rate: float = jaxtheory.traced(0.1, "eta", "learning rate", "(0, inf)")
        >>> Config(eta=0.5).rate
        0.5
    """
    return _field("traced", default, symbol, meaning, _interval(symbol, valid), unit)


def evaluation(default: float, symbol: str, meaning: str, valid: str, unit: str = "") -> Any:
    """Declare a field for a number that only metrics, baselines and analyses read.

    A sweep varies it without training again.

    Args:
        default: The default value. An int makes an integer field.
        symbol: The symbol of the paper, which is a second name of the field.
        meaning: A short phrase for messages and tables.
        valid: The interval of valid values, such as "(0, inf)" or "[0, 1]".
        unit: The unit, if there is one.

    Returns:
        A dataclass field, to be annotated as `float` or `int`.

    Raises:
        InputError: `valid` is not an interval.

    Example:
        >>> import jaxtheory
        >>> class Config(jaxtheory.Config):
        ...     cut: float = jaxtheory.evaluation(0.5, "rho", "pruned share", "[0, 1]")
        >>> Config().cut
        0.5
    """
    return _field("evaluation", default, symbol, meaning, _interval(symbol, valid), unit)


def size(default: int, symbol: str, meaning: str, valid: str = "[1, inf)", unit: str = "") -> Any:
    """Declare a field for a length that shapes arrays.

    Args:
        default: The default length.
        symbol: The symbol of the paper, which is a second name of the field and denotes the
            length in the shapes of arrays.
        meaning: A short phrase for messages and tables.
        valid: The interval of valid lengths.
        unit: The unit, if there is one.

    Returns:
        A dataclass field, to be annotated as `Size`; a config converts an int to a `Size`.

    Raises:
        InputError: `valid` is not an interval.

    Example:
        >>> import jaxtheory
        >>> class Config(jaxtheory.Config):
        ...     width: jaxtheory.Size = jaxtheory.size(4, "d", "width", "[2, inf)")
        >>> Config(d=6).width
        Size(6)
    """
    return _field("size", default, symbol, meaning, _interval(symbol, valid), unit)


def static(default: Any, symbol: str, meaning: str, choices: tuple) -> Any:
    """Declare a field for a hashable Python value, with one compilation per value.

    Args:
        default: The default value.
        symbol: The symbol of the paper, which is a second name of the field.
        meaning: A short phrase for messages and tables.
        choices: The valid values. If empty, every hashable value is valid unless
            `Config.violations` refuses it.

    Returns:
        A dataclass field.

    Example:
        >>> import jaxtheory
        >>> class Config(jaxtheory.Config):
        ...     loss: str = jaxtheory.static("hinge", "loss", "loss function", ("hinge", "log"))
        >>> Config(loss="log")
        Config(loss='log')
    """
    return _field("static", default, symbol, meaning, tuple(choices), "")


def fields(config_type: type) -> dict[str, Field]:
    """Return the descriptions of a Config's fields by name."""
    return _table(config_type)


@functools.cache
def _table(config_type: Any) -> dict[str, Field]:
    table = {}
    for f in dataclasses.fields(config_type):
        meta = f.metadata
        if "kind" not in meta:
            raise InputError(
                f"{config_type.__name__}.{f.name}: make fields with jaxtheory.traced, size, "
                "static or evaluation"
            )
        integer = meta["kind"] == "size" or (
            isinstance(f.default, int) and not isinstance(f.default, bool)
        )
        table[f.name] = Field(
            f.name,
            meta["symbol"],
            meta["kind"],
            f.default,
            meta["valid"],
            meta["meaning"],
            meta["unit"],
            integer,
        )
    return table


def resolve(config_type: type, name: str) -> str:
    """Return the name of a field given by name or paper symbol.

    Raises:
        InputError: The field does not exist; the message names the closest one.
    """
    table = fields(config_type)
    if name in table:
        return name
    by_symbol = {field.symbol: field_name for field_name, field in table.items()}
    if name in by_symbol:
        return by_symbol[name]
    raise InputError(f"unknown field {name!r}; {suggest(name, [*table, *by_symbol])}")


def axis_field(config_type: type, name: str) -> str:
    """Return the name of what an axis varies: `algorithm`, `steps` or a field.

    A field is given by name or symbol.

    Raises:
        InputError: The field does not exist, or all points share its value.
    """
    if name in ("algorithm", "steps"):
        return name
    try:
        return resolve(config_type, name)
    except InputError:
        if name in _NOT_AXES:
            raise InputError(f"{name!r} cannot be an axis: {_NOT_AXES[name]}") from None
        raise


def by_field_name(
    config_type: type, settings: Mapping[str, Any], positional: int = 0
) -> dict[str, Any]:
    """Return settings by field name.

    Args:
        config_type: The class of the config.
        settings: Values by field name or paper symbol.
        positional: The number of leading fields that were given as positional arguments.

    Returns:
        The values by field name.

    Raises:
        InputError: A name is not that of a field, or a field is given twice.
    """
    names = [f.name for f in dataclasses.fields(config_type)]
    values: dict[str, Any] = {}
    for name, value in settings.items():
        field = name if name in names else resolve(config_type, name)
        if field in values or field in names[:positional]:
            raise InputError(f"{field} ({fields(config_type)[field].symbol}): given twice")
        values[field] = value
    return values
