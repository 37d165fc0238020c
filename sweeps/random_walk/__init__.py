"""Shared parts of the figures of random_walk: names of fields, the quick form, and measures.

Sources are the slides of the talk and the abstract of the paper (arXiv 2511.23239), of which no more
was read. "Second hand" marks what others say about the rest of the paper; it is never judged as its
sentence. Theorems are about infinitely many sequences, and samples of 1000 have exceptions: of many
settings three quarters must agree. Thresholds come from runs on keys 100 and 101, widened. A
comment says what was measured where they are tight.
"""

from collections.abc import Callable
from typing import Any

import xarray as xr

import jaxtheory
from jaxtheory import plot
from jaxtheory.claims import last
from jaxtheory.theories.random_walk import CIRCLE6

THEORY = jaxtheory.theories.get("random_walk")
PAPER, TALK = (
    "Towards Understanding Transformers in Learning Random Walks (arXiv 2511.23239)",
    "Transformers Learn Random Walk Prediction (talk)",
)
THEOREM = f"{TALK}, theorem"
Function = Callable[[xr.Dataset], xr.DataArray]
K, N, M, B = "num_states", "length", "encoding_dim", "num_sequences"
P, ETA, DELTA = "clockwise_probability", "learning_rate", "perturbation"
V = "value_direction_error"
OF_V = r"direction error of V against $\Pi^\top$"

ON_CIRCLE6: Any = {"theory": THEORY, "config": CIRCLE6}
FULL = {"seeds": 16, "steps": 50, "record": [0, 50], "buckets": "pad", "dtype": "float32"}
# Quick figures of the walk share shapes, steps and the number of problems (8), hence one
# compilation.
SHAPES = CIRCLE6.pad(num_states=20, length=101, encoding_dim=1015)
QUICK = {"config": SHAPES, "seeds": 2, "steps": 50, "buckets": "pad", "dtype": "float32"}


def right(data: xr.Dataset) -> xr.DataArray:
    """True for runs that ended with most attention on the parent."""
    return last(data.selected_lag) == 1


def optimum(data: xr.Dataset) -> xr.DataArray:
    """The best accuracy, max(p, 1 - p)."""
    return abs(data[P] - 0.5) + 0.5


def optimal(data: xr.Dataset) -> xr.DataArray:
    """True for runs that ended with the best accuracy."""
    return abs(last(data.accuracy) - optimum(data)) < 1e-5


def end(data: xr.Dataset) -> str:
    """The last step, as titles and legends have it."""
    return f"t = {int(data.step[-1])}"


def predicted(ax: Any, curve: xr.DataArray, x: str, label: str, color: int | None = None) -> None:
    """A predicted curve against x, dashed; every seed has the same."""
    curve = curve.max("seed").squeeze(drop=True)
    plot.theory(ax, curve[x].values, curve.values, label, color=color)
