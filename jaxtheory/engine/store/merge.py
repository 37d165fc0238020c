"""Merge finished sweeps that differ in the values of axes or in seeds, also as a new store.

A merged store holds the rectangles of all of its sources, as if their folders had been copied into
one, and the dataset of the sweep over all points and seeds.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr

from jaxtheory.engine.results import versions
from jaxtheory.engine.results.attributes import digest
from jaxtheory.engine.results.combine import Grid, combine, different, grid_of
from jaxtheory.engine.store import datasets
from jaxtheory.engine.store.store import Store, read_manifest
from jaxtheory.system import disk
from jaxtheory.system.temporary import temporary_sibling, tidy
from jaxtheory.texts.errors import InputError

_GRID = ("axes", "seeds")  # entries of a request that may differ


class _Source(NamedTuple):
    """A sweep to merge: its name in messages, its dataset, and the store that it is in.

    request: the request of the dataset. described: its metadata.
    """

    name: str
    data: xr.Dataset
    store: Store | None = None
    request: Mapping[str, Any] = {}
    described: Mapping[str, Any] = {}

    def environments(self) -> list[versions.Versions]:
        """The versions under which the runs of the store were computed."""
        if self.store is None:
            return []
        environments_of_parts = list[versions.Versions]()
        for rectangle in self.store.rectangles():
            notes = (self.store.note(rectangle, chunk) for chunk in rectangle.chunks)
            environments_of_parts += [note for note in notes if note]
        return environments_of_parts


def merge(
    sources: Sequence[xr.Dataset | str | Path],
    *,
    to: str | Path | None = None,
    accept_versions: bool = False,
) -> xr.Dataset:
    """Merge finished sweeps that differ in the values of an axis or in seeds.

    Stores are compared by their whole requests and by the code that computed them, datasets in
    memory by their attributes: theory, algorithm, config, steps, key, dtype and the hash of the
    theory's code. Runs that several sweeps have must have equal numbers up to rounding, and those
    of the first are taken.

    Args:
        sources: The datasets of sweeps, or the directories of their stores, two or more.
        to: A directory for the merged store, which must not exist or be empty; None writes nothing.
            All sources must then be stores.
        accept_versions: True to merge stores that were computed under different versions of jax,
            jaxlib, numpy, optax or Python, or on different backends, which may differ in the last
            bits. The dataset and the store record them.

    Returns:
        The dataset of all points and seeds.

    Raises:
        InputError: The sweeps are of different requests or code, have different numbers for one
            run, or leave a point and seed of the common grid out; a store is incomplete, or `to`
            cannot be written.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import random_walk
        >>> config = random_walk.Config()
        >>> of = lambda p: jaxtheory.sweep(random_walk, config, vary={"p": p}, steps=2)
        >>> data = jaxtheory.merge([of([0.3, 0.7]), of([0.5])])
        >>> data.clockwise_probability.values.tolist()
        [0.3, 0.5, 0.7]
    """
    sweeps = [_source(one, i) for i, one in enumerate(_listed(sources))]
    if len(sweeps) < 2:
        raise InputError("merge: give two sweeps or more, as stores or datasets")
    target = None if to is None else _free(disk.located(to))
    stores = [source for source in sweeps if source.store is not None]
    memory = [source for source in sweeps if source.store is None]
    if target is not None and memory:
        raise InputError(
            f"{memory[0].name} is not in a store; a merged store is made of stores alone"
        )
    names, sweep_data = [source.name for source in sweeps], [source.data for source in sweeps]
    combined = combine(sweep_data, names)
    _require_known(sweeps, grid_of(sweep_data))
    for source in stores[1:]:
        _require_equal(stores[0], source)
    combined = combined.assign_attrs(_accepted(sweeps, accept_versions))
    if memory:
        return combined
    request = _request(stores, grid_of(sweep_data))
    if all(" " in data.attrs.get("theory_digest", "") for data in sweep_data):  # absent before
        combined = combined.assign_attrs(theory_digest=digest(request["code"]))
    if target is None:
        return combined
    _write(stores, target, request, combined)
    return datasets.open_store(target)


def _listed(sources: Any) -> list:
    """The sources. Raises InputError for a single one."""
    if isinstance(sources, xr.Dataset | str | os.PathLike):
        raise InputError("merge: give a list of two sweeps or more, as stores or datasets")
    return list(sources)


def _source(given: Any, i: int) -> _Source:
    """A dataset in memory, or that of a store with its request."""
    if isinstance(given, xr.Dataset):
        return _Source(f"dataset {i + 1}", given)
    path = disk.located(given)
    data = datasets.open_store(path)
    home = path.parent if path.name == "data.zarr" else path
    read_manifest(home)  # refuses a store of an earlier format
    request = datasets.request_of(home)
    return _Source(str(given), data, Store(home), request["request"], request["described"])


def _accepted(given: list[_Source], accept: bool) -> dict[str, str]:
    """The attribute with the versions of all sources. Raises InputError if they may not differ."""
    stored = [
        (source.name, environment) for source in given for environment in source.environments()
    ]
    for name, environment in stored:
        if environment != stored[0][1] and not accept:
            first = stored[0][1]
            keys = [
                key for key in {**first, **environment} if first.get(key) != environment.get(key)
            ]
            changes = " and ".join(
                ", ".join(f"{k} {side.get(k)}" for k in keys) for side in (first, environment)
            )
            raise InputError(
                f"{name}: the sweeps were begun under {changes}, which may compute other bits; "
                "accept that with --accept-versions (accept_versions=True), and the dataset "
                "records it"
            )
    accepted = list[Any]()
    attributes = [versions.attribute(environment for _, environment in stored)]
    for attrs in [*attributes, *(source.data.attrs for source in given)]:
        listed = json.loads(attrs.get(versions.ACCEPTED, "[]"))
        accepted += [environment for environment in listed if environment not in accepted]
    return {versions.ACCEPTED: json.dumps(accepted, sort_keys=True)} if accepted else {}


def _free(target: Path) -> Path:
    """The directory of a new store. Raises InputError if there is something in it."""
    try:
        if target.is_dir():
            tidy(target)
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise InputError(f"{target} already exists; choose another directory for --to (to=)")
    except OSError as error:
        raise _refusal(target, error) from None
    return target


def _refusal(target: Path, error: OSError) -> InputError:
    return InputError(
        f"{target}: {error.strerror or error}; choose a writable directory on a disk with free "
        "space for --to (to=)"
    )


def _require_known(given: list[_Source], grid: Grid) -> None:
    """Raise InputError if the attributes of a dataset in memory do not identify its sweep."""
    for source in given:
        if source.store is None and "key" not in source.data.attrs:
            raise InputError(f'{source.name} has no attribute "key"; merge the stores instead')
    if "algorithm" in grid.dims and any(source.store is None for source in given):
        own = [source.data.attrs.get("theory_digest") for source in given]
        if len(set(own)) > 1:
            raise InputError(
                f"{given[0].name} and {given[1].name} have different algorithms, so that their "
                "code cannot be compared; merge stores instead"
            )


def _require_equal(one: _Source, other: _Source) -> None:
    """Raise InputError, with the first difference, unless two stores can be of one sweep."""
    names, on_axes = (one.name, other.name), _words(one.request)
    requests: Any = [{**s.request, **_code(s.request)} for s in (one, other)]
    for entry in sorted({*requests[0], *requests[1]} - {*_GRID, *on_axes, "code"}):
        old, new = (request.get(entry) for request in requests)
        if entry == "config":
            old, new = ({k: v for k, v in c.items() if k not in on_axes} for c in (old, new))
        if entry.startswith("the code of algorithm ") and None in (old, new):
            continue  # only one of them uses it
        if old != new:
            raise different(entry, names, "")


def _words(request: Mapping[str, Any]) -> set[str]:
    """The fields on the axes of a request, and "algorithm" and "steps" if they are."""
    return {word for axis in request["axes"] for word in axis["values"]}


def _code(request: Mapping[str, Any]) -> dict[str, str]:
    return {f"the code of {name}": text for name, text in (request.get("code") or {}).items()}


def _request(stores: list[_Source], grid: Grid) -> dict[str, Any]:
    """The request of all points and seeds, as one sweep would have been asked for them."""
    requests = [source.request for source in stores]
    axes = [{axis["name"]: axis for axis in request["axes"]} for request in requests]
    merged = []
    for axis in requests[0]["axes"]:
        name = axis["name"]
        at = grid.source(name)
        merged.append(
            {
                "name": name,
                "labels": [axes[i][name]["labels"][k] for i, k in at],
                "values": {
                    word: [axes[i][name]["values"][word][k] for i, k in at]
                    for word in axis["values"]
                },
            }
        )
    seeds = [requests[i]["seeds"][k] for i, k in grid.source("seed")]
    code: dict[str, str] = {}
    for request in reversed(requests):
        code |= request.get("code") or {}
    return {**requests[0], "axes": merged, "seeds": seeds, "code": code}


def _write(
    stores: list[_Source], target: Path, request: Mapping[str, Any], data: xr.Dataset
) -> None:
    """Make a store of the rectangles of several, and the dataset of a request for all of them.

    The rectangles of the first store come first.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        tidy(target.parent)
        with temporary_sibling(target.absolute()) as temporary:
            temporary.mkdir()
            for source in stores:
                assert source.store is not None
                merge_into(Store(temporary), source.store)
            datasets.begin(Store(temporary), request, stores[0].described)
            datasets.finish(Store(temporary), request, data)
            os.rename(temporary, target)
    except OSError as error:
        raise _refusal(target, error) from None
    except InputError as error:
        if isinstance(error.__context__, OSError):
            raise _refusal(target, error.__context__) from None
        raise


def merge_into(store: Store, other: Store) -> None:
    """Copy the rectangles of another store that a store lacks, with their parts and states."""
    store.begin(read_manifest(other.path)["runs"])
    for rectangle in other.rectangles():
        store.add(rectangle.content)
        for chunk in rectangle.chunks:
            for kind in ("part", "state"):
                source, copy = (side.file(rectangle, chunk, kind) for side in (other, store))
                if source.is_file() and not copy.exists():
                    with temporary_sibling(copy) as temporary:
                        shutil.copy2(source, temporary)
                        os.replace(temporary, copy)
