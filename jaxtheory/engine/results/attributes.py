"""Attributes of a dataset: its request, and the meaning of its coordinates and variables."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

import numpy as np
import xarray as xr

from jaxtheory.code.plain import as_json
from jaxtheory.core import docstrings
from jaxtheory.core.config import Config, Size, fields
from jaxtheory.core.resolve import file_of
from jaxtheory.core.theory import Theory
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.results.identity import fingerprint

_OWN = {
    "seed": ("seed of the run", "1", "s"),
    "step": ("training step", "steps", "t"),
    "steps": ("number of training steps", "steps", "steps"),
    "algorithm": ("training algorithm", "1", "algorithm"),
}  # long_name, units and symbol of the coordinates that are not config fields
_SUMMARY = "summary"
_DIVERGED = "first recorded step at which a run was not finite, -1 for none"
_STOPPED = "recorded step at which the stop rule held, -1 for never"


def of_dataset(request: Request, code: dict[str, str]) -> dict[str, Any]:
    """Return the attributes of a request's dataset.

    They are the theory, algorithm, base config (as JSON), steps, key, dtype, version, and the
    digest of the theory's code; algorithm and steps are left out where they are axes. `code` holds
    the hash of each part of the theory, and of the engine. For the theory of a user's file,
    `theory_file` is its path and SHA-256 (as JSON).
    """
    entries: dict[str, Any] = {
        "theory": request.theory.name,
        "algorithm": request.algorithm,
        "config": json.dumps(values(request.config)),
        "steps": request.points.steps,
        "dtype": request.dtype,
        "theory_digest": digest(code),
    }
    for axis in request.axes:
        for word in axis.values.keys() & {"algorithm", "steps"}:
            del entries[word]
    if isinstance(request.key, int):
        entries["key"] = request.key
    if (record := file_of(request.theory)) is not None:
        entries["theory_file"] = json.dumps(record)
    with contextlib.suppress(metadata.PackageNotFoundError):
        entries["jaxtheory_version"] = metadata.version("jaxtheory")
    return entries


def digest(code: dict[str, str]) -> str:
    """Return the hash of a theory's code and that of its slot `problem`, in one attribute."""
    return f"{fingerprint({k: v for k, v in code.items() if k != 'engine'})} {code['problem']}"


def problem_digest(dataset: xr.Dataset) -> str:
    """Return the hash of the slot `problem` in a dataset, "" if it has none."""
    return str(dataset.attrs.get("theory_digest", "")).partition(" ")[2]


def summarized(dataset: xr.Dataset, equal: Sequence[str] | None = None) -> xr.Dataset:
    """Return the dataset of a sweep with its summary as the first attribute, which `repr` shows.

    The summary tells the theory, the number of points and seeds, and the share of diverged runs, or
    of runs without a boundary in the result of a search for boundaries. A notebook shows the
    attributes at once if there are fewer than ten, as for the theories of this package. It begins
    with a line for each axis along which all runs are equal, by default without the reason.
    """
    swept = "diverged_at" in dataset
    if not swept and "boundary" not in dataset:
        return dataset  # no run is finished
    lacking = dataset["diverged_at"] >= 0 if swept else dataset["boundary"].isnull()
    runs, seeds = lacking.size, lacking.sizes.get("seed", 1)
    points, lost = runs // max(seeds, 1), int(lacking.sum())
    share = f"{100 * lost / runs:.3g} %" if lost else "none"
    result = dataset.copy(deep=False)
    if equal is None:
        equal = (
            [equal_line(*pair) for pair in axes_without_effect(dataset).items()] if swept else []
        )
    counts = (
        f"{points} point{'s' * (points != 1)}, {seeds} seed{'s' * (seeds != 1)}, {share} "
        f"{'diverged' if swept else 'without a boundary'}"
    )
    text = f"{dataset.attrs.get('theory', 'sweep')}: {'; '.join([*equal, counts])}"
    result.attrs = {_SUMMARY: text, **{k: v for k, v in dataset.attrs.items() if k != _SUMMARY}}
    return result


def equal_line(axis: str, algorithms: Sequence[str] = (), why: str = "") -> str:
    """Return the line of a summary about an axis along which runs of these algorithms are equal."""
    whose = f" for {', '.join(algorithms)}" if algorithms and not why else ""
    return f"equal along {axis}{whose}{f': {why}' if why else ''}"


def axes_without_effect(dataset: xr.Dataset) -> dict[str, tuple[str, ...]]:
    """Return the axes of a sweep along which all runs are equal after some training.

    Where the algorithm is another axis, and the runs of a part of the algorithms are equal, the
    result has the names of these.
    """
    if "step" not in dataset.coords or dataset["step"].values[-1:].sum() == 0:
        return {}
    axes = [str(dim) for dim in dataset["diverged_at"].dims if dim not in ("seed", "steps")]
    measured = dataset[[n for n in dataset.data_vars if not str(n).startswith("predicted_")]]
    constant_axes: dict[str, tuple[str, ...]] = {}
    for axis in axes:
        if _are_equal(measured, axis):
            constant_axes[axis] = ()
        elif "algorithm" in axes and axis != "algorithm":
            algorithms = [str(name) for name in dataset["algorithm"].values]
            select = lambda i, data=measured: data.isel(algorithm=i)
            if same := tuple(n for i, n in enumerate(algorithms) if _are_equal(select(i), axis)):
                constant_axes[axis] = same
    return constant_axes


def _are_equal(data: xr.Dataset, axis: str) -> bool:
    """True if an axis has several values, with equal numbers of which some are finite."""
    arrays = [x.transpose(axis, ...).values for x in data.data_vars.values() if axis in x.dims]
    return (
        data.sizes[axis] > 1
        and any(np.isfinite(x[0]).any() for x in arrays if x.dtype.kind == "f")
        and all(
            np.array_equal(x[0], row, equal_nan=x.dtype.kind == "f")
            for x in arrays
            for row in x[1:]
        )
    )


def values(config: Config) -> dict[str, Any]:
    """Return the fields of a config as JSON writes them; a size is its number of valid entries."""
    entries = {name: getattr(config, name) for name in fields(type(config))}
    return {n: int(v.n) if isinstance(v, Size) else as_json(v) for n, v in entries.items()}


def of_fields(config_type: type[Config]) -> dict[str, list[str]]:
    """Return the meaning, unit and symbol of each config field."""
    return {n: [f.meaning, f.unit, f.symbol] for n, f in fields(config_type).items()}


def of_variables(theory: Theory) -> dict[str, str]:
    """Return the meanings of the variables of a theory's datasets."""
    return {"diverged_at": _DIVERGED, "stopped_at": _STOPPED, **docstrings.variables(theory)}


def add(
    dataset: xr.Dataset, field_texts: Mapping[str, Sequence[str]], meanings: Mapping[str, str]
) -> xr.Dataset:
    """Return the dataset with long_name of its variables, and with units and symbol of coordinates.

    A name without a description is its own long_name.
    """
    for coordinate in dataset.coords:
        name = str(coordinate)
        own = field_texts.get(name) or _OWN.get(name, (name, "1", name))
        meaning, unit, symbol = own
        texts = {"long_name": meaning or name, "units": unit or "1", "symbol": symbol}
        dataset[name].attrs.update(texts)
    for variable in dataset.data_vars:
        name = str(variable)
        dataset[name].attrs["long_name"] = meanings.get(name, name)
    return summarized(dataset)
