"""Give a store more seeds, values of an axis, steps or observables: only what is missing is
computed.

A store that has grown is made of blocks, which are plain stores:

    DIR/manifest.json, DIR/data.zarr    the request and the dataset of all blocks
    DIR/blocks/HASH/                    the store of a rectangle of the grid

Its manifest names the blocks. It is replaced in one step when all blocks are whole, and the dataset
is made of them again if it is missing or damaged, so that an interruption loses nothing.
"""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.core.errors import InputError
from jaxtheory.core.plain import as_json
from jaxtheory.engine.request.axes import Axis
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.results import versions
from jaxtheory.engine.results.combine import combine
from jaxtheory.engine.results.identity import fingerprint, identity
from jaxtheory.engine.results.states import Before, continues, observable
from jaxtheory.engine.results.store import (
    MERGED,
    STATES,
    Store,
    finished_dataset,
    manifest_checksum,
    mark_of,
    read_manifest,
)
from jaxtheory.system import disk
from jaxtheory.system.disk import synced
from jaxtheory.system.locks import locked
from jaxtheory.system.temporary import beside, tidy

BLOCKS = "blocks"  # an entry of the manifest: the names of the blocks
Compute = Callable[..., xr.Dataset]  # compute(request, store, before): see `sweep`
_Rows = dict[str, list[int]]  # indices of the values of each axis, and of "seed"


class Growth(NamedTuple):
    """How a store can become that of a larger request.

    path: its directory. manifest: its manifest. within: True if the larger request has more steps
    or observables of the same runs, False if it has more values or seeds, or is that of the store.
    """

    path: Path
    manifest: Mapping[str, Any]
    within: bool


def find_growth(store: Any, request: Request, identified: Mapping[str, Any]) -> Growth | None:
    """Return how a store can grow to a request, or None if it is plain, absent or of another kind.

    A store whose request has other entries changed is refused later, when it is opened.
    """
    path = disk.located(store)
    if not (path / "manifest.json").is_file():
        return None
    manifest = read_manifest(path / "manifest.json")
    old, new = manifest["request"], as_json(identified)
    changed = {name for name in {*old, *new} if old.get(name) != new.get(name)}
    if not changed:
        return Growth(path, manifest, False) if BLOCKS in manifest else None
    if MERGED in manifest and BLOCKS not in manifest:
        return None
    if changed <= {"steps", "record", "metrics"} and new["steps"] > old["steps"]:
        on_axis = any("steps" in axis["values"] for axis in new["axes"])
        return None if on_axis else Growth(path, manifest, True)
    if changed <= {"observe", "metrics"} and observable(old, request):
        kept = (old["observe"] or {}).items() <= (new["observe"] or {}).items()
        return Growth(path, manifest, True) if kept else None
    if changed in ({"seeds"}, {"axes"}) and _rows(request, old) is not None:
        return Growth(path, manifest, False)
    return None


def grow(
    growth: Growth,
    request: Request,
    identified: Mapping[str, Any],
    compute: Compute,
    accept_versions: bool,
) -> xr.Dataset:
    """Compute what a store lacks of a request, and return the whole dataset."""
    path = growth.path
    with locked(path / ".grow.lock"):
        manifest = read_manifest(path / "manifest.json")  # another process may have been faster
        wanted = as_json(identified)
        if manifest["request"] == wanted and BLOCKS in manifest:
            directory = Store(path, identified)
            if (finished := directory.dataset()) is not None:
                return finished
            blocks = list(manifest[BLOCKS])
        else:
            blocks = _grown(growth, manifest, request, compute)
        datasets = [_whole(path / BLOCKS / name, request, compute) for name in blocks]
        whole = _in_order(combine(datasets, blocks), request)
        _declare(path, wanted, blocks, accept_versions)
        done = Store(path, identified).finish(whole)
        _remove_others(path, blocks)
        return done


def plan_of(store: Path) -> list[dict[str, Any]]:
    """Return the plan of a store."""
    return list(read_manifest(store / "manifest.json")["plan"])


def _grown(
    growth: Growth, manifest: Mapping[str, Any], request: Request, compute: Compute
) -> list[str]:
    """Compute the blocks of a request from those of a smaller one, and return their names."""
    path = growth.path
    blocks = list(manifest.get(BLOCKS, ())) or [_as_block(path, manifest)]
    if not growth.within:
        rows = _rows(request, manifest["request"])
        assert rows is not None
        missing = {
            name: sorted({*range(n)} - {*rows[name]}) or list(range(n))
            for name, n in zip(_dims(request), _lengths(request), strict=True)
        }
        part = _restricted(request, missing)
        name = fingerprint(identity(part))
        compute(part, path / BLOCKS / name)
        return [*blocks, name]
    longer = []
    for block in blocks:
        stored = read_manifest(path / BLOCKS / block / "manifest.json")["request"]
        rows = _rows(request, stored)
        assert rows is not None
        part = _restricted(request, rows)
        before, name = path / BLOCKS / block, fingerprint(identity(part))
        same = stored["steps"] == part.points.steps
        goes_on = same or continues(Before(before), part)
        compute(part, path / BLOCKS / name, before if goes_on else None)
        longer.append(name)
    return longer


