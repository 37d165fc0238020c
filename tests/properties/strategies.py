"""Random requests over all theories, built from the field tables of their configs.

A request begins with one of the examples of its theory. Some fields get other values, and axes are
laid over some fields, the algorithm or the number of steps. What would make a point invalid is left
out, so that every request is one that the engine accepts.
"""

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import hypothesis.strategies as st
from hypothesis import assume, note

import jaxtheory
from jaxtheory import InputError
from jaxtheory.core.config import Config, fields
from jaxtheory.core.fields import Field
from jaxtheory.core.theory import Theory
from jaxtheory.core.validation import validate
from jaxtheory.engine.planning import padding
from jaxtheory.verification.conformance import keep_one_metric

NAMES = (  # first one that diverges at a large rate: hypothesis begins with the simplest request
    "contextual_bigram",
    "random_walk",
    "group_sparse",
    "nearest_neighbor",
    "attention_pruning",
    "low_rank",
    "in_context_regression",
    "causal_graph",
    "task_diversity",
    "factual_recall",
    "positional_semantic",
)
RATES = dict.fromkeys(NAMES, "learning_rate") | {"attention_pruning": "step_scale"}
FIRST = dict.fromkeys(NAMES, "loss") | {
    "task_diversity": "icl_error",
    "positional_semantic": "energy",
}  # a metric of each
SECOND = {  # another metric of each
    "random_walk": "accuracy",
    "group_sparse": "test_loss",
    "nearest_neighbor": "xi1",
    "attention_pruning": "relative_error",
    "contextual_bigram": "excess_loss",
    "low_rank": "singular_values",
    "in_context_regression": "components",
    "causal_graph": "lags",
    "task_diversity": "idg_error",
    "factual_recall": "recalled",
    "positional_semantic": "test_error",
}
POINTS, PROGRAMS, STEPS = 12, 4, 7  # the most of a request


class Axis(NamedTuple):
    """One dimension of a sweep: its name and labels in the dataset, the values of its fields by
    word, and the key under which each is asked for. `zipped`: it is asked for by zip, not by vary.
    """

    name: str
    labels: tuple
    values: dict[str, tuple]
    keys: dict[str, str]
    zipped: bool

    def arguments(self) -> dict[str, list]:
        """The values as the argument of `vary` or `zip` has them."""
        own = {key: list(self.values[word]) for key, word in self.keys.items()}
        return own if self.name in self.values else {self.name: list(self.labels), **own}


class Point(NamedTuple):
    """One combination of axis values, and its place along each axis."""

    place: tuple[int, ...]
    config: Config
    algorithm: str
    steps: int


class Asked(NamedTuple):
    """The arguments of one sweep. `all_metrics`: with all metrics and analyses, else with the first
    metric.
    """

    name: str
    all_metrics: bool
    config: Config
    axes: tuple[Axis, ...]
    seeds: int | list[int]
    steps: int
    algorithm: str | None
    record: Any
    stop: Callable | None
    dtype: str
    key: int
    buckets: str

    @property
    def theory(self) -> Theory:
        return theory(self.name, self.all_metrics)

    @property
    def options(self) -> dict[str, Any]:
        """The keyword arguments of `sweep`."""
        vary = {k: v for axis in self.axes if not axis.zipped for k, v in axis.arguments().items()}
        zipped = [axis.arguments() for axis in self.axes if axis.zipped]
        return {
            **({"vary": vary} if vary else {}),
            **({"zip": zipped} if zipped else {}),
            **({"algorithm": self.algorithm} if self.algorithm else {}),
            **{n: getattr(self, n) for n in ("seeds", "steps", "record", "stop")},
            **{n: getattr(self, n) for n in ("dtype", "key", "buckets")},
        }

    @property
    def seed_list(self) -> list[int]:
        return list(range(self.seeds)) if isinstance(self.seeds, int) else self.seeds

    def points(self) -> list[Point]:
        """All combinations of axis values, the last axis fastest."""
        points = []
        for place in itertools.product(*(range(len(axis.labels)) for axis in self.axes)):
            changes = {
                word: values[i]
                for axis, i in zip(self.axes, place, strict=True)
                for word, values in axis.values.items()
            }
            first = self.algorithm or next(iter(self.theory.algorithms))
            algorithm, steps = changes.pop("algorithm", first), changes.pop("steps", self.steps)
            points.append(Point(place, self.config.replace(**changes), algorithm, steps))
        return points

    def sweep(self, **changes: Any) -> Any:
        """The dataset of these arguments, some changed."""
        note(f"sweep {self.code()} {changes or ''}")
        return jaxtheory.sweep(self.theory, self.config, **{**self.options, **changes})

    def code(self) -> str:
        """The request as the user writes it."""
        settings = {n: plain(getattr(self.config, n)) for n in fields(type(self.config))}
        own = {n: v for n, v in settings.items() if v != fields(type(self.config))[n].default}
        config = ", ".join(f"{n}={v!r}" for n, v in own.items())
        options = ", ".join(f"{n}={v!r}" for n, v in self.options.items())
        part = "" if self.all_metrics else "one metric of "
        return f"{part}{self.name}: Config({config}), {options}"


