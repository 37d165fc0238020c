"""The axes of a sweep and the points they span.

A *point* is one combination of axis values. Points are never listed: the indices of point i along
the axes follow from i by `divmod`, and the values of many points in a field are one array, a
*column*.
"""

import collections
import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxtheory.core.config import Config, Size, fields
from jaxtheory.core.extended import WEIGHTS
from jaxtheory.core.fields import axis_field
from jaxtheory.core.theory import Theory, outputs
from jaxtheory.core.validation import validate
from jaxtheory.engine.request.values import MOST as MOST
from jaxtheory.engine.request.values import Values, read_values
from jaxtheory.texts.decimals import python_value
from jaxtheory.texts.errors import InputError, brief
from jaxtheory.texts.labels import name_fault

_TAKEN = ("seed", "seeds", "step", "diverged_at", "stopped_at")  # names that every dataset has


class Axis(NamedTuple):
    """One dimension of a sweep.

    values: the values of each field along the axis; a zip has several fields.
    """

    name: str
    labels: Values
    values: dict[str, Values]


class PointValues(NamedTuple):
    """The config, algorithm and number of steps of one point."""

    config: Config
    algorithm: str
    steps: int


class Points(NamedTuple):
    """All combinations of axis values, with the last axis varying fastest."""

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
        """Return the index of the axis of a field and its values there, or None if it is fixed."""
        return next(
            ((k, axis.values[word]) for k, axis in enumerate(self.axes) if word in axis.values),
            None,
        )

    def values(self, word: str) -> Values:
        """Return the values of a field, `algorithm` or `steps`, in the order of its axis."""
        axis = self.axis_of(word)
        if axis is not None:
            return axis[1]
        return (
            getattr(self, word) if word in ("algorithm", "steps") else getattr(self.config, word),
        )

    def codes(self, word: str, at: np.ndarray) -> np.ndarray:
        """Return for each point of `at` the index of its value in `values(word)`."""
        axis = self.axis_of(word)
        if axis is None:
            return np.zeros(len(at), np.int32)
        place, values = axis
        stride = math.prod(self.shape[place + 1 :])
        return (at // stride % len(values)).astype(np.int32)

    def column(self, word: str, at: np.ndarray) -> np.ndarray:
        """Return for each point of `at` the value of a numeric field; for a size it is n."""
        values = self.values(word)
        if not isinstance(values, np.ndarray):
            values = np.array([v.n if isinstance(v, Size) else v for v in values])
        return values[self.codes(word, at)]

    def point(self, i: int) -> PointValues:
        """Return point i."""
        at = self.coordinates(i)
        name, length = at.pop("algorithm", self.algorithm), at.pop("steps", self.steps)
        return PointValues(self.config.replace(**at), name, length)

    def coordinates(self, i: int) -> dict[str, Any]:
        """Return the values of point i along the axes."""
        places = np.unravel_index(i, self.shape) if self.axes else ()
        return {
            word: python_value(values[k])
            for axis, k in zip(self.axes, places, strict=True)
            for word, values in axis.values.items()
        }


def in_order(codes: np.ndarray) -> np.ndarray:
    """Renumber codes as 0, 1, ... in the order of their first appearance."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def codes_of(
    points: Points, words: Sequence[str], at: np.ndarray, same: Callable = lambda value: value
) -> np.ndarray:
    """Return a number per point, equal for points with equal `same(value)` of all named fields."""
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
    """Numbers 0, 1, ... that are equal where both type and value are equal."""
    if isinstance(values, np.ndarray):
        return np.unique(values, return_inverse=True)[1]
    table: dict[Any, int] = {}
    return np.array([table.setdefault((type(value), value), len(table)) for value in values])


def read_axes(theory: Theory, vary: Mapping | None, zipped: Any) -> tuple[Axis, ...]:
    """Return the axes of `vary` and `zip`, with every value checked.

    Raises InputError for unknown fields, invalid values, repeated fields, and zips of unequal
    length.
    """
    vary, zipped = {} if vary is None else vary, [] if zipped is None else zipped
    zipped = zipped if isinstance(zipped, list | tuple) else [zipped]
    for name, group in [("vary", vary), *(("zip", group) for group in zipped)]:
        if not isinstance(group, Mapping):
            raise InputError(f"{name}: must be a dictionary {{field: values}}, got {brief(group)}")
    groups = [(name, {name: values}) for name, values in vary.items()]
    groups += [(next(iter(group), ""), dict(group)) for group in zipped]
    axes = [_read_axis(theory, first, group) for first, group in groups]
    words = [word for axis in axes for word in axis.values]
    for word in sorted({word for word in words if words.count(word) > 1}):
        raise InputError(f"{word} is on two axes; remove one of them")
    return tuple(axes)


def _read_axis(theory: Theory, first: str, group: Mapping[str, Any]) -> Axis:
    """One axis from a group of fields, named after the first.

    If the first key of several is not a field, its values label the dimension.
    """
    if not group:
        raise InputError("zip: a group of axes is empty; give {field: values}")
    for key in group:
        if not isinstance(key, str):
            raise InputError(f"{brief(key)} is a {type(key).__name__}, expected a name of a field")
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
            _check_dimension(theory, key)
        entries = read_values(theory, key, word, raw)
        if word:
            values[word] = entries
        if key == first:
            labels, name = entries, word or key
    if len({len(entries) for entries in [labels, *values.values()]}) > 1:
        raise InputError(
            "zip: "
            + ", ".join(f"{w} has {len(v)} values" for w, v in values.items())
            + "; all must have the same number of values"
        )
    if twice := _repeated(labels):
        raise InputError(
            f"{name}: the value {brief(twice[0])} is on the axis twice; remove one of them"
        )
    return Axis(name, labels, values)


def _repeated(values: Values) -> list:
    """The first repeated value as a list of one, or an empty list.

    A dataset has integers as floats where there are floats, and values of several types as strings,
    so that values must differ in this form as well.
    """
    if isinstance(values, np.ndarray):
        distinct, counts = np.unique(values, return_counts=True)
        return distinct[counts > 1][:1].tolist()
    kinds = {*map(type, values)}
    stored = values
    if len(kinds) > 1:
        stored = tuple(map(float if kinds == {int, float} else str, values))
    for form in (values, stored):
        if twice := [value for value, count in collections.Counter(form).items() if count > 1]:
            return twice[:1]
    return []


def _check_dimension(theory: Theory, name: str) -> None:
    """Raise InputError if labels cannot have this name, because a dataset has it already."""
    if fault := name_fault(name):
        raise InputError(f"zip: {fault}")
    used_names = {*_TAKEN, *(dim for dims in theory.dims.values() for dim in dims)}
    with contextlib.suppress(Exception):  # a theory that fails is refused with its own message
        used_names.update(
            signature.partition("(")[0] for group in outputs(theory).values() for signature in group
        )
    numbered = name.rpartition("_")
    if (
        name in used_names
        or name.startswith((WEIGHTS, "predicted_"))
        or (numbered[0] in used_names and numbered[2].isdecimal())
    ):
        raise InputError(
            f"zip: {name!r} is the name of a variable or a dimension of the dataset; choose "
            "another for the labels"
        )


def check_points(points: Points) -> None:
    """Raise InputError for the first point whose fields violate a condition of the config.

    Points that differ only in numbers are checked at once, with arrays as fields.
    """
    if points.total > MOST:
        counts = ", ".join(f"{axis.name} {len(axis.labels)}" for axis in points.axes)
        raise InputError(
            f"{points.total} points ({counts}): a sweep has at most {MOST}; split an axis over "
            "several sweeps"
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


def check_precision(points: Points, dtype: str) -> None:
    """Raise InputError for a field whose value is zero or infinite in a float type alone."""
    limits = np.finfo(dtype)
    for name, field in fields(type(points.config)).items():
        if field.kind not in ("traced", "evaluation") or field.integer:
            continue
        values = np.abs(np.asarray(points.values(name), float))
        lost = values[(values != 0) & ((values < limits.tiny) | (values > limits.max))]
        if len(lost):
            raise InputError(
                f"{name} ({field.symbol}): {lost[0]:g} is {'0' if lost[0] < 1 else 'infinite'} in "
                f"{dtype}, whose numbers go from {limits.tiny:.2g} to {limits.max:.2g}; pass "
                "dtype='float64'"
            )


def _check_members(points: Points, members: np.ndarray, numbers: list[str]) -> None:
    """Raise InputError for the first invalid one of some points that differ only in numbers.

    If the conditions of the config cannot take arrays, the points are checked one by one.
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
    """True if the conditions between fields hold for arrays, None if they cannot take arrays."""
    try:
        return not config.violations()
    except Exception:  # conditions written for numbers raise anything when given arrays
        return None


def _check_point(points: Points, i: int) -> None:
    """Raise InputError if the fields of point i violate a condition of the config."""
    try:
        validate(points.point(i).config)
    except InputError as error:
        at, gap = points.coordinates(i), "\n" if "\n" in str(error) else " "
        raise InputError(
            f"at {', '.join(f'{w}={v}' for w, v in at.items())}:{gap}{error}" if at else str(error)
        ) from None
