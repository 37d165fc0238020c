"""What the figures of group_sparse share: names of fields, the end of training, and the downstream
task.

Thresholds come from the specification's measurements or from keys 100 to 103, with a margin for the
spread between keys.

Downstream runs pre-train for 200 steps, then take one downstream sample a step, so that the number
of samples is t - 200. The numbers of the source are lost; these are ours.
"""

from typing import Any

import xarray as xr

from jaxtheory.theories.group_sparse import THEORY as THEORY
from jaxtheory.theories.group_sparse import Config as Config

PAPER = "arXiv 2504.08638"
N, D, ETA = "num_samples", "num_groups", "learning_rate"

TAU, SAMPLES = 200, 200  # steps of pre-training, downstream samples
COUNTS = [10, 20, 40, 60, 100, 150, 200]
RECORD = [TAU, *(TAU + m for m in COUNTS)]
ACCURACY = "accuracy"
TRAINED = {
    "W frozen": ("downstream", "frozen"),
    "W trained on": ("downstream", "trained"),
    "from scratch": ("downstream", "scratch"),
    "logistic, online": ("logistic", "frozen"),
}
DOWNSTREAM: dict[str, Any] = {
    "seeds": 16,
    "steps": TAU + SAMPLES,
    "record": RECORD,
    "buckets": "exact",
    "dtype": "float32",
}


def last(values: Any) -> Any:
    """The values at the last recorded step."""
    return values.isel(step=-1)


def after(values: xr.DataArray) -> xr.DataArray:
    """The values with the number of downstream samples in place of the step."""
    shown = values.sel(step=[t for t in values.step.values if TAU < t <= TAU + SAMPLES])
    return shown.assign_coords(step=shown.step.values - TAU).rename(step="samples")
