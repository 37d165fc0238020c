"""What a user asks for, checked: config, algorithm, steps, recorded steps, seeds, axes and the points they span."""

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.config import Config, InputError, fields, resolve, suggest, validate, validate_value
from jaxtheory.core.theory import Theory


class Axis(NamedTuple):
    """One dimension of a sweep: its name, its labels, and the values each field takes along it (several fields for a zip)."""

    name: str
    labels: tuple
    values: dict[str, tuple]


class Point(NamedTuple):
    """One combination of axis values."""

    place: tuple[int, ...]
    config: Config
    algorithm: str
    steps: int


@contextlib.contextmanager
def numerics(dtype: Any = None) -> Iterator[np.dtype]:
    """Within: this float dtype (None: JAX's present setting) and matrix products at precision "highest"."""
    if dtype is not None and str(np.dtype(dtype)) not in ("float32", "float64"):
        raise InputError(f"dtype = {dtype!r}: choose 'float32' or 'float64'")
    wide = jnp.result_type(float) == jnp.float64 if dtype is None else str(np.dtype(dtype)) == "float64"
    with jax.enable_x64(wide), jax.default_matmul_precision("highest"):
        yield np.dtype("float64" if wide else "float32")


def check_type(theory: Theory, config: Config) -> None:
    """A config of this theory, or InputError."""
    if type(config) is not theory.Config:
        raise InputError(
            f"config is a {type(config).__name__} of {type(config).__module__}, expected {theory.name}'s {theory.Config.__qualname__}"
        )


def checked_steps(steps: Any) -> int:
    """A number of steps, or InputError."""
    if isinstance(steps, bool) or not isinstance(steps, int | np.integer | float) or steps != int(steps) or not 0 <= steps < 2**31:
        raise InputError(f"steps = {steps!r}: must be an integer in [0, 2^31)")
    return int(steps)


def checked_algorithm(theory: Theory, algorithm: str | None) -> str:
    """The name of an algorithm of the theory (None: its first), or InputError with the closest name."""
    name = next(iter(theory.algorithms)) if algorithm is None else algorithm
    if name not in theory.algorithms:
        raise InputError(f"{theory.name} has no algorithm {name!r}; {suggest(str(name), theory.algorithms)}")
    return name


def schedule(record: Any, steps: Iterable[int]) -> tuple[np.ndarray, dict[str, set[int]] | None]:
    """The recorded steps, and per metric which of them (None: all metrics at all of them).

    record: None (at most 100, with first and last), n (every n, with first and last), a list of steps, or {metric: any of these}.
    Raises InputError for steps outside [0, steps].
    """
    ends = sorted(set(steps))
    if isinstance(record, Mapping):
        each = {name: {int(t) for t in schedule(r, ends)[0]} for name, r in record.items()}
        return np.array(sorted(set().union(*each.values()))), each
    if record is None:
        places = [np.linspace(0, end, min(end + 1, 100)).round() for end in ends]
    elif isinstance(record, int | np.integer) and not isinstance(record, bool):
        if record < 1:
            raise InputError(f"record = {record}: must be a step interval in [1, inf), a list of steps, or {{metric: steps}}")
        places = [np.append(np.arange(0, end, record), end) for end in ends]
    else:
        try:
            chosen = np.atleast_1d(np.asarray(list(record), dtype=float))
        except (TypeError, ValueError):
            raise InputError(f"record = {record!r}: must be a step interval, a list of steps, or {{metric: steps}}") from None
        if chosen.size == 0 or not np.all((chosen >= 0) & (chosen <= ends[-1]) & (chosen == chosen.round())):
            raise InputError(f"record = {record!r}: steps must be integers in [0, {ends[-1]}], at least one")
        places = [chosen]
    return np.unique(np.concatenate(places)).astype(np.int32), None


def check_record(theory: Theory, algorithm: str, config: Config, which: Mapping[str, Any] | None) -> None:
    """Raise InputError where `record` names a metric the theory does not have."""
    if which is None:
        return
    alg = theory.algorithms[algorithm]

    def metrics(key: Any, config: Config) -> Any:
        problem = theory.problem(key, config)
        return theory.metrics(alg.params(alg.init(key, problem, config), problem, config), problem, config)

    known = jax.eval_shape(metrics, jax.random.key(0), config)
    for name in which:
        if name not in known:
            raise InputError(f"record: unknown metric {name!r}; {suggest(name, known)}")


