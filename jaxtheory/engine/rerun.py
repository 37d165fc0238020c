"""Run one run of a stored sweep again, alone, and compare it bit for bit with the stored one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.core import traces
from jaxtheory.core.config import Size, fields
from jaxtheory.core.errors import InputError
from jaxtheory.core.extended import WEIGHTS
from jaxtheory.core.plain import as_json
from jaxtheory.core.resolve import python_of
from jaxtheory.core.theory import Theory
from jaxtheory.engine.execution.local import run_chunk
from jaxtheory.engine.planning.lay_out import plan_request
from jaxtheory.engine.planning.layout import lanes
from jaxtheory.engine.records import Chunk, Part
from jaxtheory.engine.request.request import Request, read
from jaxtheory.engine.request.settings import numerics
from jaxtheory.engine.results import difference
from jaxtheory.engine.results.dataset import labels_of, title_of, untupled
from jaxtheory.engine.results.datasets import open_store
from jaxtheory.engine.results.identity import identity
from jaxtheory.engine.results.rectangle import Rectangle, is_same, runs_of
from jaxtheory.engine.results.store import Store
from jaxtheory.engine.stored_run import StoredRun, select
from jaxtheory.system import disk
from jaxtheory.system.backend import computes


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


@computes
def rerun(store: str | Path, theory: Any = None, **where: Any) -> Rerun:
    """Run one run of a stored sweep again, in the compiled program that the store's plan names.

    Args:
        store: The directory of a finished sweep.
        theory: The theory; by default the one that the store names, which must have a name.
        **where: The value of each axis, by the name or symbol of its field, and the seed.

    Returns:
        A `Rerun`, with the names of the results that agree bit for bit.

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
    folder = disk.located(store)
    data = open_store(folder)
    run = select(data, theory, where)
    found = Store(folder)
    for rectangle in found.rectangles():
        at = _place(rectangle, data, run)
        if at is None:
            continue
        request = request_of(rectangle.content, run.theory)
        stored = as_json(identity(request))
        if not is_same(rectangle.content["runs"], runs_of(stored)):
            difference.refuse(
                folder, (rectangle.content["runs"], rectangle.content), (runs_of(stored), stored)
            )
        with traces.under(request.code):
            return _again(request, rectangle, at, data, run)
    raise InputError(f"{folder} has no part of this run; run the same sweep again")


def _again(
    request: Request, rectangle: Rectangle, at: dict[str, int], data: xr.Dataset, run: StoredRun
) -> Rerun:
    """Run a run of a rectangle again, and compare it."""
    chunk = _chunk_of(request, rectangle.content["plan"], at)
    values = _of_run(request, run_chunk(request, chunk), at)
    values = {name: value for name, value in values.items() if name in data}
    same = [
        name
        for name, value in values.items()
        if np.array_equal(value, _stored(data, name, run, value.shape), equal_nan=True)
    ]
    differs = [name for name in values if name not in same]
    return Rerun(run, values, same, differs, _python(request, run))


def _place(rectangle: Rectangle, data: xr.Dataset, run: StoredRun) -> dict[str, int] | None:
    """The index of a run on each dimension of a rectangle, None if its outputs are not there."""
    content, at = rectangle.content, {}
    other_steps = "steps" not in data.dims and content["steps"] != data.attrs["steps"]
    if other_steps or content["record"] != data["step"].values.tolist():
        return None
    for axis in content["axes"]:
        name = axis["name"]
        if name not in run.at:
            return None
        labels = labels_of(axis["labels"]).tolist()
        wanted = data[name].values[run.at[name]].item()
        if wanted not in labels:
            return None
        at[name] = labels.index(wanted)
    if run.seed not in content["seeds"]:
        return None
    return {**at, "seed": content["seeds"].index(run.seed)}


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
    record = stored["metrics"] or stored["record"]
    saved = stored["save_params"]
    if isinstance(saved, list) and isinstance(record, dict):
        record = {n: steps for n, steps in record.items() if not n.startswith(WEIGHTS)}
    return read(
        theory,
        theory.Config(**sizes | plain),
        zip=groups or None,
        seeds=stored["seeds"],
        steps=stored["steps"],
        algorithm=None if any("algorithm" in group for group in groups) else stored["algorithm"],
        key=stored["key"],
        record=record,
        dtype=stored["dtype"],
        buckets=stored["buckets"],
        save_params=saved,
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


def _stored(data: xr.Dataset, name: str, run: StoredRun, shape: tuple[int, ...]) -> np.ndarray:
    """The stored values of a run, cut to a shape, as those of other runs may be larger."""
    values: np.ndarray = data[name].isel(run.at).values
    return values[tuple(slice(n) for n in shape)]


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
