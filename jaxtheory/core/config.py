"""Configs: frozen dataclasses whose leaves a sweep may vary.

A theory's hyper-parameters are one `Config`, a pytree passed as the last argument of every
function. Its fields are of four kinds:

- `traced`: a number, a leaf; swept by vmap without recompilation;
- `size`: a length that shapes arrays, a `Size` with a static capacity and a possibly traced value;
- `static`: a hashable Python value; one compilation per value;
- `evaluation`: a traced number that only metrics, baselines and analyses read; swept without
  training again.

Each field carries its paper symbol, its meaning and its valid range, written as an interval such as
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

_NOT_AXES = {  # arguments of a sweep that are common to all its points -> what to write
    "seed": "every point is run for each seed of seeds=; give seeds=[0, 1, 2] or a count",
    "seeds": "every point is run for each seed of seeds=; give seeds=[0, 1, 2] or a count",
    "key": "one key draws a sweep; give several seeds=, or call sweep for each key",
    "step": "a run is recorded at the steps of record=; vary 'steps' for runs of several lengths",
    "record": "all runs are recorded at the same steps; give record=",
    "start": "all points start alike; give start=, or call sweep for each start",
    "stop": "all points share one stop rule; give stop=",
    "problem": "all points share one problem; call sweep for each problem",
    "dtype": "all points share one dtype; call sweep for each dtype",
    "buckets": "all points share one way of compilation; give buckets=",
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
    """What a config field is: `kind` in {traced, size, static, evaluation}; `valid` an Interval, or
    the choices of a static field.
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
    """A number that training or the data law reads; an int default makes an integer field."""
    return _field("traced", default, symbol, meaning, _interval(symbol, valid), unit)


def evaluation(default: float, symbol: str, meaning: str, valid: str, unit: str = "") -> Any:
    """A number that only metrics, baselines and analyses read."""
    return _field("evaluation", default, symbol, meaning, _interval(symbol, valid), unit)


def size(default: int, symbol: str, meaning: str, valid: str = "[1, inf)", unit: str = "") -> Any:
    """A length that shapes arrays; annotate the field as `Size | int`."""
    return _field("size", default, symbol, meaning, _interval(symbol, valid), unit)


def static(default: Any, symbol: str, meaning: str, choices: tuple) -> Any:
    """A hashable Python value, one of `choices`; without choices any, for `violations` to judge."""
    return _field("static", default, symbol, meaning, tuple(choices), "")


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
class Record:
    """Base of frozen dataclasses that are pytrees: all fields are leaves but the static ones."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _mend_missing(cls)
        made: Any = dataclasses.dataclass(frozen=True)(cls)
        kinds = {f.name: f.metadata.get("kind") for f in dataclasses.fields(made)}
        static = [name for name, kind in kinds.items() if kind == "static"]
        leaves = [name for name in kinds if name not in static]
        jax.tree_util.register_dataclass(cls, leaves, static)

    def replace(self: RecordType, **changes: Any) -> RecordType:
        """The same with other values of some fields."""
        changed: Any = dataclasses.replace
        out: RecordType = changed(self, **changes)
        return out


def _mend_missing(record: type) -> None:
    """Put dataclasses.MISSING back into the fields of a record's bases. cloudpickle, which Dask
    uses, leaves copies of it in a class that it loads in the process that pickled it, and a class
    derived from that one would have wrong defaults.
    """
    for base in record.__mro__[1:]:
        for field in vars(base).get("__dataclass_fields__", {}).values():
            for slot in ("default", "default_factory"):
                if type(getattr(field, slot)).__name__ == type(dataclasses.MISSING).__name__:
                    setattr(field, slot, dataclasses.MISSING)


class Size(Record):
    """A length: `cap` shapes the arrays, `n` counts the valid leading entries.

    `value` None means n = cap and folds away at compile time; a sweep that pads several lengths
    into one capacity sets it.
    """

    cap: int = dataclasses.field(metadata={"kind": "static"})
    value: Any = None

    @property
    def n(self) -> Any:
        """The number of valid entries: a Python int, or a traced integer in a padded sweep."""
        return self.cap if self.value is None else self.value

    def mask(self) -> jax.Array:
        """(cap,) booleans, True on the n valid leading entries."""
        return jnp.arange(self.cap) < jnp.asarray(self.n, int)

    @property
    def real(self) -> Any:
        """n for arithmetic with floats: a Python int, or a traced number of the default float
        dtype.
        """
        return self.cap if self.value is None else jnp.asarray(self.value, float)

    def weights(self) -> jax.Array:
        """(cap,) weights of a mean over the valid entries: 1/n, zero beyond."""
        return jnp.where(self.mask(), 1 / jnp.asarray(self.real, float), 0)

    @classmethod
    def wrap(cls, length: "Size | int") -> "Size":
        return length if isinstance(length, Size) else cls(int(length))


@no_type_check  # fields are numbers, sizes, arrays or tracers by turns
class Config(Record):
    """Base of every theory's Config. Subclass it with fields made by `traced`, `size`, `static` and
    `evaluation`.

    Fields are named by word or by paper symbol: `Config(K=6)` is `Config(num_states=6)`. Override
    `violations` for conditions between fields.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        made, known = cls.__init__, {f.name for f in dataclasses.fields(cls)}

        @functools.wraps(made)
        def init(self: Any, *values: Any, **settings: Any) -> None:
            if values or not settings.keys() <= known:  # JAX makes configs by all their words
                settings = by_field_name(cls, settings, len(values))
            made(self, *values, **settings)

        made_by_words: Any = cls
        made_by_words.__init__ = init

    def replace(self, **changes: Any) -> Self:
        """The same with other values of some fields, named by word or symbol.

        Raises InputError for a name that is not a field's, with the closest one.
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
        """Raise the capacity of size fields and keep their values: `config.pad(num_states=20)`."""
        padded = {}
        for name, capacity in capacities.items():
            word = _resolve(type(self), name)
            old = getattr(self, word)
            if not isinstance(old, Size):
                raise InputError(f"{word} is no size field; only sizes can be padded")
            if capacity < old.cap:
                raise InputError(f"{word}: capacity {capacity} is below the present {old.cap}")
            padded[word] = Size(capacity, old.n) if capacity > old.cap else old
        return self.replace(**padded)

    def violations(self) -> list[str]:
        """Messages for conditions between fields that fail, each naming field, value, range and
        remedy.
        """
        return []


def fields(config_type: type) -> dict[str, Field]:
    """The table of a Config's fields, by word."""
    return _table(config_type)


