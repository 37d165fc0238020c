"""The dataset of a request that is still being computed, from the parts of its store.

Nothing is written, and no theory is needed.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.engine.records import Part
from jaxtheory.engine.results.dataset import Described, Grid, assemble
from jaxtheory.engine.store.rectangle import (
    Rectangle,
    has_outputs,
    is_same,
    places,
    runs_of,
)
from jaxtheory.engine.store.store import Store


class View(NamedTuple):
    """The dataset of the finished runs, their number, and the number of all runs."""

    data: xr.Dataset
    finished: int
    runs: int


def partial_view(path: Path, begun: Mapping[str, Any]) -> View:
    """Return the dataset of what is finished, with NaN where a run is not.

    begun: a request and the metadata of its dataset, from `datasets.begun`.
    """
    store, request = Store(path), begun["request"]
    grid = Grid(request["axes"], request["seeds"], request["record"])
    shape = (*grid.shape, len(grid.seeds))
    free, parts = np.ones(math.prod(shape), bool), list[Part]()
    for rectangle in store.rectangles():
        if not is_same(rectangle.content["runs"], runs_of(request)):
            continue
        at = places(rectangle.content, request)
        if at is None or not has_outputs(rectangle.content, request):
            continue
        for part in parts_of(store, rectangle, at, shape):
            run = part.point * shape[-1] + part.place
            parts.append(select_outputs(part.at(free[run]), rectangle.content, request))
            free[run] = False
    data = assemble(grid, Described(**begun["described"]), parts, partial=True)
    return View(data, int(np.sum(~free)), len(free))


def parts_of(
    store: Store, rectangle: Rectangle, at: list[np.ndarray], shape: tuple[int, ...]
) -> Iterator[Part]:
    """Yield the finished parts of a rectangle, cut to the runs of a request, with its indices.

    at: for each dimension the index in the request of each value of the rectangle, -1 for none.
    shape: that of the grid of the request.
    """
    inner = rectangle.shape[:-1]
    for chunk in rectangle.chunks:
        packed_part = store.read(rectangle, chunk)
        if packed_part is None:
            continue
        arrays = packed_part.arrays
        old = np.unravel_index(arrays["point"], inner) if inner else ()
        new = [index[k] for index, k in zip(at, old, strict=False)]
        seed = at[-1][arrays["place"]]
        point = np.ravel_multi_index(new, shape[:-1], "clip") if new else np.zeros_like(seed)
        values = {n: a for n, a in arrays.items() if n not in ("point", "place")}
        mine = np.all([seed >= 0, *(index >= 0 for index in new)], axis=0)
        yield Part(point, seed, values).at(mine)


def select_outputs(part: Part, content: Mapping[str, Any], identity: Mapping[str, Any]) -> Part:
    """Return the outputs of a part of a rectangle that a request asks for.

    Metrics are NaN at steps at which the request has none.
    """
    which, records = identity["metrics"], identity["record"]
    further = {*(content["observe"] or {})} - {*(identity["observe"] or {})}
    values = {}
    for name, array in part.values.items():
        kind, _, word = name.rpartition("/")
        weights = word.startswith("params_")
        if kind == "metric" and which is None and (weights or word in further):
            continue
        if kind == "metric" and which is not None:
            if word not in which:
                continue
            late = ~np.isin(records, which[word])
            if late.any():
                array = array.astype(np.result_type(array.dtype, np.float32))
                array[:, late] = np.nan
        if kind == "analysis" and weights and identity["save_params"] is not True:
            continue
        values[name] = array
    return part._replace(values=values)