def stop_low(metrics: dict) -> bool:
    """Stop at a loss or error below 0.3."""
    return bool(metrics["loss" if "loss" in metrics else "icl_error"] < 0.3)


def plain(value: Any) -> Any:
    """A size as its number, all else as it is."""
    return getattr(value, "n", value)


@functools.cache
def theory(name: str, all_metrics: bool) -> Theory:
    """A theory, with the first metric alone unless `all_metrics`."""
    full_theory = jaxtheory.theories.get(name)
    if all_metrics:
        return full_theory
    slim = keep_one_metric(full_theory)
    padding.believe(slim)
    return slim


def valid(config: Config) -> bool:
    """Whether the engine takes a config."""
    try:
        validate(config)
    except InputError:
        return False
    return True


@st.composite
def numbers(draw: Any, field: Field, now: Any) -> Any:
    """A valid value of a field, not far from the present one."""
    if field.kind == "static":
        return draw(st.sampled_from(field.valid[:3]))
    low, high = field.valid.low, field.valid.high
    if field.kind == "size":
        return draw(st.integers(int(max(low, now - 1)), int(min(high, now + 2))))
    if field.integer:
        return draw(st.integers(int(low), int(min(high, max(now, low) + 3))))
    high = min(high, 2 * abs(now) + 0.5)
    parts = draw(st.sampled_from([24, 10**6]))  # short numbers, and others
    value = float(f"{low + (high - low) * draw(st.integers(0, parts)) / parts:.8g}")
    return value if value in field.valid and (value == 0 or abs(value) > 1e-9) else float(now)


def field_names(config: Config, kinds: tuple[str, ...]) -> list[str]:
    """The fields of some kinds whose values can be chosen from their valid ones."""
    table = fields(type(config))
    return [n for n, f in table.items() if f.kind in kinds and f.valid != ()]


@st.composite
def configs(draw: Any, subject: Theory) -> Config:
    """An example of a theory with up to three fields changed."""
    config = draw(st.sampled_from(subject.examples))
    names = field_names(config, ("traced", "evaluation", "size", "static"))
    for name in draw(st.lists(st.sampled_from(names), max_size=3, unique=True)):
        field = fields(type(config))[name]
        candidate = config.replace(**{name: draw(numbers(field, plain(getattr(config, name))))})
        config = candidate if valid(candidate) else config
    return config


@st.composite
def values_of(draw: Any, subject: Theory, config: Config, word: str, count: int) -> tuple:
    """`count` different values of a field, of `algorithm` or of `steps`."""
    if word == "algorithm":
        choice: Any = st.sampled_from(list(subject.algorithms))
    elif word == "steps":
        choice = st.integers(0, STEPS)
    else:
        choice = numbers(fields(type(config))[word], plain(getattr(config, word)))
    return tuple(draw(st.lists(choice, min_size=count, max_size=count, unique=True)))


def two_only(config: Config, words: list[str]) -> bool:
    """Whether one of the fields has no more than two values."""
    table = fields(type(config))
    return any(w in table and table[w].kind == "static" and len(table[w].valid) < 3 for w in words)


@st.composite
def axes(
    draw: Any, subject: Theory, config: Config, words: list[str], zipped: bool, most: int
) -> Axis:
    """An axis of 2 to `most` values over some words; the first names it, or a label of its own."""
    count = draw(st.integers(2, 2 if two_only(config, words) else most))
    values = {word: draw(values_of(subject, config, word, count)) for word in words}
    table = fields(type(config))
    keys = {
        table[word].symbol if word in table and draw(st.booleans()) else word: word
        for word in words
    }
    if zipped and draw(st.booleans()):
        labels = tuple(draw(st.sampled_from(["a", "b", "c"])) + str(i) for i in range(count))
        return Axis("label", labels, values, keys, True)
    return Axis(words[0], values[words[0]], values, keys, zipped)


SHAPING = ("size", "static")


def programs(config: Config, chosen: list[Axis]) -> int:
    """How many programs a request compiles at most."""
    table = fields(type(config))
    shapes = lambda axis: any(
        w == "algorithm" or (w in table and table[w].kind in SHAPING) for w in axis.values
    )
    return math.prod(len(axis.labels) for axis in chosen if shapes(axis))


