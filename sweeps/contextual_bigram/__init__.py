"""Shared parts of the figures of contextual_bigram: kinds of runs, the quick form, and measures.

A run takes the right sign of (alpha_A, alpha_V) or goes to the mirrored valley. The probability
Phi(z) is known from the task alone. Claims on what is learned have a number where runs have the
right sign, on tasks with z >= 2. The drawings count the other runs. Thresholds come from the
sources' numbers and from key 100, widened.
"""

from collections.abc import Callable
from typing import Any

import xarray as xr

from jaxtheory.claims import last
from jaxtheory.theories.contextual_bigram import THEORY as THEORY
from jaxtheory.theories.contextual_bigram import Config as Config

PAPER = "arXiv 2410.23438"
B, T, ETA = "batch_size", "length", "learning_rate"
SURE = 0.977  # Phi(2)
PROX, SGD = "proximal", "SGD"
BOTH: dict[str, Any] = {"run": [PROX, SGD], "l1": [1e-5, 0.0]}  # zipped


def runs(seeds: int, steps: int, every: int) -> dict[str, Any]:
    """Runs of a sweep in single precision, recorded at every so many steps."""
    record = [*range(0, steps + 1, every)]
    return {"seeds": seeds, "steps": steps, "record": record, "dtype": "float32"}


STAGES = runs(16, 1000, every=50)

# Quick figures share shapes and steps and have two runs a problem, hence one compilation.
SMALL = Config(
    length=128, batch_size=64, learning_rate=0.05, late_learning_rate=0.03, switch_step=100
)
QUICK: dict[str, Any] = {
    "config": SMALL,
    "seeds": 2,
    "steps": 200,
    "record": [0, 50, 100, 150, 200],
}

EXACT: dict[str, Any] = {"vary": {B: [64], T: [128]}, "buckets": "exact"}  # one size, not padded

THRESHOLD = 0.5  # of the one step of transfer: half-way between 0 and the largest attended entry
TRANSFER = {"config": Config(length=500, batch_size=256, stage_threshold=THRESHOLD), "seeds": 2}

Function = Callable[[xr.Dataset], xr.DataArray]


def right_sign(data: xr.Dataset) -> xr.DataArray:
    """True for runs that ended with the right sign."""
    return last(data.right_sign) > 0


def right(data: xr.Dataset) -> xr.DataArray:
    """True for runs that ended with the right sign, on tasks where that is nearly certain."""
    return right_sign(data) & (data.predicted_right_sign_sign_law.isel(step=0) >= SURE)


def end(name: str, run: str, condition: Function = right) -> Function:
    """The last value of a metric, or an analysis, of one kind of run; NaN without the condition."""
    return lambda data: last(data[name]).where(condition(data)).sel(run=run, drop=True)


def ratio(name: str, over: str, under: str, condition: Function = right) -> Function:
    """The ratio of two kinds of runs at the end, task by task."""
    return lambda data: end(name, over, condition)(data) / end(name, under, condition)(data)
