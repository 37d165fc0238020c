"""Configs: frozen dataclasses whose leaves a sweep may vary.

The hyperparameters of a theory are one `Config`, a pytree that every function takes as its last
argument. It has four kinds of fields:

- `traced`: a number, which is a leaf and is swept with vmap without recompilation;
- `size`: a length that shapes arrays, a `Size` with a static capacity and a possibly traced value;
- `static`: a hashable Python value, with one compilation per value;
- `evaluation`: a traced number that only metrics, baselines and analyses read, so that it is swept
  without training again.

Each field has a paper symbol, a meaning and a valid range, written as an interval such as
`"[0, 1)"`.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self, TypeVar, dataclass_transform, no_type_check

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.errors import InputError as InputError
from jaxtheory.core.errors import suggest as suggest

RecordType = TypeVar("RecordType", bound="Record")
ConfigType = TypeVar("ConfigType", bound="Config")

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
    kind: str
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
        A dataclass field, to be annotated as `Size | int`; a config converts an int to a `Size`.

    Raises:
        InputError: `valid` is not an interval.

    Example:
        >>> import jaxtheory
        >>> class Config(jaxtheory.Config):
        ...     width: jaxtheory.Size | int = jaxtheory.size(4, "d", "width", "[2, inf)")
        >>> Config(d=6).width
        Size(cap=6, value=None)
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


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
class Record:
    """Base of frozen dataclasses that are pytrees: all fields except static ones are leaves."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _mend_missing(cls)
        made: Any = dataclasses.dataclass(frozen=True)(cls)
        kinds = {f.name: f.metadata.get("kind") for f in dataclasses.fields(made)}
        static = [name for name, kind in kinds.items() if kind == "static"]
        leaves = [name for name in kinds if name not in static]
        jax.tree_util.register_dataclass(cls, leaves, static)

    def replace(self: RecordType, **changes: Any) -> RecordType:
        """Return a copy with other values of some fields."""
        changed: Any = dataclasses.replace
        out: RecordType = changed(self, **changes)
        return out


def _mend_missing(record: type) -> None:
    """Restore dataclasses.MISSING in the fields of a record's bases.

    cloudpickle, which Dask uses, leaves copies of MISSING in a class that it loads in the process
    that pickled it. A class derived from that one would have wrong defaults.
    """
    for base in record.__mro__[1:]:
        for field in vars(base).get("__dataclass_fields__", {}).values():
            for slot in ("default", "default_factory"):
                if type(getattr(field, slot)).__name__ == type(dataclasses.MISSING).__name__:
                    setattr(field, slot, dataclasses.MISSING)


class Size(Record):
    """A length: `cap` shapes the arrays, and `n` counts the valid leading entries.

    A sweep that pads several lengths to one capacity sets `value`.

    Args:
        cap: The capacity, a Python int.
        value: The number of valid entries, an integer in [0, cap], possibly traced. None means that
            all are valid; masks are then constants at compile time.

    Example:
        >>> import jaxtheory
        >>> padded = jaxtheory.Size(4, 3)
        >>> padded.n, padded.mask().tolist()
        (3, [True, True, True, False])
    """

    cap: int = dataclasses.field(metadata={"kind": "static"})
    value: Any = None

    @property
    def n(self) -> Any:
        """Number of valid entries: a Python int, or a traced integer in a padded sweep."""
        return self.cap if self.value is None else self.value

    def mask(self) -> jax.Array:
        """Return booleans of shape (cap,), True on the n valid leading entries."""
        return jnp.arange(self.cap) < jnp.asarray(self.n, int)

    @property
    def real(self) -> Any:
        """n for arithmetic with floats: a Python int, or a traced default-dtype float."""
        return self.cap if self.value is None else jnp.asarray(self.value, float)

    def weights(self) -> jax.Array:
        """Return the weights (cap,) of a mean over the valid entries: 1/n, and 0 beyond."""
        return jnp.where(self.mask(), 1 / jnp.asarray(self.real, float), 0)

    @classmethod
    def wrap(cls, length: "Size | int") -> "Size":
        """Return a Size unchanged, and an int as the Size of that capacity."""
        return length if isinstance(length, Size) else cls(int(length))


