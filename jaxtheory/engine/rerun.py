"""Run one run of a stored sweep again, alone, and compare it bit for bit with the stored one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.code import traces
from jaxtheory.code.plain import as_json
from jaxtheory.core.config import Size, fields
from jaxtheory.core.resolve import python_of
from jaxtheory.core.theory import Theory
from jaxtheory.engine.execution.local import run_chunk
from jaxtheory.engine.planning.buckets import lanes
from jaxtheory.engine.planning.planner import plan_request
from jaxtheory.engine.records import Chunk, Part
from jaxtheory.engine.request.request import Request, Schedule, read
from jaxtheory.engine.request.settings import numerics
from jaxtheory.engine.results.dataset import title_of, untupled
from jaxtheory.engine.results.identity import identity
from jaxtheory.engine.store import datasets, difference
from jaxtheory.engine.store.datasets import open_store
from jaxtheory.engine.store.rectangle import Rectangle, has_outputs, is_same, places, runs_of
from jaxtheory.engine.store.store import Store, read_manifest
from jaxtheory.engine.stored_run import StoredRun, select
from jaxtheory.system import disk
from jaxtheory.system.backend import computes
from jaxtheory.texts.errors import InputError
from jaxtheory.texts.faces import as_html, as_text


class Rerun(NamedTuple):
    """A run of a stored sweep that was run again.

    run: which run it is. values: its results by name. same: the names whose values are those of the
    store bit for bit. differs: the other names. python: the call that trains this run alone.
    """

    run: StoredRun
    values: dict[str, np.ndarray]
    same: list[str]
    differs: list[str]
    python: str

    def _face(self) -> tuple[str, dict[str, str]]:
        return f"Rerun: {len(self.same)} of {len(self.values)} results are the same bit for bit", {
            "same": ", ".join(self.same),
            "differs": ", ".join(self.differs),
        }

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


@computes
def rerun(store: str | Path, theory: Any = None, **where: Any) -> Rerun:
    """Run one run of a stored sweep again, in the compiled program that the store's plan names.

    Args:
        store: The directory of a finished sweep.
        theory: The theory; by default the one that the store names, which must have a name.
        **where: The value of each axis, by the name or symbol of its field, and the seed.

    Returns:
        A `Rerun`, with the names of the results that agree bit for bit. Of a run that went on from
        a sweep with more values or seeds, other results may differ by rounding: it is trained from
        the beginning here, in one program.

    Raises:
        InputError: The directory is not a finished sweep, no run or several runs have these values,
            the sweep depends on functions or arrays that a store does not keep, or the code of the
            theory has changed.

    Example:
        >>> import jaxtheory, tempfile
        >>> from jaxtheory.engine.rerun import rerun
        >>> from jaxtheory.theories import random_walk
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     data = jaxtheory.sweep(
        ...         random_walk, random_walk.Config(), vary={"p": [0.5, 0.7]}, seeds=2, steps=5,
        ...         store=f"{folder}/walks",
        ...     )
        ...     again = rerun(f"{folder}/walks", p=0.7, seed=1)
        >>> again.differs
        []
    """
    location = disk.located(store)
    folder = location.parent if location.name == "data.zarr" else location
    data = open_store(folder)
    read_manifest(folder)  # refuses a store of an earlier format
    run, shown = select(data, theory, where), datasets.request_of(folder)["request"]
    for rectangle in Store(folder).rectangles():
        at = _place(rectangle, shown, run)
        if at is None:
            continue
        request = request_of(rectangle.content, run.theory)
        stored = as_json(identity(request))
        if not is_same(rectangle.content["runs"], runs_of(stored)):
            difference.refuse(
                folder, (rectangle.content["runs"], rectangle.content), (runs_of(stored), stored)
            )
        with traces.under(request.code):
            return _repeat(request, rectangle, at, data, run)
    raise InputError(f"{folder} has no part of this run; run the same sweep again")


def _repeat(
    request: Request, rectangle: Rectangle, at: dict[str, int], data: xr.Dataset, run: StoredRun
) -> Rerun:
    """Run a run of a rectangle again, and compare it."""
    chunk = _chunk_of(request, rectangle.content["plan"], at)
    values = _of_run(request, run_chunk(request, chunk), at)
    values = {name: value for name, value in values.items() if name in data}
    same = [name for name, value in values.items() if _equals(value, data[name].isel(run.at))]
    differs = [name for name in values if name not in same]
    return Rerun(run, values, same, differs, _python(request, run))


def _equals(value: np.ndarray, stored: xr.DataArray) -> bool:
    """True if two arrays are equal; either may be padded further, with NaN."""
    common = tuple(slice(min(n, m)) for n, m in zip(value.shape, stored.shape, strict=True))
    if not np.array_equal(value[common], stored.values[common], equal_nan=True):
        return False
    return all(
        np.isfinite(array).sum() == np.isfinite(array[common]).sum()
        for array in (value, stored.values)
    )


def _place(rectangle: Rectangle, shown: Mapping[str, Any], run: StoredRun) -> dict[str, int] | None:
    """The index of a run on each dimension of a rectangle, None if its outputs are not there.

    shown: the request of the dataset in which the run was chosen.
    """
    at = places(rectangle.content, shown)
    if at is None or not has_outputs(rectangle.content, shown):
        return None
    dims = [*(axis["name"] for axis in shown["axes"]), "seed"]
    indices = {
        dim: np.flatnonzero(index == run.at[dim]) for dim, index in zip(dims, at, strict=True)
    }
    if not all(map(len, indices.values())):
        return None
    return {dim: int(index[0]) for dim, index in indices.items()}


def request_of(content: Mapping[str, Any], theory: Theory) -> Request:
    """Return the request of all runs of a rectangle.

    Raises InputError if it has parts of which a store keeps a hash only.
    """
    stored = {**content["runs"], **{n: v for n, v in content.items() if n != "runs"}}
    for name in ("start", "stop", "observe"):
        if stored[name]:
            raise InputError(
                f"the sweep was made with {name}=, of which the store keeps a hash only; run the "
                "same sweep again in Python with one point and one seed"
            )
    if not isinstance(stored["key"], int):
        raise InputError("the sweep was made with the key of one run, which has no number")
    table = fields(theory.Config)
    sizes = {
        n: Size(v["capacity"], None if v["n"] == v["capacity"] else v["n"])
        for n, v in stored["config"].items()
        if isinstance(v, dict)
    }
    plain = {n: untupled(v) for n, v in stored["config"].items() if n not in sizes}
    groups = []
    for axis in stored["axes"]:
        values = {n: list(map(untupled, v)) for n, v in axis["values"].items()}
        label = (
            {}
            if axis["name"] in table or axis["name"] in values
            else {axis["name"]: axis["labels"]}
        )
        groups.append({**label, **values})
    saved = stored["save_params"]
    at_steps = isinstance(saved, list)
    request = read(
        theory,
        theory.Config(**sizes | plain),
        zip=groups or None,
        seeds=stored["seeds"],
        steps=stored["steps"],
        algorithm=None if any("algorithm" in group for group in groups) else stored["algorithm"],
        key=stored["key"],
        dtype=stored["dtype"],
        buckets=stored["buckets"],
        save_params=[0] if at_steps else saved,
    )
    # records of the dataset for which the rectangle was made may lie beyond the end of its runs
    which = stored["metrics"] and {name: frozenset(at) for name, at in stored["metrics"].items()}
    return request._replace(
        schedule=Schedule(np.array(stored["record"], np.int32), which),
        save_params=tuple(saved) if at_steps else saved,
    )


def _point(request: Request, at: Mapping[str, int]) -> int:
    """The index of the point of a run."""
    places = [at[axis.name] for axis in request.axes]
    return int(np.ravel_multi_index(places, request.points.shape)) if places else 0


def _chunk_of(request: Request, plan: list, at: Mapping[str, int]) -> Chunk:
    """The one slot that trains a run."""
    point, place = _point(request, at), at["seed"]
    with numerics(request.dtype, request.partitionable):
        for bucket in plan_request(request).following(plan).buckets:
            if point not in bucket.members.points:
                continue
            for slot in range(bucket.slots):
                chunk = Chunk(bucket, slot, slot + 1)
                _, points, places = lanes(request, chunk).out
                if np.any((points == point) & (places == place)):
                    return chunk
    raise AssertionError("every run has a slot")


def _of_run(request: Request, part: Part, at: Mapping[str, int]) -> dict[str, np.ndarray]:
    """The results of one run in a part, by the names of the dataset."""
    mine = (part.point == _point(request, at)) & (part.place == at["seed"])
    (entry,) = np.flatnonzero(mine)
    return {title_of(name): np.asarray(values[entry]) for name, values in part.values.items()}


def _python(request: Request, run: StoredRun) -> str:
    """The call that trains a run alone; its draws are the same, and its numbers up to rounding."""
    standard = request.theory.Config()
    changed = {
        n: getattr(run.config, n)
        for n in fields(type(run.config))
        if getattr(run.config, n) != getattr(standard, n)
    }
    arguments = ", ".join(
        f"{n}={int(v.n) if isinstance(v, Size) else v!r}" for n, v in changed.items()
    )
    return (
        f"import jaxtheory\n\ntheory = {python_of(request.theory)}\n"
        f"jaxtheory.simulate(theory, theory.Config({arguments}), "
        f"jaxtheory.run_key({request.key}, {run.seed}),\n"
        f"    steps={run.steps}, algorithm={run.algorithm!r}, dtype={request.dtype!r})"
    )
