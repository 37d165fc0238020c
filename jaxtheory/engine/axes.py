"""The axes of a sweep and the points they span.

A *point* is one combination of axis values. Points are never listed: point i has the places
`divmod` gives it along the axes, and what all points have in a field is one array, a *column*.
"""

import functools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.config import (
    Config,
    Field,
    Interval,
    Size,
    axis_word,
    fields,
    validate,
    validate_value,
)
from jaxtheory.core.errors import InputError, suggest
from jaxtheory.core.theory import Theory

MOST = 2**31  # points of a sweep


class Axis(NamedTuple):
    """One dimension of a sweep: its name, its labels, and the values each field takes along it
    (several fields for a zip).
    """

    name: str
    labels: tuple
    values: dict[str, tuple]


class Point(NamedTuple):
    """One combination of axis values."""

    config: Config
    algorithm: str
    steps: int


class Points(NamedTuple):
    """All combinations of axis values, the last axis fastest."""

    config: Config
    axes: tuple[Axis, ...]
    algorithm: str
    steps: int

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis.labels) for axis in self.axes)

    @property
    def total(self) -> int:
        return math.prod(self.shape)

    def axis_of(self, word: str) -> tuple[int, tuple] | None:
        """The place of the axis that a field stands on, and its values there; None for a field that
        does not vary.
        """
        return next(
            ((k, axis.values[word]) for k, axis in enumerate(self.axes) if word in axis.values),
            None,
        )

    def values(self, word: str) -> tuple:
        """The values that a field, `algorithm` or `steps` takes, in the order of its axis."""
        found = self.axis_of(word)
        if found is not None:
            return found[1]
        return (
            getattr(self, word) if word in ("algorithm", "steps") else getattr(self.config, word),
        )

    def codes(self, word: str, at: np.ndarray) -> np.ndarray:
        """Per point of `at`, the place of its value of a field in `values(word)`."""
        found = self.axis_of(word)
        if found is None:
            return np.zeros(len(at), np.int32)
        place, values = found
        stride = math.prod(self.shape[place + 1 :])
        return (at // stride % len(values)).astype(np.int32)

    def column(self, word: str, at: np.ndarray) -> np.ndarray:
        """Per point of `at`, the value of a numeric field (of a size its n)."""
        plain = [value.n if isinstance(value, Size) else value for value in self.values(word)]
        return np.array(plain)[self.codes(word, at)]

    def point(self, i: int) -> Point:
        """Point i."""
        at = self.taken(i)
        name, length = at.pop("algorithm", self.algorithm), at.pop("steps", self.steps)
        return Point(self.config.replace(**at), name, length)

    def taken(self, i: int) -> dict[str, Any]:
        """The values of point i along the axes."""
        places = np.unravel_index(i, self.shape) if self.axes else ()
        return {
            word: values[k]
            for axis, k in zip(self.axes, places, strict=True)
            for word, values in axis.values.items()
        }


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
    if (
        isinstance(steps, bool)
        or not isinstance(steps, int | np.integer | float)
        or steps != int(steps)
        or not 0 <= steps < 2**31
    ):
        raise InputError(f"steps = {steps!r}: must be an integer in [0, 2^31)")
    return int(steps)


def checked_algorithm(theory: Theory, algorithm: str | None) -> str:
    """The name of an algorithm of the theory (None: its first), or InputError with the closest
    name.
    """
    name = next(iter(theory.algorithms)) if algorithm is None else algorithm
    if name not in theory.algorithms:
        raise InputError(
            f"{theory.name} has no algorithm {name!r}; {suggest(str(name), theory.algorithms)}"
        )
    return name


def read_axes(theory: Theory, vary: Mapping | None, zipped: Any) -> tuple[Axis, ...]:
    """The axes of `vary` and `zip`, with every value checked. Raises InputError for unknown fields,
    bad values, uneven or repeated axes.
    """
    groups = [(name, {name: values}) for name, values in (vary or {}).items()]
    groups += [
        (next(iter(group), ""), dict(group))
        for group in ([zipped] if isinstance(zipped, Mapping) else zipped or [])
    ]
    axes = [read_axis(theory, first, group) for first, group in groups]
    words = [word for axis in axes for word in axis.values]
    for word in sorted({word for word in words if words.count(word) > 1}):
        raise InputError(f"{word} stands on two axes")
    return tuple(axes)


def read_axis(theory: Theory, first: str, group: Mapping[str, Any]) -> Axis:
    """One axis: the fields of a group, the first of which names it; a first key that is no field
    labels the dimension.
    """
    if not group:
        raise InputError("zip: an empty group of axes")
    values: dict[str, tuple] = {}
    labels, name = (), first
    for key, raw in group.items():
        try:
            word = axis_word(theory.Config, key)
        except InputError:
            if len(group) == 1 or key != first:
                raise
            word = ""
        entries = read_values(theory, key, word, raw)
        if word:
            values[word] = entries
        if key == first:
            labels, name = entries, word or key
    if len({len(entries) for entries in [labels, *values.values()]}) > 1:
        raise InputError(
            "zip: "
            + ", ".join(f"{w} has {len(v)} values" for w, v in values.items())
            + "; they must be equally many"
        )
    if len(set(labels)) < len(labels):
        raise InputError(f"{name}: a value stands twice on the axis {list(labels)}")
    return Axis(name, labels, values)


def read_values(theory: Theory, key: str, word: str, raw: Any) -> tuple:
    """The values of one axis as plain Python values, checked against the field."""
    if isinstance(raw, str | Mapping) or (
        not hasattr(raw, "__len__") and not hasattr(raw, "__iter__")
    ):
        raise InputError(f"{key}: give a list of values, not {raw!r}")
    if isinstance(raw, np.ndarray):  # there may be millions
        raw = raw.tolist()
    refuse_tracers(theory.name, list(raw))
    entries = tuple(
        v.item() if isinstance(v, np.generic) or (hasattr(v, "ndim") and v.ndim == 0) else v
        for v in raw
    )
    if not entries:
        raise InputError(f"{key}: an empty list of values")
    if word == "algorithm":
        return tuple(checked_algorithm(theory, v) for v in entries)
    if word == "steps":
        return tuple(checked_steps(v) for v in entries)
    if word:
        field = fields(theory.Config)[word]
        if not all_in_range(field, entries):
            for v in entries:
                validate_value(theory.Config, word, v)
        return tuple(
            int(v) if field.integer else float(v) if field.kind in ("traced", "evaluation") else v
            for v in entries
        )
    return entries


def all_in_range(field: Field, entries: tuple) -> bool:
    """Whether plain numbers, of which there may be millions, are all valid for a field."""
    if {*map(type, entries)} - {int, float} or not isinstance(field.valid, Interval):
        return False
    low, high = min(entries), max(entries)
    finite = all(map(math.isfinite, entries)) and max(abs(low), abs(high)) < 2**31
    whole = not field.integer or {*map(type, entries)} == {int}
    return finite and whole and low in field.valid and high in field.valid


def check_points(points: Points) -> None:
    """Raise InputError for the first point whose fields do not fit together.

    Points that differ in numbers only are judged at once, their fields being arrays; where the
    conditions of a config cannot take arrays, or do not hold for all, one after the other.
    """
    if points.total >= MOST:
        counts = ", ".join(f"{axis.name} {len(axis.labels)}" for axis in points.axes)
        raise InputError(f"{points.total} points ({counts}): there can be {MOST - 1} at most")
    table = fields(type(points.config))
    words = [word for axis in points.axes for word in axis.values]
    shaped = [
        w for w in words if w in ("algorithm", "steps") or table[w].kind in ("size", "static")
    ]
    numbers = [word for word in words if word not in shaped]
    every = np.arange(points.total)
    group = functools.reduce(
        lambda code, w: code * len(points.values(w)) + points.codes(w, every),
        shaped,
        np.zeros(points.total, int),
    )
    order = np.argsort(group, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        check_point(points, int(members[0]))
        many = points.point(int(members[0])).config.replace(
            **{word: points.column(word, members) for word in numbers}
        )
        if len(members) > 1 and not fits_everywhere(many):
            for i in members.tolist():
                check_point(points, i)


def fits_everywhere(config: Config) -> bool:
    """Whether the conditions between fields hold for a config of arrays; False where that cannot be
    said at once.
    """
    try:
        return not config.violations()
    except Exception:  # conditions written for numbers raise anything when given arrays
        return False


def check_point(points: Points, i: int) -> None:
    """Raise InputError where the fields of point i do not fit together."""
    try:
        validate(points.point(i).config)
    except InputError as error:
        at, gap = points.taken(i), "\n" if "\n" in str(error) else " "
        raise InputError(
            f"at {', '.join(f'{w}={v}' for w, v in at.items())}:{gap}{error}" if at else str(error)
        ) from None
