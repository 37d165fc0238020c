"""What the figures of random_walk share: names of fields, the quick form, and what claims measure.

Thresholds come from the sources' numbers and from runs on keys 100 and 101, widened; a comment says
what was measured where they are tight.
"""

from typing import Any

import xarray as xr

import jaxtheory
from jaxtheory.theories.random_walk import CIRCLE6

THEORY = jaxtheory.theories.get("random_walk")
PAPER, TALK = (
    "Towards Understanding Transformers in Learning Random Walks",
    "Transformers Learn Random Walk Prediction (talk)",
)
K, N, M, B = "num_states", "length", "encoding_dim", "num_sequences"
P, ETA, DELTA = "clockwise_probability", "learning_rate", "perturbation"
V = "value_direction_error"

# Quick figures of the walk share shapes, steps and the number of problems (8), hence one
# compilation.
SHAPES = CIRCLE6.pad(num_states=20, length=101, encoding_dim=1015)
QUICK = {"config": SHAPES, "seeds": 2, "steps": 50, "buckets": "pad", "dtype": "float32"}


def last(values: xr.DataArray) -> xr.DataArray:
    """The values at the last recorded step."""
    return values.isel(step=-1)


def right(data: xr.Dataset) -> xr.DataArray:
    """Whether a run ended with most attention on the parent."""
    return last(data.selected_lag) == 1


def optimum(data: xr.Dataset) -> xr.DataArray:
    """The best accuracy, max(p, 1 - p)."""
    return abs(data[P] - 0.5) + 0.5


def share(least: float) -> dict[str, Any]:
    """The bound of a claim on the share of all runs."""
    return {"statistic": "share", "where": "together", "at_least": least}
