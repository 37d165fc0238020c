"""Content of a page: the variables of a dataset, its dimensions, and facts about the sweep."""

import json
import math
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.core.extended import WEIGHTS
from jaxtheory.engine.results.summary import axes_of
from jaxtheory.reports.explorer.arrays import encoded, recorded, stored
from jaxtheory.reports.explorer.opening import opening
from jaxtheory.reports.explorer.thinning import size, thinned
from jaxtheory.texts.errors import InputError

ENTRIES = 18 << 18  # numbers on a page at most, of 4 bytes each as a rule
_PREDICTED = "predicted_"
_MAP = "Attention "  # how the meaning of an attention map begins
_RUNS = {  # what a dataset tells of the end of runs, -1 for none
    "diverged_at": "first recorded step at which a run was not finite",
    "stopped_at": "recorded step at which the stop rule held",
}
_FACTS = {  # attributes of a dataset that the page states, and their titles
    "algorithm": "algorithm",
    "steps": "steps",
    "dtype": "number format",
    "theory_digest": "hash of the theory",
    "jaxtheory_version": "version of jaxtheory",
}


class Sweep(NamedTuple):
    """A dataset with its name, the number of finished runs and that of all runs.

    refresh: seconds between two versions of the page while the sweep is computed, or 0.
    """

    name: str
    data: xr.Dataset
    finished: int
    runs: int
    refresh: float = 0.0


class Content(NamedTuple):
    """Facts as JSON writes them, and the arrays as texts, to which the facts refer by number."""

    about: dict[str, Any]
    arrays: list[str]


def whole_sweep(name: str, data: xr.Dataset) -> Sweep:
    """Return a finished dataset as a sweep."""
    runs = math.prod(data.sizes[dim] for dim in [*axes(data), "seed"] if dim in data.sizes)
    return Sweep(name, data, runs, runs)


def axes(data: xr.Dataset) -> list[str]:
    """Return the axes of a sweep; of another dataset, the dimensions that all variables have."""
    if "diverged_at" in data:
        return axes_of(data)
    dim_sets = [{*variable.dims} for variable in data.data_vars.values()]
    common = set.intersection(*dim_sets) if dim_sets else set()
    return [str(dim) for dim in data.dims if dim in common and dim not in ("seed", "step")]


def content(sweep: Sweep, entries: int = ENTRIES) -> Content:
    """Return the content of the page of a sweep, with at most about `entries` numbers.

    Raises InputError if the dataset has no variable of numbers.
    """
    sweep = sweep._replace(data=_with_named_maps(sweep.data))
    variables, left_out = _variables(sweep.data)
    if not variables and sweep.finished:
        raise InputError(f"{sweep.name} has no variable of numbers, so there is nothing to show")
    labels = _Labels(sweep.data)
    listed: list[dict[str, Any]] = []
    kept: list[dict[str, np.ndarray]] = []
    texts: list[str] = []
    needs = [_need(variable) for variable in variables.values()]
    for (name, variable), most in zip(variables.items(), _shares(needs, entries), strict=True):
        places = np.arange(variable.sizes.get("step", 1))
        if "step" in variable.dims:
            places = recorded(variable)
            variable = variable.isel(step=places)
        steps = _steps(variable)
        sizes = {str(dim): n for dim, n in variable.sizes.items()}
        selection = thinned(sizes, axes(sweep.data), steps, most)
        payload = stored(variable, selection)
        at = {d: places[p] if d == "step" else p for d, p in selection.places.items()}
        listed.append(
            {
                "name": name,
                "meaning": str(variable.attrs.get("long_name", "")),
                "dims": list(at),
                "at": at,
                "kind": payload.kind,
                "arrays": {part: len(texts) + k for k, part in enumerate(payload.arrays)},
                "notes": selection.notes,
                "seeds": sizes.get("seed", 1),
                **_place_of(name, variable, [*variables], axes(sweep.data)),
            }
        )
        kept.append(payload.arrays)
        texts += map(encoded, payload.arrays.values())
    dims = labels.describe([entry["at"] for entry in listed])
    shown = {"dims": dims, "variables": listed, "opening": opening(listed, kept)}
    _refer(listed, dims)
    return Content(_about(sweep, left_out) | shown, texts)


