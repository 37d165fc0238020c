"""Configs: frozen dataclasses whose leaves a sweep may vary.

The hyperparameters of a theory are one `Config`, a pytree that every function takes as its last
argument. It has four kinds of fields:

- `traced`: a number, which is a leaf and is swept with vmap without recompilation;
- `size`: a length that shapes arrays, a `Size` with a static capacity and a possibly traced value;
- `static`: a hashable Python value, with one compilation per value;
- `evaluation`: a traced number that only metrics, baselines and analyses read, so that it is swept
  without training again.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Never, Self, TypeVar, dataclass_transform, no_type_check

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.fields import by_field_name, resolve
from jaxtheory.core.fields import evaluation as evaluation
from jaxtheory.core.fields import fields as fields
from jaxtheory.core.fields import size as size
from jaxtheory.core.fields import static as static
from jaxtheory.core.fields import traced as traced
from jaxtheory.texts.errors import InputError
from jaxtheory.texts.faces import describe_value

RecordType = TypeVar("RecordType", bound="Record")
ConfigType = TypeVar("ConfigType", bound="Config")


# Not `frozen_default`, with which mypy would read an inherited size field as `Size | int`. Not
# `eq_default`, with which pyright would take a record that is not frozen for unhashable.
@dataclass_transform(eq_default=False, field_specifiers=(dataclasses.field,))
class Record:
    """Base of frozen dataclasses that are pytrees: all fields except static ones are leaves."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _mend_missing(cls)
        record: Any = dataclasses.dataclass(frozen=True, repr=False)(cls)
        kinds = {f.name: f.metadata.get("kind") for f in dataclasses.fields(record)}
        static = [name for name, kind in kinds.items() if kind == "static"]
        leaves = [name for name in kinds if name not in static]
        jax.tree_util.register_dataclass(cls, leaves, static)

    def __repr__(self) -> str:
        named: Any = dataclasses.fields
        texts = (_describe(self, field.name) for field in named(self))
        return f"{type(self).__qualname__}({', '.join(texts)})"

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

    A sweep that pads several lengths to one capacity sets `value`. A size field of a config is
    annotated as `Size`: the config takes an int or a Size for it, and its attribute is a Size.

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

    if TYPE_CHECKING:  # to type checkers, a field that is given as an int and read as a Size

        def __get__(self, config: Any, kind: Any = None) -> "Size": ...

        def __set__(self, config: Never, length: "Size | int") -> None: ...

    def __repr__(self) -> str:
        value = "" if self.value is None else f", {describe_value(self.value)}"
        return f"Size({self.cap}{value})"

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
        ...     width: jaxtheory.Size = jaxtheory.size(4, "d", "width")
        ...     rate: float = jaxtheory.traced(0.1, "eta", "learning rate", "(0, inf)")
        >>> Config(eta=0.5).replace(d=8)
        Config(width=8, rate=0.5)
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        constructor, names = cls.__init__, {f.name for f in dataclasses.fields(cls)}

        @functools.wraps(constructor)
        def init(self: Any, *values: Any, **settings: Any) -> None:
            if values or not settings.keys() <= names:  # JAX passes the names of all fields
                settings = by_field_name(cls, settings, len(values))
            constructor(self, *values, **settings)

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
                and not isinstance(value, bool | np.timedelta64)
            ):
                object.__setattr__(self, name, Size(int(value)))
            elif field.kind == "size" and isinstance(
                value, bool | float | str | np.inexact | np.timedelta64
            ):
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
            Size(20, 6)
        """
        padded = {}
        for name, capacity in capacities.items():
            field = resolve(type(self), name)
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


def concretely(condition: Callable, *values: Any) -> bool:
    """True if a condition holds for some entry of concrete values.

    It is False for tracers, so that `violations` may be called on any config.
    """
    return not any(isinstance(v, jax.core.Tracer) for v in values) and bool(
        np.any(condition(*map(np.asarray, values)))
    )


def describe_changes(config: Config) -> str:
    """Return the fields of a config that are not at their defaults, such as "length=11, p=0.7"."""
    default = type(config)()
    texts = {name: _describe(config, name) for name in fields(type(config))}
    return ", ".join(text for name, text in texts.items() if text != _describe(default, name))


def _describe(record: Record, name: str) -> str:
    """Return a field of a record and its value."""
    value = getattr(record, name)
    plain = value.cap if isinstance(value, Size) and value.value is None else value
    return f"{name}={describe_value(plain)}"


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
