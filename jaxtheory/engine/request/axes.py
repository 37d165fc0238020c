"""The axes of a sweep and the points they span.

A *point* is one combination of axis values. Points are never listed: point i has the places
`divmod` gives it along the axes, and what all points have in a field is one array, a *column*.
"""

import collections
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxtheory.core.config import Config, Size, axis_field, fields, validate
from jaxtheory.core.decimals import python_value
from jaxtheory.core.errors import InputError
from jaxtheory.core.theory import Theory
from jaxtheory.engine.request.values import Values, brief, read_values

MOST = 2**25  # points of a sweep: planning takes about a microsecond and 200 bytes of each


class Axis(NamedTuple):
    """One dimension of a sweep: its name, its labels, and the values each field takes along it
    (several fields for a zip).
    """

    name: str
    labels: Values
    values: dict[str, Values]


class PointValues(NamedTuple):
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

    def axis_of(self, word: str) -> tuple[int, Values] | None:
        """The place of the axis that a field stands on, and its values there; None for a field that
        does not vary.
        """
        return next(
            ((k, axis.values[word]) for k, axis in enumerate(self.axes) if word in axis.values),
            None,
        )

    def values(self, word: str) -> Values:
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
        values = self.values(word)
        if not isinstance(values, np.ndarray):
            values = np.array([v.n if isinstance(v, Size) else v for v in values])
        return values[self.codes(word, at)]

    def point(self, i: int) -> PointValues:
        """Point i."""
        at = self.taken(i)
        name, length = at.pop("algorithm", self.algorithm), at.pop("steps", self.steps)
        return PointValues(self.config.replace(**at), name, length)

    def taken(self, i: int) -> dict[str, Any]:
        """The values of point i along the axes."""
        places = np.unravel_index(i, self.shape) if self.axes else ()
        return {
            word: python_value(values[k])
            for axis, k in zip(self.axes, places, strict=True)
            for word, values in axis.values.items()
        }


def in_order(codes: np.ndarray) -> np.ndarray:
    """Equal codes get equal numbers 0, 1, ..., counted in the order of their first appearance."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def codes_of(
    points: Points, words: Sequence[str], at: np.ndarray, same: Callable = lambda value: value
) -> np.ndarray:
    """A number per point that is equal where all the named fields are, in the sense of `same`."""
    total = np.zeros(len(at), np.int64)
    for word in words:
        values = points.values(word)
        if not isinstance(values, np.ndarray):
            values = tuple(map(same, values))
        codes = _codes_of_values(values)
        if (n := codes.max() + 1) > 1:
            total = in_order(total * n + codes[points.codes(word, at)])
    return total


def _codes_of_values(values: Values) -> np.ndarray:
    """Numbers 0, 1, ... that are equal where type and value are."""
    if isinstance(values, np.ndarray):
        return np.unique(values, return_inverse=True)[1]
    table: dict[Any, int] = {}
    return np.array([table.setdefault((type(value), value), len(table)) for value in values])


def read_axes(theory: Theory, vary: Mapping | None, zipped: Any) -> tuple[Axis, ...]:
    """The axes of `vary` and `zip`, with every value checked. Raises InputError for unknown fields,
    bad values, uneven or repeated axes.
    """
    vary, zipped = vary or {}, zipped or []
    zipped = zipped if isinstance(zipped, list | tuple) else [zipped]
    for name, group in [("vary", vary), *(("zip", group) for group in zipped)]:
        if not isinstance(group, Mapping):
            raise InputError(f"{name}: give {{field: values}}, not {brief(group)}")
    groups = [(name, {name: values}) for name, values in vary.items()]
    groups += [(next(iter(group), ""), dict(group)) for group in zipped]
    axes = [_read_axis(theory, first, group) for first, group in groups]
    words = [word for axis in axes for word in axis.values]
    for word in sorted({word for word in words if words.count(word) > 1}):
        raise InputError(f"{word} stands on two axes")
    return tuple(axes)


def _read_axis(theory: Theory, first: str, group: Mapping[str, Any]) -> Axis:
    """One axis: the fields of a group, the first of which names it; a first key that is no field
    labels the dimension.
    """
    if not group:
        raise InputError("zip: an empty group of axes")
    values: dict[str, Values] = {}
    labels: Values = ()
    name = first
    for key, raw in group.items():
        try:
            word = axis_field(theory.Config, key)
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
    if twice := _repeated(labels):
        raise InputError(f"{name}: the value {twice[0]!r} stands twice on the axis")
    return Axis(name, labels, values)


def _repeated(values: Values) -> list:
    """The first value that stands twice, in a list; an empty one without."""
    if isinstance(values, np.ndarray):
        found, counts = np.unique(values, return_counts=True)
        return found[counts > 1][:1].tolist()
    return [value for value, count in collections.Counter(values).items() if count > 1][:1]


def check_points(points: Points) -> None:
    """Raise InputError for the first point whose fields do not fit together. Points that differ in
    numbers only are judged at once, their fields being arrays.
    """
    if points.total > MOST:
        counts = ", ".join(f"{axis.name} {len(axis.labels)}" for axis in points.axes)
        raise InputError(
            f"{points.total} points ({counts}): a sweep has at most {MOST}; cut an axis into sweeps"
        )
    table = fields(type(points.config))
    words = [word for axis in points.axes for word in axis.values if word in table]
    shaped = [word for word in words if table[word].kind in ("size", "static")]
    numbers = [word for word in words if word not in shaped]
    group = codes_of(points, shaped, np.arange(points.total))
    order = np.argsort(group, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        _check_point(points, int(members[0]))
        _check_members(points, members, numbers)


def _check_members(points: Points, members: np.ndarray, numbers: list[str]) -> None:
    """Raise InputError for the first of some points that differ in numbers only whose fields do not
    fit together; where the conditions of a config cannot take arrays, one is asked after the other.
    """
    first = points.point(int(members[0])).config
    if len(members) == 1:
        return _check_point(points, int(members[0]))
    fit = _fit_together(first.replace(**{word: points.column(word, members) for word in numbers}))
    if fit is None:
        for i in members.tolist():
            _check_point(points, i)
    elif not fit:
        half = len(members) // 2
        _check_members(points, members[:half], numbers)
        _check_members(points, members[half:], numbers)


def _fit_together(config: Config) -> bool | None:
    """True if the conditions between fields hold for a config of arrays; None where that cannot be
    said at once.
    """
    try:
        return not config.violations()
    except Exception:  # conditions written for numbers raise anything when given arrays
        return None


def _check_point(points: Points, i: int) -> None:
    """Raise InputError where the fields of point i do not fit together."""
    try:
        validate(points.point(i).config)
    except InputError as error:
        at, gap = points.taken(i), "\n" if "\n" in str(error) else " "
        raise InputError(
            f"at {', '.join(f'{w}={v}' for w, v in at.items())}:{gap}{error}" if at else str(error)
        ) from None