def _with_named_maps(data: xr.Dataset) -> xr.Dataset:
    """The dataset with the axes of attention maps called layer, head, query and key."""
    names: dict[str, str] = {}
    for name, variable in data.data_vars.items():
        inner = [str(dim) for dim in variable.dims if str(dim).startswith(f"{name}_")]
        if 1 < len(inner) < 5 and str(variable.attrs.get("long_name", "")).startswith(_MAP):
            names_in_use = {*data.variables, *data.sizes, *names.values()}
            words = ("layer", "head", "query", "key")[-len(inner) :]
            names |= {
                d: w if w not in names_in_use else f"{name} {w}"
                for d, w in zip(inner, words, strict=True)
            }
    return data.rename(names)


def _variables(data: xr.Dataset) -> tuple[dict[str, xr.DataArray], list[str]]:
    """The variables of numbers, and the names of the others.

    `diverged_at` becomes NaN for runs that stayed finite, and `diverged` is 1 or 0; both are left
    out if no run diverged. Likewise `stopped_at`.
    """
    variables, left_out = {}, []
    order = [*axes(data), "seed", "step"]
    for name, variable in data.data_vars.items():
        dims = [dim for dim in order if dim in variable.dims]
        inner = [str(dim) for dim in variable.dims if dim not in dims]
        if variable.dtype.kind not in "biuf" or not variable.size:
            left_out.append(str(name))
        elif name not in _RUNS:
            variables[str(name)] = variable.transpose(*dims, *inner)
    for name, meaning in _RUNS.items():
        if _ended(data, name):
            at = data[name].transpose(*(dim for dim in order if dim in data[name].dims))
            variables[name] = at.where(at >= 0).assign_attrs(long_name=meaning)
    if "diverged_at" in variables:
        at = data["diverged_at"].transpose(*variables["diverged_at"].dims)
        share = (at >= 0).astype(np.float32).where(at.notnull())
        meaning = "1 for a run that diverged, so that the mean over seeds is their share"
        variables["diverged"] = share.assign_attrs(long_name=meaning)
    last = lambda name: (name in ("diverged", *_RUNS), name.startswith(_PREDICTED))
    first = lambda name: (name != "loss", *last(name), name)
    return {name: variables[name] for name in sorted(variables, key=first)}, sorted(left_out)


def _ended(data: xr.Dataset, name: str) -> int:
    """Number of runs that diverged or stopped."""
    return int((data[name] >= 0).sum()) if name in data else 0


def _need(variable: xr.DataArray) -> int:
    return size({str(d): n for d, n in variable.sizes.items()}, variable.sizes.get("seed", 1))


