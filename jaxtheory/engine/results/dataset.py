"""Assemble the parts of a sweep into one labeled dataset, one part at a time."""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import numpy as np
import xarray as xr

from jaxtheory.code.plain import as_json
from jaxtheory.core.config import fields
from jaxtheory.engine.planning.memory import refuse_results
from jaxtheory.engine.records import NEVER, Part
from jaxtheory.engine.request.axes import codes_of
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.results import attributes
from jaxtheory.texts.errors import InputError, tried

_ENDS = ("diverged_at", "stopped_at")  # variables that are steps or NEVER
_Allocate = Callable[[str, tuple[int, ...], np.dtype], np.ndarray]


def _in_memory(name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An empty array in memory."""
    return np.empty(shape, dtype)


class Grid(NamedTuple):
    """The grid of a dataset, as plain data: the axes, the seeds and the recorded steps.

    axes: for each axis its name, its labels and the values of its fields.
    """

    axes: list[dict[str, Any]]
    seeds: list[int]
    record: list[int]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values on each axis."""
        return tuple(len(axis["labels"]) for axis in self.axes)


class Described(NamedTuple):
    """The part of a dataset that does not depend on training.

    attributes: attributes of the dataset. labels: for each dimension of the theory, the different
    lists of labels that points have. dims: names of the further dimensions of each variable.
    fields: meaning, unit and symbol of each config field. meanings: those of the variables.
    """

    attributes: dict[str, Any]
    labels: dict[str, list[list]]
    dims: dict[str, list[str]]
    fields: dict[str, list[str]]
    meanings: dict[str, str]


def grid_of(request: Request) -> Grid:
    """Return the grid of the dataset of a request."""
    axes = [
        {"name": axis.name, "labels": as_json(axis.labels), "values": as_json(axis.values)}
        for axis in request.axes
    ]
    return Grid(axes, request.seeds.tolist(), request.schedule.records.tolist())


def describe(request: Request, code: dict[str, str]) -> Described:
    """Return the metadata of a dataset, with the hashes of the code that computes it.

    Raises InputError if the `coords` of the theory fail, before anything is trained.
    """
    labels: dict[str, list[list]] = {}
    slot = f"{request.theory.name}.coords"
    for i in _examples(request):
        coords = tried(slot, request.theory.coords, request.points.point(i).config)
        for dim, names in coords.items():
            if list(names) not in labels.setdefault(dim, []):
                labels[dim].append(list(names))
    return Described(
        attributes.of_dataset(request, code),
        labels,
        {name: list(dims) for name, dims in request.theory.dims.items()},
        attributes.of_fields(type(request.config)),
        attributes.of_variables(request.theory),
    )


def assemble(
    grid: Grid,
    described: Described,
    parts: Iterable[Part],
    allocate: _Allocate = _in_memory,
    partial: bool = False,
) -> xr.Dataset:
    """Assemble one dataset from all parts.

    Its dimensions are the axes, then seed and step, then those of the theory. It is NaN where a
    point has no entry, as where `predict` has other curves for another value of a static field.
    With `partial` runs may be missing, which are NaN; `diverged_at` is then a float. Raises
    InputError if parts are missing, or if some lack a variable that is not a curve.
    """
    shape = (*grid.shape, len(grid.seeds))
    runs = math.prod(shape)
    arrays: dict[str, np.ndarray] = {}  # [point and seed, ...]
    coverage = np.zeros(runs, bool)
    names: set[str] | None = None
    for part in parts:
        if not len(part.point):
            continue
        if allocate is _in_memory and not arrays:
            run_bytes = sum(values[:1].nbytes for values in part.values.values())
            refuse_results(runs, runs * run_bytes)
        own = {name for name in part.values if not name.startswith("predicted/")}
        names = own if names is None else names
        if names != own:
            raise InputError(
                f"parts of the store lack {', '.join(sorted(names ^ own))}, which other parts "
                "have; choose another directory for store="
            )
        at = part.point * len(grid.seeds) + part.place
        coverage[at] = True
        for name, values in part.values.items():
            arrays[name] = _room_for(name, arrays.get(name), values, runs, allocate)
            arrays[name][(at, *(slice(n) for n in values.shape[1:]))] = values
    if not partial and not coverage.all():
        raise InputError(
            f"the results of {np.sum(~coverage)} of {coverage.size} runs disappeared from the "
            "store while it was being assembled; rerun the same command to recompute them"
        )
    variables: dict[str, tuple] = {}
    for name, array in arrays.items():
        if partial and name in _ENDS:
            array = np.where(coverage, array.astype(float), np.nan)
        title, dims = title_and_dims(grid, described, name, array.ndim - 1)
        variables[title] = (dims, array.reshape(shape + array.shape[1:]))
    lengths = {
        dim: n
        for dims, array in variables.values()
        for dim, n in zip(dims, array.shape, strict=True)
    }
    coords = _coordinates(grid, lengths, described.labels)
    data = xr.Dataset(variables, coords, described.attributes)
    return attributes.add(data, described.fields, described.meanings)


def _room_for(
    name: str, before: np.ndarray | None, values: np.ndarray, entries: int, allocate: _Allocate
) -> np.ndarray:
    """An array of all entries that contains `before` and has room for `values` [entry, ...].

    It is NaN where no values are written yet, and NEVER for `diverged_at` and `stopped_at`.
    """
    extent = values.shape[1:]
    if before is not None:
        extent = tuple(map(max, before.shape[1:], extent))
    if before is not None and extent == before.shape[1:]:
        return before
    room = allocate(name, (entries, *extent), values.dtype)
    room[...] = NEVER if name in _ENDS else np.nan
    if before is not None:
        room[tuple(slice(n) for n in before.shape)] = before
    return room


def title_and_dims(
    grid: Grid, described: Described, name: str, ndim: int
) -> tuple[str, tuple[str, ...]]:
    """Return name and dimensions of a variable with `ndim` axes after point and seed."""
    kind, _, word = name.rpartition("/")
    metric = word.partition(":")[0]
    stepped = ("step",) if kind in ("metric", "predicted") else ()
    count = ndim - len(stepped)
    inner = described.dims.get(metric, [f"{metric}_{i}" for i in range(count)])[:count]
    if len(inner) < count:
        raise InputError(
            f"{described.attributes['theory']}.dims[{metric!r}] names {len(inner)} dimensions, but "
            f"the array has {count}; name each of them"
        )
    return title_of(name), (*(axis["name"] for axis in grid.axes), "seed", *stepped, *inner)


def title_of(name: str) -> str:
    """Return the name of a variable from that of an array of a part."""
    kind, _, word = name.rpartition("/")
    metric, _, label = word.partition(":")
    return f"predicted_{metric}" + (f"_{label}" if label else "") if kind == "predicted" else word


def _coordinates(
    grid: Grid, lengths: dict[str, int], labels: dict[str, list[list]]
) -> dict[str, Any]:
    """Coordinates of the axes, zipped fields, seeds and steps, and of the theory's dimensions.

    Those of the theory are left out where labels do not agree for all points.
    """
    coords: dict[str, Any] = {
        "seed": np.array(grid.seeds, np.int64),
        "step": np.array(grid.record, np.int64),
    }
    for axis in grid.axes:
        coords[axis["name"]] = labels_of(axis["labels"])
        coords.update(
            {
                word: (axis["name"], labels_of(values))
                for word, values in axis["values"].items()
                if word != axis["name"]
            }
        )
    # the longest list of labels, if all others are beginnings of it
    for dim, label_lists in labels.items():
        longest = max(label_lists, key=len)
        if len(longest) == lengths.get(dim) and all(
            names == longest[: len(names)] for names in label_lists
        ):
            coords.setdefault(dim, longest)
    return coords


def labels_of(values: list) -> np.ndarray:
    """Return values as a coordinate: numbers, booleans and strings, and others as strings."""
    kinds = {*map(type, values)}
    uniform = (len(kinds) < 2 and kinds <= {str, bool}) or kinds <= {int, float}
    return np.array(values if uniform else [str(untupled(value)) for value in values])


def untupled(value: Any) -> Any:
    """Return a value of a config as it was before JSON made lists of its tuples."""
    return tuple(map(untupled, value)) if isinstance(value, list) else value


def _examples(request: Request) -> list[int]:
    """Points that cover every combination of sizes and static values.

    They also cover every axis value that may change labels.
    """
    points, table = request.points, fields(type(request.config))
    words = [w for axis in request.axes for w in axis.values if w in table]
    shaping = [w for w in words if table[w].kind in ("size", "static")]
    codes = codes_of(points, shaping, np.arange(points.total))
    chosen = set(np.unique(codes, return_index=True)[1].tolist())
    if _labels_read_numbers(request, sorted(chosen)):
        for k, n in enumerate(points.shape):
            stride = math.prod(points.shape[k + 1 :])
            chosen |= {i * stride for i in range(n)}
    return sorted(chosen)


def _labels_read_numbers(request: Request, examples: list[int]) -> bool:
    """True if labels may depend on numbers that vary, of which there may be millions.

    They do not if traced numbers give the same labels.
    """
    table = fields(type(request.config))
    words = [w for axis in request.axes for w in axis.values if w in table]
    numbers = [w for w in words if table[w].kind in ("traced", "evaluation")]
    results: list[Any] = []

    def labels(values: dict[str, Any]) -> None:
        for i in examples:
            config = request.points.point(i).config.replace(**values)
            results.append({dim: list(v) for dim, v in request.theory.coords(config).items()})

    try:
        jax.eval_shape(labels, dict.fromkeys(numbers, 0.0))
        labels({})
        traced, concrete = results[: len(examples)], results[len(examples) :]
        leaves = jax.tree.leaves(traced)
        return any(isinstance(leaf, jax.core.Tracer) for leaf in leaves) or traced != concrete
    except Exception:  # labels made of numbers raise anything on traced ones
        return True
