"""From parts to one labeled dataset: every part is laid into its places and forgotten."""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import numpy as np
import xarray as xr

from jaxtheory.core.config import fields
from jaxtheory.core.errors import InputError, tried
from jaxtheory.engine.compute.part import Part
from jaxtheory.engine.compute.program import NEVER
from jaxtheory.engine.planning.memory import refuse_results
from jaxtheory.engine.request.axes import codes_of
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.request.values import Values
from jaxtheory.engine.results import attributes

_Allocate = Callable[[str, tuple[int, ...], np.dtype], np.ndarray]


def _in_memory(name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array in memory."""
    return np.empty(shape, dtype)


class Described(NamedTuple):
    """The attributes of a dataset, and the theory's labels of each dimension: a list for each set
    of labels that some point has. Neither depends on training.
    """

    attributes: dict[str, Any]
    labels: dict[str, list[list]]


def describe(request: Request, code: dict[str, str]) -> Described:
    """The attributes and labels of the dataset that this code computes for a request. Raises
    InputError where the theory's `coords` fail, before anything is trained.
    """
    labels: dict[str, list[list]] = {}
    what = f"{request.theory.name}.coords"
    for i in _examples(request):
        found = tried(what, request.theory.coords, request.points.point(i).config)
        for dim, names in found.items():
            if list(names) not in labels.setdefault(dim, []):
                labels[dim].append(list(names))
    return Described(attributes.of_dataset(request, code), labels)


def assemble(
    request: Request, said: Described, parts: Iterable[Part], allocate: _Allocate = _in_memory
) -> xr.Dataset:
    """One dataset from all parts, with what it says of itself: dims are the axes, seed, step, then
    the theory's; NaN where a point has no entry. Raises InputError where the parts are not all
    there.
    """
    grid = (*request.points.shape, len(request.seeds))
    whole: dict[str, np.ndarray] = {}  # [point and seed, ...]
    seen = np.zeros(math.prod(grid), bool)
    for part in parts:
        if allocate is _in_memory and not whole:
            each = sum(values[:1].nbytes for values in part.values.values())
            refuse_results(request.runs, request.runs * each)
        at = part.point * len(request.seeds) + part.place
        seen[at] = True
        for name, values in part.values.items():
            whole[name] = _room_for(name, whole.get(name), values, math.prod(grid), allocate)
            whole[name][(at, *(slice(n) for n in values.shape[1:]))] = values
    if not seen.all():
        raise InputError(
            f"parts of {np.sum(~seen)} of {seen.size} runs were lost meanwhile; run the same "
            "command again"
        )
    variables: dict[str, tuple] = {}
    for name, array in whole.items():
        title, dims = _described(request, name, array.ndim - 1)
        variables[title] = (dims, array.reshape(grid + array.shape[1:]))
    lengths = {
        dim: n
        for dims, array in variables.values()
        for dim, n in zip(dims, array.shape, strict=True)
    }
    coords = _coordinates(request, lengths, said.labels)
    return attributes.add(xr.Dataset(variables, coords, said.attributes), request)


def _room_for(
    name: str, have: np.ndarray | None, values: np.ndarray, entries: int, allocate: _Allocate
) -> np.ndarray:
    """An array of all entries that holds what `have` holds and has room for values [entry, ...];
    NaN, or NEVER, where nothing is yet.
    """
    extent = values.shape[1:] if have is None else tuple(map(max, have.shape[1:], values.shape[1:]))
    if have is not None and extent == have.shape[1:]:
        return have
    room = allocate(name, (entries, *extent), values.dtype)
    room[...] = NEVER if name == "diverged_at" else np.nan
    if have is not None:
        room[tuple(slice(n) for n in have.shape)] = have
    return room


def _described(request: Request, name: str, ndim: int) -> tuple[str, tuple[str, ...]]:
    """The variable's name and dimensions, for values with `ndim` axes after point and seed."""
    kind, _, word = name.rpartition("/")
    metric, _, label = word.partition(":")
    stepped = ("step",) if kind in ("metric", "predicted") else ()
    count = ndim - len(stepped)
    inner = request.theory.dims.get(metric, tuple(f"{metric}_{i}" for i in range(count)))[:count]
    if len(inner) < count:
        raise InputError(
            f"{request.theory.name}.dims[{metric!r}] names {len(inner)} dimensions of an array "
            f"with {count}"
        )
    title = f"predicted_{metric}" + (f"_{label}" if label else "") if kind == "predicted" else word
    return title, (*(axis.name for axis in request.axes), "seed", *stepped, *inner)


def _coordinates(
    request: Request, lengths: dict[str, int], labels: dict[str, list[list]]
) -> dict[str, Any]:
    """Labels of every dimension: axes, zipped fields, seeds, steps, and the theory's where they
    mean the same for every point.
    """
    coords: dict[str, Any] = {
        "seed": request.seeds.astype(np.int64),
        "step": request.schedule.records.astype(np.int64),
    }
    for axis in request.axes:
        coords[axis.name] = _labels_of(axis.labels)
        coords.update(
            {
                word: (axis.name, _labels_of(values))
                for word, values in axis.values.items()
                if word != axis.name
            }
        )
    # labels of the longest, where every point's are the first of them
    for dim, several in labels.items():
        longest = max(several, key=len)
        if len(longest) == lengths.get(dim) and all(
            names == longest[: len(names)] for names in several
        ):
            coords.setdefault(dim, longest)
    return coords


def _labels_of(values: Values) -> np.ndarray:
    """Values as coordinates: numbers, or texts where they are anything else."""
    kinds = {*map(type, values)} if isinstance(values, tuple) else set()
    plain = (len(kinds) < 2 and kinds <= {str, bool}) or kinds <= {int, float}
    return np.array(values if plain else list(map(str, values)))


def _examples(request: Request) -> list[int]:
    """Points in which every value of every axis that may change labels stands once, and every
    combination of sizes and static values.
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


def _labels_read_numbers(request: Request, some: list[int]) -> bool:
    """True if the theory's labels may depend on numbers that vary, of which there may be millions:
    they do not where traced numbers give the same ones.
    """
    table = fields(type(request.config))
    words = [w for axis in request.axes for w in axis.values if w in table]
    numbers = [w for w in words if table[w].kind in ("traced", "evaluation")]
    found: list[Any] = []

    def labels(values: dict[str, Any]) -> None:
        for i in some:
            config = request.points.point(i).config.replace(**values)
            found.append({dim: list(v) for dim, v in request.theory.coords(config).items()})

    try:
        jax.eval_shape(labels, dict.fromkeys(numbers, 0.0))
        labels({})
        traced, known = found[: len(some)], found[len(some) :]
        leaves = jax.tree.leaves(traced)
        return any(isinstance(leaf, jax.core.Tracer) for leaf in leaves) or traced != known
    except Exception:  # labels that are made of numbers raise anything when given traced ones
        return True