@st.composite
def leading_axes(draw: Any, subject: Theory, config: Config, kind: str, rate: str) -> list[Axis]:
    """The axes in `vary` that a property is about: none, a "size", a "rate", or a "pair" of two
    values each.
    """
    if kind == "none":
        return []
    if kind == "size":
        words = [[draw(st.sampled_from(field_names(config, ("size",))))]]
    elif kind == "rate":
        words = [[rate]]
    else:
        names = free_words(config)
        words = [
            [w] for w in draw(st.lists(st.sampled_from(names), min_size=2, max_size=2, unique=True))
        ]
    count = 2 if kind == "pair" else 3
    return [draw(axes(subject, config, some, False, count)) for some in words]


def free_words(config: Config) -> list[str]:
    """What an axis may be laid over."""
    numeric = field_names(config, ("traced", "evaluation"))
    return [*numeric, "steps", "algorithm", *field_names(config, SHAPING)]


@st.composite
def requests(draw: Any, leading: str = "none") -> Asked:
    """A request with the axes that a property is about, and up to two more."""
    name, all_metrics = draw(st.sampled_from(NAMES)), draw(st.sampled_from([False, False, True]))
    subject = theory(name, all_metrics)
    config = draw(configs(subject))
    chosen = draw(leading_axes(subject, config, leading, RATES[name]))
    assume(acceptable(name, all_metrics, config, chosen))
    for _ in range(draw(st.sampled_from([1, 2, 0]))):
        free = [w for w in free_words(config) if all(w not in axis.values for axis in chosen)]
        zipped = draw(st.booleans())
        some = draw(st.lists(st.sampled_from(free), min_size=1, max_size=1 + zipped, unique=True))
        axis = draw(axes(subject, config, some, zipped, 3))
        new = all(peer.name != axis.name for peer in chosen)
        if new and acceptable(name, all_metrics, config, [*chosen, axis]):
            chosen = [*chosen, axis]
    chosen.sort(key=lambda axis: axis.zipped)  # as the axes of a dataset stand
    request = Asked(
        name,
        all_metrics,
        config,
        tuple(chosen),
        seeds=draw(st.sampled_from([2, 3, 1]) | distinct(0, 2**31 - 1)),
        steps=draw(st.integers(3, STEPS)),
        algorithm=draw(st.sampled_from([None, *subject.algorithms])),
        record=None,
        stop=None,
        dtype=draw(st.sampled_from(["float64", "float32"])),
        key=draw(st.integers(0, 2**32 - 1)),
        buckets=draw(st.sampled_from(["auto", "pad", "exact"])),
    )
    if any("algorithm" in axis.values for axis in chosen):
        request = request._replace(algorithm=None)
    end = max(point.steps for point in request.points())
    record = draw(records(name, all_metrics, end))
    stop = None if isinstance(record, dict) else draw(st.sampled_from([None, None, stop_low]))
    return request._replace(record=record, stop=stop)


def distinct(low: int, high: int) -> Any:
    """One to three different integers."""
    return st.lists(st.integers(low, high), min_size=1, max_size=3, unique=True)


def with_bad_rate(request: Asked, place: int) -> Asked:
    """The request with a learning rate at one place of its first axis that no run survives, but
    for one that has a bound of its own.
    """
    axis = request.axes[0]
    values = list(axis.labels)
    values[place] = 1e30 if request.dtype == "float32" else 1e300
    bad = axis._replace(labels=tuple(values), values={axis.name: tuple(values)})
    return request._replace(axes=(bad, *request.axes[1:]))


def acceptable(name: str, all_metrics: bool, config: Config, chosen: list[Axis]) -> bool:
    """Whether all points are valid, not too many, and compiled in few programs."""
    trial = Asked(
        name, all_metrics, config, tuple(chosen), 1, 1, None, None, None, "float64", 0, "auto"
    )
    is_small = math.prod(len(axis.labels) for axis in chosen) <= POINTS
    return (
        is_small
        and programs(config, chosen) <= PROGRAMS
        and all(valid(p.config) for p in trial.points())
    )


@st.composite
def records(draw: Any, name: str, all_metrics: bool, end: int) -> Any:
    """An argument `record` for runs of up to `end` steps."""
    simple = st.none() | st.integers(1, 4) | distinct(0, end)
    if draw(st.integers(0, 3)) < 3:
        return draw(simple)
    metrics = [FIRST[name], SECOND[name]] if all_metrics else [FIRST[name]]
    return draw(st.dictionaries(st.sampled_from(metrics), simple, min_size=1))
