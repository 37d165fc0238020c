"""Rectangles of runs: what a store keeps, each a product of axis values and seeds under one plan.

A rectangle is described by plain data, so that reading a store needs no theory and no program.
"""

import dataclasses
import functools
import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

# what decides the numbers of a run; the rest of an identity are the grid and the outputs
_GRID = ("axes", "seeds")
_OUTPUTS = ("record", "metrics", "save_params", "observe")
_FIELDS = ("runs", "axes", "seeds", "steps", *_OUTPUTS, "plan", "before")


@dataclasses.dataclass(frozen=True, eq=False)
class Rectangle:
    """A rectangle of runs in a store.

    number: its place in the order of publication. content: its description, with the entries runs
    (what decides the numbers of its runs), axes and seeds (its grid), steps, record, metrics,
    save_params and observe (its outputs), plan (a layout per bucket), before (the name of the
    rectangle whose runs it continues, or None), and environment (the software it was begun with).
    """

    number: int
    content: Mapping[str, Any]

    @functools.cached_property
    def mark(self) -> str:
        """A hash of the description without the environment, which its files carry."""
        text = json.dumps({name: self.content[name] for name in _FIELDS}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def name(self) -> str:
        """The beginning of the names of its files."""
        return self.mark[:12]

    @property
    def shape(self) -> tuple[int, ...]:
        """Its number of values on each axis, then that of its seeds."""
        return (
            *(len(axis["labels"]) for axis in self.content["axes"]),
            len(self.content["seeds"]),
        )

    @functools.cached_property
    def chunks(self) -> list[str]:
        """The names of its chunks, which follow from the plan."""
        return [
            f"{number:04d}-{first:08d}-{min(first + step, bucket['slots']):08d}"
            for number, bucket in enumerate(self.content["plan"])
            for step in [bucket["layout"]["slots"]]
            for first in range(0, bucket["slots"], step)
        ]


def check_content(content: Any) -> None:
    """Raise TypeError, ValueError or KeyError unless a description has the right form."""
    rectangle = Rectangle(0, content)
    if not rectangle.shape or not all(rectangle.shape) or not rectangle.mark:
        raise ValueError("it has no runs")
    if not all(isinstance(content[name], dict) for name in ("runs", "environment")):
        raise TypeError("runs and environment are not objects")
    slots = sum(int(bucket["slots"]) for bucket in content["plan"])
    if any(int(bucket["layout"]["slots"]) < 1 for bucket in content["plan"]):
        raise ValueError("a chunk has no slots")
    if not 0 < slots <= 64 * math.prod(rectangle.shape) + 64:
        raise ValueError("it has other slots than runs")
    steps = [content["steps"], *content["record"], *content["seeds"]]
    if not all(isinstance(step, int) for step in steps):
        raise TypeError("steps, records and seeds are not integers")
    dimensions(content)


def runs_of(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides the numbers of a run in the identity of a request.

    It has the names of the axes and not their values, nor the base values of swept fields.
    """
    swept = {word for axis in identity["axes"] for word in axis["values"]}
    runs = {n: v for n, v in identity.items() if n not in (*_GRID, *_OUTPUTS, "steps", "config")}
    runs["config"] = {n: v for n, v in identity["config"].items() if n not in swept}
    runs["axes"] = [{"name": a["name"], "fields": sorted(a["values"])} for a in identity["axes"]]
    runs["algorithm"] = None if "algorithm" in swept else identity["algorithm"]
    return runs


def is_same(stored: Mapping[str, Any], runs: Mapping[str, Any]) -> bool:
    """True if the numbers of stored runs are those that a request asks for.

    Of the code only that is compared which both use, since each has its own algorithms.
    """
    stored_entries, run_entries = (
        {n: v for n, v in content.items() if n != "code"} for content in (stored, runs)
    )
    code, used = stored["code"], runs["code"]
    return stored_entries == run_entries and all(
        code.get(name, text) == text for name, text in used.items()
    )


def content_of(
    identity: Mapping[str, Any], plan: list[dict[str, Any]], before: str | None
) -> dict[str, Any]:
    """Return the description of the rectangle of all runs of a request, without environment."""
    entries = {name: identity[name] for name in (*_GRID, *_OUTPUTS, "steps")}
    return {"runs": runs_of(identity), **entries, "plan": plan, "before": before}


def dimensions(content: Mapping[str, Any]) -> dict[str, list]:
    """Return the values of each dimension of a grid, in a form that can be compared."""
    values = {
        str(axis["name"]): list(
            zip(
                map(_comparable, axis["labels"]),
                *(map(_comparable, axis["values"][word]) for word in sorted(axis["values"])),
                strict=True,
            )
        )
        for axis in content["axes"]
    }
    return values | {"seed": list(content["seeds"])}


def _comparable(value: Any) -> Any:
    """A value such that 1, 1.0, True and "1" differ."""
    return value if isinstance(value, float) else json.dumps(value)


def places(part: Mapping[str, Any], grid: Mapping[str, Any]) -> list[np.ndarray] | None:
    """Return for each dimension the index in `grid` of each value of `part`, -1 for none.

    It is None if the grids have other dimensions, or no value in common on one of them.
    """
    part_dims, grid_dims = dimensions(part), dimensions(grid)
    if list(part_dims) != list(grid_dims):
        return None
    indices = []
    for dimension, values in part_dims.items():
        index = {value: k for k, value in enumerate(grid_dims[dimension])}
        indices.append(np.array([index.get(value, -1) for value in values], int))
        if (indices[-1] < 0).all():
            return None
    return indices


def rectangles(mask: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield disjoint rectangles that make up a set of runs, as the indices on each dimension.

    Along the first dimension, indices with equal rows are taken together, and so on.
    """
    if mask.all():
        if mask.size:
            yield tuple(np.arange(n) for n in mask.shape)
        return
    rows: dict[bytes, list[int]] = {}
    for i, row in enumerate(mask):
        rows.setdefault(np.packbits(row).tobytes(), []).append(i)
    for group in rows.values():
        row = np.atleast_1d(mask[group[0]])
        if mask.ndim == 1:
            if row[0]:
                yield (np.array(group),)
        else:
            for tail in rectangles(row):
                yield (np.array(group), *tail)


def has_outputs(content: Mapping[str, Any], identity: Mapping[str, Any]) -> bool:
    """True if a rectangle has all outputs of a request, for the runs that both have.

    Curves may depend on all recorded steps, which are therefore equal.
    """
    if content["steps"] != identity["steps"] or content["record"] != identity["record"]:
        return False
    if not has_observables(content, identity):
        return False
    if identity["save_params"] is True and content["save_params"] is not True:
        return False
    stored, wanted = content["metrics"], identity["metrics"]
    if stored is None or wanted is None:
        return stored is None and (wanted is None or not _weights(wanted))
    return all({*steps} <= {*stored.get(name, ())} for name, steps in wanted.items())


def has_observables(content: Mapping[str, Any], identity: Mapping[str, Any]) -> bool:
    """True if the observables of a request are among those of a rectangle."""
    return (identity["observe"] or {}).items() <= (content["observe"] or {}).items()


def _weights(names: Sequence[str] | Mapping[str, Any]) -> list[str]:
    return [name for name in names if name.startswith("params_")]
