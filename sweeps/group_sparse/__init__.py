"""Shared parts of the figures of group_sparse: the sweep and the downstream task.

Thresholds come from the specification's measurements or from keys 100 to 103, with a margin for the
spread between keys.

Downstream runs pre-train for 200 steps, then take one downstream sample a step, so that the number
of samples is t - 200. The numbers of the source are lost, so these are ours.
"""

from collections.abc import Iterable
from typing import Any

import xarray as xr

from jaxtheory import plot
from jaxtheory.theories.group_sparse import THEORY as THEORY
from jaxtheory.theories.group_sparse import Config as Config
from jaxtheory.theories.group_sparse import Problem, laws

PAPER = "arXiv 2504.08638"

N, D, ETA = "num_samples", "num_groups", "learning_rate"

SWEEP: dict[str, Any] = {"seeds": 8, "buckets": "exact", "dtype": "float32"}

TAU, SAMPLES = 200, 200  # steps of pre-training, downstream samples
RECORD = [TAU + m for m in (0, 10, 20, 40, 60, 100, 150, 200)]
TRAINED = {
    "W frozen": ("downstream", "frozen"),
    "W trained on": ("downstream", "trained"),
    "from scratch": ("downstream", "scratch"),
    "logistic, online": ("logistic", "frozen"),
}
DOWNSTREAM = SWEEP | {"seeds": 16, "steps": TAU + SAMPLES, "record": RECORD}


def table(fields: str, rows: Iterable[tuple]) -> dict[str, list]:
    """A zip of the named fields from the rows of a table."""
    return dict(zip(fields.split(), map(list, zip(*rows, strict=True)), strict=True))


def edge(_problem: Problem, config: Config) -> Any:
    """The largest step size at which the bias is stable at the start, 16 / (D (D + 1))."""
    return laws.predict_boundary(config)


def accuracy(data: xr.Dataset, most: int = SAMPLES) -> xr.DataArray:
    """Test accuracy on the downstream task against the number of its samples."""
    shown = data.accuracy.sel(step=[t for t in data.step.values if TAU < t <= TAU + most])
    return shown.assign_coords(step=shown.step.values - TAU).rename(step="samples")


def curves(ax: Any, runs: dict[str, xr.DataArray], title: str) -> None:
    """A panel of downstream accuracies, by the name of the run."""
    for color, (name, values) in enumerate(runs.items()):
        plot.series(ax, values, "samples", name, color=color)
    plot.finish(ax, "downstream samples", "downstream test accuracy", title)
