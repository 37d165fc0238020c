"""Runs of several optimizers, each at learning rates of its own, as one axis of a sweep."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from jaxtheory.plotting import plot

LABELS = {
    "sgd": "gradient descent",
    "momentum": "momentum",
    "adam": "Adam",
    "sgd_cosine": "cosine decay",
}


def runs(field: str, rates: Mapping[str, Sequence[float]]) -> dict[str, list]:
    """A zip of algorithms with their learning rates, values of a field: the axis `run`."""
    rows = [(algorithm, rate) for algorithm, some in rates.items() for rate in some]
    return {
        "run": [f"{algorithm} {rate:g}" for algorithm, rate in rows],
        "algorithm": [algorithm for algorithm, _ in rows],
        field: [rate for _, rate in rows],
    }


def of(values: xr.DataArray, field: str, algorithm: str) -> xr.DataArray:
    """The runs of one algorithm, over `rate` in place of `run`."""
    some = values.isel(run=np.flatnonzero(values.algorithm.values == algorithm))
    bare = some.drop_vars([name for name in some.coords if "run" in some[name].dims])
    return bare.rename(run="rate").assign_coords(rate=some[field].values)


def against_rate(
    ax: Any, values: xr.DataArray, field: str, labels: Mapping[str, str] = LABELS
) -> None:
    """A curve over the learning rate for each algorithm of `labels`."""
    for color, (algorithm, label) in enumerate(labels.items()):
        if algorithm in values.algorithm:
            plot.series(ax, of(values, field, algorithm), "rate", label, color=color)
