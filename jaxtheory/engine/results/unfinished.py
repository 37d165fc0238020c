"""The dataset of a store that is still being computed, from its manifest and finished parts.

Nothing is written, and no theory is needed. If the theory can be found by its name, it gives the
names of further dimensions and the meanings of variables.
"""

import contextlib
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.core.config import canonical
from jaxtheory.core.resolve import named_theory
from jaxtheory.core.theory import Theory
from jaxtheory.engine.planning.memory import refuse_results
from jaxtheory.engine.records import NEVER, Part
from jaxtheory.engine.request.observed import with_observables
from jaxtheory.engine.results import attributes, packed
from jaxtheory.engine.results.dataset import title_of
from jaxtheory.engine.results.store import mark_of, read_manifest
from jaxtheory.system import disk

_PART = re.compile(r"\d+-\d+-\d+\.part")
_ENDS = ("diverged_at", "stopped_at")  # variables that are steps or NEVER


class Progress(NamedTuple):
    """The dataset of the finished runs, their number, and the number of all runs."""

    data: xr.Dataset
    finished: int
    runs: int


class Unfinished:
    """The finished parts of a store, which are read once each as they arrive.

    Raises InputError if the manifest cannot be read.
    """

    def __init__(self, path: Path):
        self._path = path
        manifest = read_manifest(path / "manifest.json")
        self._mark, self._versions = mark_of(manifest), manifest.get("versions") or {}
        self._request: dict[str, Any] = manifest["request"]
        self._theory = _found(str(self._request["theory"]))
        self._dims = self._further_dims()
        self._read: set[str] = set()
        self._whole: dict[str, np.ndarray] = {}  # [point and seed, ...]
        axes = self._request["axes"]
        self._grid = (*(len(axis["labels"]) for axis in axes), len(self._request["seeds"]))
        self._seen = np.zeros(math.prod(self._grid), bool)

    def update(self) -> bool:
        """Read the parts that have arrived, and return True if there are any.

        A damaged part is passed over, because the sweep will compute it again.
        """
        before = len(self._read)
        for file in sorted((self._path / "parts").glob("*.part")):
            if file.name in self._read or not _PART.fullmatch(file.name):
                continue
            try:
                part = packed.decode_part(disk.read_bytes(file), self._mark, file.stem)
            except OSError:
                continue
            if part is not None:
                self._add(part)
                self._read.add(file.name)
        return len(self._read) > before

    def _add(self, part: Part) -> None:
        """Write the values of a part into the arrays of all runs."""
        if not self._whole:
            each = sum(values[:1].nbytes for values in part.values.values())
            refuse_results(self._seen.size, self._seen.size * each)
        at = part.point * self._grid[-1] + part.place
        self._seen[at] = True
        for name, values in part.values.items():
            self._whole[name] = _room_for(self._whole.get(name), values, self._seen.size)
            self._whole[name][(at, *(slice(n) for n in values.shape[1:]))] = values

    def progress(self) -> Progress:
        """Return the dataset of what has been read, with NaN where a run is not finished.

        `diverged_at` and `stopped_at` are floats, because they are NaN there as well. Later calls
        of `update` change its arrays.
        """
        variables: dict[str, tuple] = {}
        for name, array in self._whole.items():
            if name in _ENDS:
                array = np.where(self._seen, array.astype(float), np.nan)
            title, dims = self._title_and_dims(name, array.ndim - 1)
            variables[title] = (dims, array.reshape(self._grid + array.shape[1:]))
        lengths = {
            d: n for dims, a in variables.values() for d, n in zip(dims, a.shape, strict=True)
        }
        data = xr.Dataset(variables, self._coordinates(lengths), self._attributes())
        if self._theory is not None and variables:
            data = attributes.of_theory(data, self._theory, self._theory.Config)
        return Progress(data, int(self._seen.sum()), self._seen.size)

    def _title_and_dims(self, name: str, ndim: int) -> tuple[str, tuple[str, ...]]:
        """Name and dimensions of a variable whose values have `ndim` axes after point and seed."""
        kind, _, word = name.rpartition("/")
        metric = word.partition(":")[0]
        stepped = ("step",) if kind in ("metric", "predicted") else ()
        count = ndim - len(stepped)
        named = tuple(self._dims.get(metric, ()))
        inner = (
            named[:count] if len(named) >= count else tuple(f"{metric}_{i}" for i in range(count))
        )
        axes = (str(axis["name"]) for axis in self._request["axes"])
        return title_of(name), (*axes, "seed", *stepped, *inner)

    def _further_dims(self) -> dict[str, Any]:
        """Names of the further dimensions of metrics, analyses, observables and weights."""
        named = {} if self._theory is None else dict(self._theory.dims)
        if self._theory is not None and self._request.get("save_params"):
            with contextlib.suppress(Exception):  # as for the labels
                config = canonical(self._theory.Config(**self._config()), self._request["dtype"])
                used = [axis["values"].get("algorithm") for axis in self._request["axes"]]
                algorithms = next(filter(None, used), [self._request["algorithm"]])
                extended = with_observables(
                    self._theory, config, tuple(algorithms), set(), None, None, True
                )
                named |= extended.dims
        observed = self._request.get("observe") or {}
        return named | {name: dims for name, (_, dims) in observed.items() if dims}

    def _coordinates(self, lengths: Mapping[str, int]) -> dict[str, Any]:
        """Coordinates of the axes, their zipped fields, seeds, steps and further dimensions."""
        coords: dict[str, Any] = {"seed": np.array(self._request["seeds"], np.int64)}
        if "step" in lengths:
            coords["step"] = np.array(self._request["record"], np.int64)[: lengths["step"]]
        for axis in self._request["axes"]:
            coords[axis["name"]] = _labels_of(axis["labels"])
            for word, values in axis["values"].items():
                if word != axis["name"]:
                    coords[word] = (axis["name"], _labels_of(values))
        for dim, labels in self._inner_labels().items():
            if len(labels) == lengths.get(dim):
                coords.setdefault(dim, list(labels))
        return coords

    def _config(self) -> dict[str, Any]:
        """The fields of the base config, a size as its number of valid entries."""
        entries = self._request["config"].items()
        return {name: value["n"] if isinstance(value, dict) else value for name, value in entries}

    def _inner_labels(self) -> dict[str, Any]:
        """Labels of the theory's own dimensions at the base config, as far as it gives any."""
        if self._theory is None:
            return {}
        try:
            return dict(self._theory.coords(self._theory.Config(**self._config())))
        except Exception:  # the theory of today may have other fields than that of the store
            return {}

    def _attributes(self) -> dict[str, Any]:
        code = {"problem": "", **(self._request.get("code") or {})}
        entries: dict[str, Any] = {
            "theory": self._request["theory"],
            "algorithm": self._request["algorithm"],
            "config": json.dumps(self._config()),
            "steps": self._request["steps"],
            "dtype": self._request["dtype"],
            "theory_digest": attributes.digest(code),
            "jaxtheory_version": self._versions.get("jaxtheory", ""),
        }
        if isinstance(self._request["key"], int):
            entries["key"] = self._request["key"]
        return entries


def _found(name: str) -> Theory | None:
    """The theory of this name, or None if it cannot be loaded, as that of a user's file."""
    try:
        return named_theory(name)
    except Exception:  # whatever the package of somebody else's theory raises
        return None


def _room_for(before: np.ndarray | None, values: np.ndarray, entries: int) -> np.ndarray:
    """An array of all entries that contains `before` and has room for `values` [entry, ...]."""
    extent = values.shape[1:]
    if before is not None:
        extent = tuple(map(max, before.shape[1:], extent))
        if extent == before.shape[1:]:
            return before
    room = np.full((entries, *extent), np.nan if values.dtype.kind == "f" else NEVER, values.dtype)
    if before is not None:
        room[tuple(slice(n) for n in before.shape)] = before
    return room


def _labels_of(values: list) -> np.ndarray:
    """Values as coordinates: numbers, booleans or strings as they are, others as strings."""
    kinds = {*map(type, values)}
    uniform = (len(kinds) < 2 and kinds <= {str, bool}) or kinds <= {int, float}
    return np.array(values if uniform else list(map(str, values)))