@no_type_check  # fields are numbers, sizes, arrays or tracers by turns
class Config(Record):
    """Base class of the configs of theories.

    Subclass it with fields made by `traced`, `size`, `static` and `evaluation`. Every field can be
    given by its name or by its paper symbol: `Config(K=6)` is `Config(num_states=6)`. Override
    `violations` for conditions between fields.

    Args:
        **settings: Values of fields, by name or symbol; other fields have their defaults.

    Raises:
        InputError: A name is not that of a field, a field is given twice, or a size is not an
            integer. Ranges are checked by `validate`.

    Example:
        >>> import jaxtheory
        >>> class Config(jaxtheory.Config):
        ...     width: jaxtheory.Size | int = jaxtheory.size(4, "d", "width")
        ...     rate: float = jaxtheory.traced(0.1, "eta", "learning rate", "(0, inf)")
        >>> Config(eta=0.5).replace(d=8)
        Config(width=Size(cap=8, value=None), rate=0.5)
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        made, names = cls.__init__, {f.name for f in dataclasses.fields(cls)}

        @functools.wraps(made)
        def init(self: Any, *values: Any, **settings: Any) -> None:
            if values or not settings.keys() <= names:  # JAX passes the names of all fields
                settings = by_field_name(cls, settings, len(values))
            made(self, *values, **settings)

        config_class: Any = cls
        config_class.__init__ = init

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other values of some fields.

        Args:
            **changes: New values, by field name or paper symbol.

        Returns:
            A config of the same class. Ranges are checked by `validate`.

        Raises:
            InputError: A name is not that of a field; the message suggests the closest one. Or a
                field is given twice.

        Example:
            >>> import jaxtheory
            >>> config = jaxtheory.theories.get("random_walk").Config()
            >>> config.replace(K=8).num_states.n
            8
        """
        return super().replace(**by_field_name(type(self), changes))

    def __post_init__(self) -> None:
        for name, field in fields(type(self)).items():
            value = getattr(self, name)
            if (
                field.kind == "size"
                and isinstance(value, int | np.integer)
                and not isinstance(value, bool)
            ):
                object.__setattr__(self, name, Size(int(value)))
            elif field.kind == "size" and isinstance(value, bool | float | str | np.inexact):
                raise InputError(
                    f"{name} ({field.symbol}) = {value!r}: must be an integer in {field.valid} "
                    f"({field.meaning})"
                )

    def pad(self, **capacities: int) -> Self:
        """Return a copy in which size fields have a larger capacity and the same value.

        Args:
            **capacities: New capacities, by field name or paper symbol.

        Returns:
            A config of the same class.

        Raises:
            InputError: A name is not that of a size field, or a capacity is below the present one.

        Example:
            >>> import jaxtheory
            >>> config = jaxtheory.theories.get("random_walk").Config(num_states=6)
            >>> config.pad(num_states=20).num_states
            Size(cap=20, value=6)
        """
        padded = {}
        for name, capacity in capacities.items():
            field = _resolve(type(self), name)
            old = getattr(self, field)
            if not isinstance(old, Size):
                raise InputError(
                    f"{field} cannot be padded: it is not a size, and only sizes have a capacity"
                )
            if capacity < old.cap:
                raise InputError(
                    f"{field}: the capacity must be at least the present {old.cap}, got {capacity}"
                )
            padded[field] = Size(capacity, old.n) if capacity > old.cap else old
        return self.replace(**padded)

    def violations(self) -> list[str]:
        """Return a message for each condition between fields that fails.

        Each message names the field, its value, the valid range and a remedy. Override this method
        for the conditions of a theory; by default there are none.

        Returns:
            The messages; an empty list if every condition holds.
        """
        return []


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


def _resolve(config_type: type, name: str) -> str:
    """Return the name of a field given by name or paper symbol.

    Raises InputError with the closest name if there is no such field.
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

    A field is given by name or symbol. Raises InputError if there is no such field.
    """
    if name in ("algorithm", "steps"):
        return name
    try:
        return _resolve(config_type, name)
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
        field = name if name in names else _resolve(config_type, name)
        if field in values or field in names[:positional]:
            raise InputError(f"{field} ({fields(config_type)[field].symbol}): given twice")
        values[field] = value
    return values


def concretely(condition: Callable, *values: Any) -> bool:
    """True if a condition holds for some entry of concrete values.

    It is False for tracers, so that `violations` may be called on any config.
    """
    return not any(isinstance(v, jax.core.Tracer) for v in values) and bool(
        np.any(condition(*map(np.asarray, values)))
    )


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
            return f"{label} = {value!r}: choose one of {', '.join(map(repr, field.valid))}"
        return None
    number = value.n if isinstance(value, Size) else value
    if isinstance(number, jax.core.Tracer):
        return None
    kind = "an integer" if field.integer else "a number"
    expected = f"{kind} in {field.valid}{' ' + field.unit if field.unit else ''} ({field.meaning})"
    for entry in np.ravel(number):
        if isinstance(entry, bool | np.bool_ | str | bytes | complex) or not np.issubdtype(
            np.asarray(entry).dtype, np.number
        ):
            plain = entry.item() if isinstance(entry, np.generic) else entry
            return f"{label} = {plain!r}: must be {expected}"
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
            f"{field.name} ({field.symbol}) = {value!r}: must be an integer in {field.valid}; "
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
        jaxtheory.core.errors.InputError: clockwise_probability (p) = 2.0: must be a number in ...
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
    field = fields(config_type)[_resolve(config_type, name)]
    why = _violation(field, value)
    if why:
        raise InputError(why)


def canonical(config: ConfigType, dtype: Any) -> ConfigType:
    """Return the config with every traced leaf as a NumPy scalar of one dtype.

    1, 1.0 and float32(1) then share a compilation.
    """
    new: dict[str, Any] = {}
    for name, field in fields(type(config)).items():
        value = getattr(config, name)
        if field.kind in ("traced", "evaluation"):
            new[name] = np.asarray(value, np.int32 if field.integer else dtype)
        elif field.kind == "size" and value.value is not None:
            new[name] = Size(value.cap, np.asarray(value.value, np.int32))
    return config.replace(**new)


def leaf_names(config: Config) -> list[str]:
    """Return the names of the fields that are leaves; a size is one only if it has a value."""
    kinds = {name: field.kind for name, field in fields(type(config)).items()}
    return [
        n
        for n, kind in kinds.items()
        if kind in ("traced", "evaluation")
        or (kind == "size" and getattr(config, n).value is not None)
    ]


def with_leaves(config: ConfigType, leaves: Mapping[str, Any]) -> ConfigType:
    """Return the config with some leaves replaced; the leaf of a size is its value."""
    new = {
        name: Size(getattr(config, name).cap, leaf)
        if isinstance(getattr(config, name), Size)
        else leaf
        for name, leaf in leaves.items()
    }
    return config.replace(**new)
