"""Combine the datasets of several sweeps into that of one sweep over all of their points and seeds.

Nothing is computed: the numbers are copied, and every point and seed of the result comes from one
of the datasets.
"""

import json
import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.engine.records import NEVER
from jaxtheory.engine.results import attributes
from jaxtheory.system import machine
from jaxtheory.texts.errors import InputError

# attributes that must be equal; an axis may have the name of one, and then replaces it
_EQUAL = ("theory", "algorithm", "steps", "key", "dtype", "theory_digest")

# by how much the numbers of one run may differ between sweeps of different shapes
_ROUNDING, _SMALL = {"float64": 1e-10, "float32": 1e-4}, 1e-3


class Grid(NamedTuple):
    """The grid that the datasets span together.

    dims: its dimensions, the axes and "seed". values: the coordinate of each. places: for each
    dataset and dimension, the indices of its values.
    """

    dims: tuple[str, ...]
    values: dict[str, np.ndarray]
    places: list[dict[str, np.ndarray]]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(self.values[dim]) for dim in self.dims)

    def region(self, i: int) -> tuple[np.ndarray, ...]:
        """Return the index of the points and seeds of a dataset, on the first axes of an array."""
        return np.ix_(*(self.places[i][dim] for dim in self.dims))

    def source(self, dim: str) -> list[tuple[int, int]]:
        """Return for each value of a dimension the first dataset that has it, and where there."""
        sources = {
            int(k): (i, at)
            for i, places in reversed(list(enumerate(self.places)))
            for at, k in enumerate(places[dim])
        }
        return [sources[k] for k in range(len(self.values[dim]))]

    def describe(self, at: Sequence[int]) -> str:
        """Return a place of the grid in words."""
        pairs = zip(self.dims, at, strict=True)
        return ", ".join(f"{dim} = {_text(self.values[dim][k])}" for dim, k in pairs)


def combine(datasets: Sequence[xr.Dataset], names: Sequence[str] = ()) -> xr.Dataset:
    """Combine datasets of `sweep` that differ in the values of an axis or in seeds.

    A point and seed that several datasets have must have equal numbers in them: integers exactly,
    others up to rounding, |a - b| <= r max(|b|, 0.001) with r = 1e-10 in float64 and 1e-4 in
    float32. The numbers of the first dataset are taken. Values are sorted where each dataset has
    them sorted, and otherwise follow each other.

    Args:
        datasets: Datasets as `sweep` returns them, with the same axes, of the same request in all
            but the values of axes and the seeds.
        names: The name of each dataset in messages, by default "dataset 1" and so on.

    Returns:
        The dataset of all points and seeds, as one sweep would have returned it.

    Raises:
        InputError: The datasets are of different requests or have different variables, they have
            different numbers for one run, or a point and seed of the common grid is in none of
            them.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.engine.results.combine import combine
        >>> from jaxtheory.theories import random_walk
        >>> config = random_walk.Config()
        >>> of = lambda seeds: jaxtheory.sweep(random_walk, config, seeds=seeds, steps=2)
        >>> combine([of([0, 1]), of([2])]).seed.values.tolist()
        [0, 1, 2]
    """
    names = list(names) or [f"dataset {i + 1}" for i in range(len(datasets))]
    if not datasets:
        raise InputError("merge: nothing is given; give the datasets or the stores of sweeps")
    for data, name in zip(datasets, names, strict=True):
        if "diverged_at" not in data:
            raise InputError(f"{name} is not the dataset of a sweep: it has no diverged_at")
    first = datasets[0]
    for data, name in zip(datasets[1:], names[1:], strict=True):
        _require_equal(first, data, (names[0], name))
    grid = grid_of(datasets)
    owner = _owners(grid, len(datasets))
    _require_whole(grid, owner)
    lengths = _lengths(datasets, grid)
    _require_memory(first, grid)
    variables = {
        name: (values.dims, _copied(datasets, names, name, grid, lengths), values.attrs)
        for name, values in _ordered(first, grid).data_vars.items()
    }
    combined = xr.Dataset(variables, _coordinates(datasets, grid, lengths), first.attrs)
    return attributes.summarized(combined)