def _dims(request: Request) -> list[str]:
    return [*(axis.name for axis in request.axes), "seed"]


def _lengths(request: Request) -> list[int]:
    return [*request.points.shape, len(request.seeds)]


def _rows(request: Request, stored: Mapping[str, Any]) -> _Rows | None:
    """Indices in a request of the values and seeds of a stored one; None if it lacks some of them.

    They may differ along one dimension only, as the missing ones are then a rectangle too.
    """
    axes = [*stored["axes"]]
    if [axis["name"] for axis in axes] != [axis.name for axis in request.axes]:
        return None
    rows: _Rows = {}
    for old, new in zip(axes, request.axes, strict=True):
        entries = lambda axis: list(
            zip(
                *(map(_hashable, values) for _, values in sorted(axis["values"].items())),
                map(_hashable, axis["labels"]),
                strict=True,
            )
        )
        if {*old["values"]} != {*new.values}:
            return None
        have = entries({"values": as_json(new.values), "labels": as_json(new.labels)})
        places = {entry: i for i, entry in enumerate(have)}
        rows[new.name] = [places.get(entry, -1) for entry in entries(old)]
    seeds = {int(seed): i for i, seed in enumerate(request.seeds)}
    rows["seed"] = [seeds.get(seed, -1) for seed in stored["seeds"]]
    if any(-1 in each for each in rows.values()):
        return None
    return rows


def _hashable(value: Any) -> str:
    return json.dumps(value)


def _restricted(request: Request, rows: _Rows) -> Request:
    """The request with these values of its axes and these seeds."""
    pick = lambda values, at: (
        values[at] if isinstance(values, np.ndarray) else tuple(values[i] for i in at)
    )
    axes = tuple(
        Axis(
            axis.name,
            pick(axis.labels, rows[axis.name]),
            {word: pick(values, rows[axis.name]) for word, values in axis.values.items()},
        )
        for axis in request.axes
    )
    points = request.points._replace(axes=axes)
    return request._replace(axes=axes, points=points, seeds=request.seeds[rows["seed"]])


def _as_block(path: Path, manifest: Mapping[str, Any]) -> str:
    """Make a plain store its own first block, by links to its files, and return its name."""
    name = fingerprint(manifest["request"])
    target = path / BLOCKS / name
    if target.exists():
        return name
    (path / BLOCKS).mkdir(exist_ok=True)
    with beside(target) as temporary:
        temporary.mkdir(parents=True)
        for entry in ("manifest.json", "data.sum", "data.zarr", "parts", STATES):
            if (path / entry).is_dir():
                shutil.copytree(path / entry, temporary / entry, copy_function=_link)
            elif (path / entry).exists():
                _link(path / entry, temporary / entry)
        os.rename(temporary, target)
    return name


def _link(source: Any, target: Any) -> Any:
    """Link a file, or copy it where the file system has no links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def _whole(block: Path, request: Request, compute: Compute) -> xr.Dataset:
    """The dataset of a block, made of its parts again if it is damaged."""
    manifest = read_manifest(block / "manifest.json")
    data = finished_dataset(block, mark_of(manifest))
    if data is not None:
        return data
    rows = _rows(request, manifest["request"])
    if rows is None:
        raise InputError(f"{block} is not a block of this sweep; choose another directory")
    return compute(_restricted(request, rows), block)


def _in_order(data: xr.Dataset, request: Request) -> xr.Dataset:
    """The dataset with values and seeds in the order of the request."""
    wanted = {axis.name: as_json(axis.labels) for axis in request.axes}
    wanted["seed"] = request.seeds.tolist()
    places = {
        dim: [
            data[dim].values.tolist().index(v if isinstance(v, int | float) else str(v))
            for v in values
        ]
        for dim, values in wanted.items()
    }
    return data.isel(places)


def _declare(path: Path, request: Any, blocks: list[str], accept_versions: bool) -> None:
    """Replace the manifest by that of the larger request, in one step."""
    manifests = [read_manifest(path / BLOCKS / name / "manifest.json") for name in blocks]
    accepted = versions.joined(manifests, accept_versions)
    first = manifests[0]
    manifest = versions.noted(
        {
            **{name: first[name] for name in ("format", "keys", "versions")},
            "request": request,
            "plan": [],
            MERGED: [mark_of(each) for each in manifests],
            BLOCKS: blocks,
        },
        accepted,
    )
    whole = {**manifest, "digest": manifest_checksum(manifest)}
    with beside(path / "manifest.json") as temporary:
        synced(temporary, json.dumps(whole, indent=1).encode())
        os.replace(temporary, path / "manifest.json")


def _remove_others(path: Path, blocks: list[str]) -> None:
    """Remove parts and blocks that the dataset no longer needs."""
    for entry in ("parts", STATES):
        shutil.rmtree(path / entry, ignore_errors=True)
    for folder in (path / BLOCKS).iterdir():
        if folder.name not in blocks and not folder.name.startswith("."):
            shutil.rmtree(folder, ignore_errors=True)
    tidy(path / BLOCKS)
