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
from jaxtheory.core.resolve import python_of, theory_of
from jaxtheory.core.theory import Theory
from jaxtheory.engine.execution.local import run_chunk
from jaxtheory.engine.grow import BLOCKS
from jaxtheory.engine.planning.lay_out import plan_request
from jaxtheory.engine.planning.layout import lanes
from jaxtheory.engine.records import Chunk, Part
from jaxtheory.engine.request.request import Request, read
from jaxtheory.engine.request.settings import numerics
from jaxtheory.engine.results.dataset import title_of
from jaxtheory.engine.results.export import read_store
from jaxtheory.engine.results.identity import identity
from jaxtheory.engine.results.store import MERGED, Store, read_manifest
from jaxtheory.engine.stored_run import StoredRun, select, untupled
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
    if not (folder / "manifest.json").is_file():
        raise InputError(
            f"{folder} is not a store: it has no manifest.json; give the directory of a sweep"
        )
    manifest = read_manifest(folder / "manifest.json")
    if MERGED in manifest:
        return _in_a_block(folder, manifest, theory, where)
    request = request_of(manifest["request"], theory_of(theory or manifest["request"]["theory"]))
    kept = Store(folder, identity(request))
    data = kept.dataset()
    if data is None:
        raise InputError(f"{folder} is not finished; run the same sweep again to resume it")
    run = select(data, request.theory, where)
    with traces.under(request.code):
        chunk = _chunk_of(request, manifest["plan"], run)
        part = run_chunk(request, chunk)
    values = _of_run(request, part, run)
    same = [
        name
        for name, value in values.items()
        if np.array_equal(value, _stored(data, name, run, value.shape), equal_nan=True)
    ]
    differs = [name for name in values if name not in same]
    return Rerun(run, values, same, differs, _python(request, run))


def _in_a_block(folder: Path, manifest: Mapping[str, Any], theory: Any, where: Any) -> Rerun:
    """Run a run of a store that has grown again, in the block that it is in."""
    data = read_store(folder)
    select(data, theory, where)  # fails for a choice that is not one run
    for name in manifest.get(BLOCKS, ()):
        block = folder / BLOCKS / name
        try:
            select(read_store(block), theory, where)
        except InputError:
            continue
        return rerun(block, theory, **where)
    raise InputError(f"{folder} was merged from other stores; run a run of one of these again")


def request_of(stored: Mapping[str, Any], theory: Theory) -> Request:
    """Return the request that a manifest describes.

    Raises InputError if it has parts of which a store keeps a hash only.
    """
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


def _point(request: Request, run: StoredRun) -> int:
    """The index of the point of a run."""
    places = [run.at[axis.name] for axis in request.axes]
    return int(np.ravel_multi_index(places, request.points.shape)) if places else 0


def _chunk_of(request: Request, plan: list, run: StoredRun) -> Chunk:
    """The one slot that trains a run."""
    point, place = _point(request, run), run.at["seed"]
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


def _of_run(request: Request, part: Part, run: StoredRun) -> dict[str, np.ndarray]:
    """The results of one run in a part, by the names of the dataset."""
    mine = (part.point == _point(request, run)) & (part.place == run.at["seed"])
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