def _text(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    return f"{value:g}" if isinstance(value, float) else str(value)


def _dims(data: xr.Dataset) -> tuple[str, ...]:
    """The axes of a sweep, and "seed"."""
    return tuple(map(str, data["diverged_at"].dims))


def _ordered(data: xr.Dataset, grid: Grid) -> xr.Dataset:
    """The dataset with the dimensions of the grid first in each variable."""
    return data.transpose(*grid.dims, ...)


def _require_equal(one: xr.Dataset, other: xr.Dataset, names: tuple[str, str]) -> None:
    """Raise InputError, with the first difference, unless two datasets can be of one sweep."""
    if set(_dims(one)) != set(_dims(other)):
        axes = " and ".join(", ".join(_dims(data)) for data in (one, other))
        raise different("axes", names, axes)
    on_axes = {
        str(n) for data in (one, other) for n, c in data.coords.items() if {*c.dims} & {*_dims(one)}
    }
    skipped = set(on_axes)
    if "algorithm" in on_axes and not one["algorithm"].equals(other["algorithm"]):
        skipped.add("theory_digest")  # it covers the algorithms that were used
    for name in _EQUAL:
        if name not in skipped and one.attrs.get(name) != other.attrs.get(name):
            raise different(name, names, f"{one.attrs.get(name)} and {other.attrs.get(name)}")
    configs = [json.loads(data.attrs.get("config", "{}")) for data in (one, other)]
    for field in sorted({*configs[0], *configs[1]} - on_axes):
        values = [config.get(field) for config in configs]
        if values[0] != values[1]:
            raise different(f"config.{field}", names, f"{values[0]} and {values[1]}")
    if not np.array_equal(one["step"].values, other["step"].values):
        raise different("recorded steps", names, "")
    described = [_described(data, on_axes) for data in (one, other)]
    if changed := dict(set(described[0].items()) ^ set(described[1].items())):
        raise different("variables", names, ", ".join(sorted(changed)))


def _described(data: xr.Dataset, on_axes: set[str]) -> dict[str, tuple]:
    """The dimensions and kind of number of each variable, and the coordinates of the axes."""
    variables = {str(n): (frozenset(v.dims), v.dtype.kind) for n, v in data.data_vars.items()}
    return variables | {str(n): ("coordinate",) for n in data.coords if str(n) in on_axes}


def different(what: str, names: tuple[str, str], how: str) -> InputError:
    """Return the error of two sweeps that cannot be merged as they differ in something."""
    return InputError(
        f"{names[0]} and {names[1]} differ in {what}{f': {how}' if how else ''}; merge sweeps that "
        "differ only in the values of an axis or in seeds"
    )


def grid_of(datasets: Sequence[xr.Dataset]) -> Grid:
    """Return the grid of all values that the datasets have on each axis."""
    dims = _dims(datasets[0])
    values, places = {}, [dict[str, np.ndarray]() for _ in datasets]
    for dim in dims:
        labels = [data[dim].values for data in datasets]
        values[dim] = _union(labels)
        index = {value: k for k, value in enumerate(values[dim].tolist())}
        for place, own in zip(places, labels, strict=True):
            place[dim] = np.array([index[value] for value in own.tolist()], int)
    return Grid(dims, values, places)


def _union(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The values of several arrays, sorted if each is, and otherwise in the order given."""
    labels = np.concatenate(arrays)
    distinct, at = np.unique(labels, return_index=True)
    numbers = labels.dtype.kind in "iuf"
    if numbers and all(np.all(np.diff(values) > 0) for values in arrays):
        return distinct
    if numbers and all(np.all(np.diff(values) < 0) for values in arrays):
        return distinct[::-1]
    return labels[np.sort(at)]


def _owners(grid: Grid, count: int) -> np.ndarray:
    """The index of the first dataset that has each point and seed, -1 for none."""
    owner = np.full(grid.shape, -1)
    for i in reversed(range(count)):
        owner[grid.region(i)] = i
    return owner


def _require_whole(grid: Grid, owner: np.ndarray) -> None:
    """Raise InputError if a point and seed of the grid is in no dataset."""
    holes = np.argwhere(owner < 0)
    if len(holes):
        more = f" and {len(holes) - 1} more" if len(holes) > 1 else ""
        raise InputError(
            f"the merged grid would have holes: no sweep has {grid.describe(holes[0])}{more}; give "
            "sweeps that differ in one axis or in seeds only, or the missing ones as well"
        )


def _require_memory(first: xr.Dataset, grid: Grid) -> None:
    """Raise InputError if the runs of the grid, as large as those of a dataset, exceed memory."""
    least = math.prod(grid.shape) * first.nbytes // max(first["diverged_at"].size, 1)
    if 0 < (most := machine.memory()) < least:
        raise InputError(
            f"not enough memory: the merged dataset takes {machine.bytes_text(least)} and "
            f"{machine.bytes_text(most)} are available; merge fewer sweeps"
        )


def _lengths(datasets: Sequence[xr.Dataset], grid: Grid) -> dict[Hashable, int]:
    """The length of each dimension beside the grid; shorter datasets are NaN beyond their own."""
    inner = {dim for data in datasets for dim in data.dims if dim not in grid.dims}
    return {dim: max(data.sizes.get(dim, 0) for data in datasets) for dim in inner}


def _copied(
    datasets: Sequence[xr.Dataset],
    names: Sequence[str],
    name: Hashable,
    grid: Grid,
    lengths: dict[Hashable, int],
) -> np.ndarray:
    """The values of one variable at all points and seeds.

    Raises InputError if two datasets have different values for one run.
    """
    inner = [dim for dim in _ordered(datasets[0], grid)[name].dims if dim not in grid.dims]
    dtype = np.result_type(*(data[name].dtype for data in datasets))
    missing = np.nan if dtype.kind == "f" else NEVER
    grid_values = np.full((*grid.shape, *(lengths[dim] for dim in inner)), missing, dtype)
    owner = np.full(grid.shape, -1)
    for i, data in enumerate(datasets):
        own = data[name].transpose(*grid.dims, *inner).values
        size = (*own.shape[: len(grid.dims)], *grid_values.shape[len(grid.dims) :])
        room = np.full(size, missing, dtype)
        room[tuple(slice(n) for n in own.shape)] = own
        region = grid.region(i)
        before, holders = grid_values[region], owner[region]
        same = _equal(room, before)
        clash = np.argwhere(~same & (holders >= 0).reshape(holders.shape + (1,) * len(inner)))
        if len(clash):
            at = tuple(clash[0])
            place = at[: len(grid.dims)]
            position = [grid.places[i][dim][k] for dim, k in zip(grid.dims, place, strict=True)]
            first = int(holders[place])
            uneven = [
                (dim, k)
                for dim, k in zip(grid.dims, position, strict=True)
                if not np.array_equal(grid.places[i][dim], grid.places[first][dim])
            ]
            dim, k = (uneven or [(grid.dims[-1], position[-1])])[0]
            common = grid.values[dim][k].tolist()
            raise InputError(
                f"{name} at {grid.describe(position)} is {before[at]} in {names[first]} and "
                f"{room[at]} in {names[i]}; leave the "
                f"common runs out of one dataset: data.drop_sel({dim}={common!r})"
            )
        new = (holders < 0).reshape(holders.shape + (1,) * len(inner))
        grid_values[region] = np.where(new, room, before)
        owner[region] = np.where(holders < 0, i, holders)
    return grid_values


def _equal(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """True where two arrays are equal up to rounding."""
    same: np.ndarray = (one == other) | ((one != one) & (other != other))
    if one.dtype.kind == "f":
        rounding = _ROUNDING.get(one.dtype.name, 0.0)
        with np.errstate(invalid="ignore"):  # infinities
            same |= np.abs(one - other) <= rounding * np.maximum(np.abs(other), _SMALL)
    return same


def _coordinates(
    datasets: Sequence[xr.Dataset], grid: Grid, lengths: dict[Hashable, int]
) -> dict[Hashable, Any]:
    """The coordinates of the grid, and those of other dimensions on which the datasets agree."""
    coords: dict[Hashable, Any] = {}
    for name, coordinate in datasets[0].coords.items():
        if coordinate.ndim != 1:
            continue
        (dim,) = coordinate.dims
        labels = [data.coords[name].values for data in datasets if name in data.coords]
        if dim in grid.dims:
            values = np.empty(len(grid.values[str(dim)]), np.result_type(*labels))
            for place, own in zip(grid.places, labels, strict=True):
                values[place[str(dim)]] = own
            for place, own in zip(grid.places, labels, strict=True):
                if not np.array_equal(values[place[str(dim)]], own):
                    raise InputError(f"{name} differs at equal values of {dim}; merge other sweeps")
        else:
            values = max(labels, key=len)
            if len(values) < lengths[dim] or any(
                not np.array_equal(own, values[: len(own)]) for own in labels
            ):
                continue
        coords[name] = (dim, values, coordinate.attrs)
    return coords