def _shares(needs: list[int], total: int) -> list[int]:
    """Divide a total among needs: small ones are met, and the others get equal shares."""
    shares, remaining = [0] * len(needs), total
    order = sorted(range(len(needs)), key=lambda i: needs[i])
    for rank, i in enumerate(order):
        shares[i] = min(needs[i], remaining // (len(needs) - rank))
        remaining -= shares[i]
    return shares


def _steps(variable: xr.DataArray) -> np.ndarray:
    """The steps of a variable as numbers; their places if they have none."""
    if "step" not in variable.dims:
        return np.zeros(1)
    steps = np.asarray(variable["step"].values)
    good = steps.dtype.kind in "iuf" and bool((np.diff(steps) > 0).all())
    return steps if good else np.arange(len(steps))


def _place_of(
    name: str, variable: xr.DataArray, names: list[str], axes: list[str]
) -> dict[str, Any]:
    """The group of a variable; of a predicted curve also its metric and its label."""
    if name.startswith(_PREDICTED):
        whose = [m for m in names if m != name and f"{name}_".startswith(f"{_PREDICTED}{m}_")]
        if whose:
            metric = max(whose, key=len)
            label = name.removeprefix(_PREDICTED + metric).removeprefix("_")
            return {"group": "predictions", "of": metric, "label": label}
        return {"group": "predictions"}
    if name in ("diverged", *_RUNS):
        return {"group": "runs"}
    if name.startswith(WEIGHTS):
        return {"group": "weights"}
    inner = {*variable.dims} - {*axes, "seed", "step"}
    group = "along training" if "step" in variable.dims else "of the final parameters"
    return {"group": f"{group}, with further dimensions" if inner else group}


class _Labels:
    """Labels of the dimensions of a dataset."""

    def __init__(self, data: xr.Dataset):
        self._data, self._axes = data, axes(data)

    def describe(self, several: list[dict[str, np.ndarray]]) -> list[dict[str, Any]]:
        """Describe the dimensions of variables, with the labels of the places that any has."""
        names = list(dict.fromkeys(dim for at in several for dim in at))
        order = [*self._axes, "seed", "step"]
        names.sort(key=lambda d: order.index(d) if d in order else len(order))
        union = {
            dim: np.unique(np.concatenate([at[dim] for at in several if dim in at]))
            for dim in names
        }
        for at in several:
            for dim in at:
                at[dim] = np.searchsorted(union[dim], at[dim])
        return [self._dimension(dim, union[dim]) for dim in names]

    def _dimension(self, dim: str, places: np.ndarray) -> dict[str, Any]:
        role = dim if dim in ("seed", "step") else "axis" if dim in self._axes else "further"
        coords = self._data.coords
        values = coords[dim].values[places] if dim in coords else places
        attributes = coords[dim].attrs if dim in coords else {}
        numeric = values.dtype.kind in "iuf" and bool(np.isfinite(values).all())
        also = {
            str(name): _texts(coord.values[places])
            for name, coord in coords.items()
            if coord.dims == (dim,) and name != dim
        }
        return {
            "name": dim,
            "role": role,
            "numeric": numeric,
            "labels": values.tolist() if numeric else _texts(values),
            "meaning": str(attributes.get("long_name", "")),
            "symbol": str(attributes.get("symbol", "")),
            "also": [[name, texts] for name, texts in also.items()],
            "of": self._data.sizes[dim],
        }


def _texts(values: np.ndarray) -> list[str]:
    """Labels as texts; numbers as short as they can be written."""
    return [repr(v) if isinstance(v, float) else str(v) for v in values.tolist()]


def _refer(listed: list[dict[str, Any]], dims: list[dict[str, Any]]) -> None:
    """Replace the dimensions of variables by their numbers, in place.

    Also says which places they have: None for all, otherwise a list.
    """
    number = {dim["name"]: k for k, dim in enumerate(dims)}
    for entry in listed:
        at = entry.pop("at")
        entry["dims"] = [number[dim] for dim in at]
        entry["at"] = [
            None if len(places) == len(dims[number[dim]]["labels"]) else places.tolist()
            for dim, places in at.items()
        ]


def _about(sweep: Sweep, left_out: list[str]) -> dict[str, Any]:
    """The facts of a sweep that its page states."""
    attributes = sweep.data.attrs
    try:
        config = json.loads(str(attributes.get("config", "{}")))
    except ValueError:
        config = {}
    rows = config.items() if isinstance(config, dict) else ()
    return {
        "name": sweep.name,
        "theory": str(attributes.get("theory", "")),
        "key": str(attributes.get("key", "")),
        "facts": [[title, str(attributes[a])] for a, title in _FACTS.items() if a in attributes],
        "config": [[str(name), _text(value)] for name, value in rows],
        "finished": sweep.finished,
        "runs": sweep.runs,
        "points": math.prod(sweep.data.sizes[dim] for dim in axes(sweep.data)),
        "seeds": sweep.data.sizes.get("seed", 1),
        "diverged": _ended(sweep.data, "diverged_at"),
        "stopped": _ended(sweep.data, "stopped_at"),
        "left_out": left_out,
        "refresh": sweep.refresh,
        "stamp": f"{sweep.finished} of {sweep.runs}",
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
