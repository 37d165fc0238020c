"""Where a page opens: at the metric that ends farthest from its theory."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

_SAME = 1e-6  # seeds differ if their interval is wider than this part of the range


def opening(
    listed: Sequence[Mapping[str, Any]], arrays: Sequence[Mapping[str, np.ndarray]]
) -> dict[str, Any]:
    """Return the metric and the places at which run and theory differ most.

    It is the largest |mean over the seeds - theory| at the last step at which both have a value,
    divided by the width of the interval over seeds there. Where the seeds agree, and for one seed,
    the range of the metric and its theory stands for the width.

    Args:
        listed: Variables of a page, with their names, their places `at`, and of predictions the
            metric `of` which they are.
        arrays: The kept entries of each and their statistics.

    Returns:
        variable: its number, 0 if nothing is predicted; at: the place along each of its dimensions
        but seed and step, {} if nothing is predicted.
    """
    names = [entry["name"] for entry in listed]
    choice: dict[str, Any] = {"variable": 0, "at": {}}
    largest = 0.0
    for entry, own in zip(listed, arrays, strict=True):
        if "of" not in entry:
            continue
        k = names.index(entry["of"])
        run, theory = _statistics(listed[k], arrays[k]), _statistics(entry, own)["mean"]
        gap, width = abs(run["mean"] - theory), run["high"] - run["low"]
        extent = max(run["mean"].max(), theory.max()) - min(run["mean"].min(), theory.min())
        with np.errstate(all="ignore"):
            quotient = gap / width.where(width > _SAME * extent, extent)
        if "step" in quotient.dims:
            last = quotient["step"].where(quotient.notnull()).max("step")
            quotient = quotient.where(quotient["step"] == last).max("step")
        if quotient.max() > largest:
            largest = float(quotient.max())
            place = quotient[np.unravel_index(np.nanargmax(quotient.values), quotient.shape)]
            choice = {"variable": k, "at": {str(dim): int(place[dim]) for dim in quotient.dims}}
    return choice


def _statistics(
    entry: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> dict[str, xr.DataArray]:
    """Mean and interval of a variable over its seeds; the values themselves of a single seed."""
    at = {dim: places for dim, places in entry["at"].items() if dim != "seed"}
    shape = [len(places) for places in at.values()]
    parts = {name: arrays.get(name, arrays["values"]) for name in ("mean", "low", "high")}
    statistics = {
        name: xr.DataArray(part.reshape(shape), at, [*at]) for name, part in parts.items()
    }
    return {name: part.where(np.isfinite(part)) for name, part in statistics.items()}