@functools.cache
def _table(config_type: Any) -> dict[str, Field]:
    table = {}
    for f in dataclasses.fields(config_type):
        meta = f.metadata
        if "kind" not in meta:
            raise InputError(
                f"{config_type.__name__}.{f.name}: make fields with traced, size, static or "
                "evaluation"
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
    """The word of a field given by word or paper symbol. Raises InputError with the closest name
    when there is none.
    """
    table = fields(config_type)
    if name in table:
        return name
    by_symbol = {field.symbol: word for word, field in table.items()}
    if name in by_symbol:
        return by_symbol[name]
    raise InputError(f"unknown field {name!r}; {suggest(name, [*table, *by_symbol])}")


def axis_word(config_type: type, name: str) -> str:
    """The name of what an axis varies: `algorithm`, `steps`, or a field, given by word or symbol.
    Raises InputError.
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
    """Settings of fields, named by word or symbol, by word.

    Args:
        config_type: the Config.
        settings: values by word or symbol.
        positional: how many of the first fields have been given without a name.

    Raises:
        InputError: for a name that is not a field's, and for a field given twice.
    """
    known = [f.name for f in dataclasses.fields(config_type)]
    found: dict[str, Any] = {}
    for name, value in settings.items():
        word = name if name in known else _resolve(config_type, name)
        if word in found or word in known[:positional]:
            raise InputError(f"{word} ({fields(config_type)[word].symbol}): given twice")
        found[word] = value
    return found


def concretely(condition: Callable, *values: Any) -> bool:
    """Whether a condition holds for some entry of concrete values; False for tracers, so that
    `violations` may be called on any config.
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
    """Why one value of one field is invalid, or None. Tracers pass: a value must be concrete to be
    judged.
    """
    label = f"{field.name} ({field.symbol})"
    if field.kind == "static":
        if isinstance(value, jax.Array | np.ndarray):
            choose = f"; choose one of {', '.join(map(repr, field.valid))}" if field.valid else ""
            return f"{label} is static and takes a plain Python value, not an array{choose}"
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
    """Why a value in a config is of another kind than its field's, or None."""
    if field.integer and isinstance(value, float | np.inexact):
        return (
            f"{field.name} ({field.symbol}) = {value!r}: must be an integer in {field.valid}, "
            f"written {int(value)}"
        )
    return None


def validate(config: Config) -> None:
    """Check every field and the conditions between fields. Raises InputError that lists all
    violations, a line each.
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
    """Check one value of one field, for axes that are read before any config exists."""
    field = fields(config_type)[_resolve(config_type, name)]
    why = _violation(field, value)
    if why:
        raise InputError(why)


def canonical(config: ConfigType, dtype: Any) -> ConfigType:
    """The config with every traced leaf a NumPy scalar of one dtype, so that 1, 1.0 and float32(1)
    share a compilation.
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
    """The fields that are leaves: traced and evaluation fields, and sizes that carry a value."""
    kinds = {name: field.kind for name, field in fields(type(config)).items()}
    return [
        n
        for n, kind in kinds.items()
        if kind in ("traced", "evaluation")
        or (kind == "size" and getattr(config, n).value is not None)
    ]


def with_leaves(config: ConfigType, leaves: Mapping[str, Any]) -> ConfigType:
    """The config with some traced leaves replaced; for size fields the leaf is the value."""
    new = {
        name: Size(getattr(config, name).cap, leaf)
        if isinstance(getattr(config, name), Size)
        else leaf
        for name, leaf in leaves.items()
    }
    return config.replace(**new)