def read_axes(theory: Theory, vary: Mapping | None, zipped: Any) -> tuple[Axis, ...]:
    """The axes of `vary` and `zip`, with every value checked. Raises InputError for unknown fields, bad values, uneven or repeated axes."""
    groups = [(name, {name: values}) for name, values in (vary or {}).items()]
    groups += [(next(iter(group), ""), dict(group)) for group in ([zipped] if isinstance(zipped, Mapping) else zipped or [])]
    axes: list[Axis] = []
    for first, group in groups:
        if not group:
            raise InputError("zip: an empty group of axes")
        values: dict[str, tuple] = {}
        labels: tuple = ()
        name = first
        for key, raw in group.items():
            try:
                word = key if key in ("algorithm", "steps") else resolve(theory.Config, key)
            except InputError:
                if len(group) == 1 or key != first:
                    raise
                word = ""  # a key that is no field labels the dimension
            entries = read_values(theory, key, word, raw)
            if word:
                values[word] = entries
            if key == first:
                labels, name = entries, word or key
        if len({len(v) for v in [labels, *values.values()]}) > 1:
            raise InputError("zip: " + ", ".join(f"{w} has {len(v)} values" for w, v in values.items()) + "; they must be equally many")
        if len(set(labels)) < len(labels):
            raise InputError(f"{name}: a value stands twice on the axis {list(labels)}")
        axes.append(Axis(name, labels, values))
    words = [w for axis in axes for w in axis.values]
    for word in sorted({w for w in words if words.count(w) > 1}):
        raise InputError(f"{word} stands on two axes")
    return tuple(axes)


def read_values(theory: Theory, key: str, word: str, raw: Any) -> tuple:
    """The values of one axis as plain Python values, checked against the field."""
    if isinstance(raw, str | Mapping) or (not hasattr(raw, "__len__") and not hasattr(raw, "__iter__")):
        raise InputError(f"{key}: give a list of values, not {raw!r}")
    entries = tuple(v.item() if isinstance(v, np.generic) or (hasattr(v, "ndim") and v.ndim == 0) else v for v in raw)
    if not entries:
        raise InputError(f"{key}: an empty list of values")
    if word == "algorithm":
        return tuple(checked_algorithm(theory, v) for v in entries)
    if word == "steps":
        return tuple(checked_steps(v) for v in entries)
    if word:
        field = fields(theory.Config)[word]
        for v in entries:
            validate_value(theory.Config, word, v)
        return tuple(int(v) if field.integer else float(v) if field.kind in ("traced", "evaluation") else v for v in entries)
    return entries


def read_seeds(seeds: Any) -> tuple[int, ...]:
    """Seeds 0..n-1 of a count, or the listed ones."""
    listed = list(range(int(seeds))) if isinstance(seeds, int | np.integer) and not isinstance(seeds, bool) else seeds
    if isinstance(listed, str | bool | float) or not hasattr(listed, "__iter__"):
        raise InputError(f"seeds = {seeds!r}: must be a count in [1, inf) or a list of integers")
    listed = list(listed)
    good = all(isinstance(s, int | np.integer) and not isinstance(s, bool) and 0 <= s < 2**31 for s in listed)
    if not listed or not good or len(set(listed)) < len(listed):
        raise InputError(f"seeds = {seeds!r}: must be a count in [1, inf) or a list of different integers in [0, 2^31)")
    return tuple(int(s) for s in listed)


def read_points(theory: Theory, config: Config, axes: Sequence[Axis], algorithm: str | None, steps: int) -> list[Point]:
    """Every combination of axis values, each validated."""
    points = []
    for place in itertools.product(*(range(len(axis.labels)) for axis in axes)):
        at = {word: values[i] for axis, i in zip(axes, place, strict=True) for word, values in axis.values.items()}
        name, length = at.pop("algorithm", algorithm), at.pop("steps", steps)
        point = config.replace(**at)
        try:
            validate(point)
        except InputError as error:
            gap = "\n" if "\n" in str(error) else " "
            raise InputError(f"at {', '.join(f'{w}={v}' for w, v in at.items())}:{gap}{error}" if at else str(error)) from None
        points.append(Point(place, point, name, length))
    return points
