"""Verdicts on measured values, which carry the dimension `seed`: the tests that claims are made of."""

import xarray as xr

from jaxtheory.engine.claims import Verdict
from jaxtheory.engine.statistics import average


def mean_at_least(values: xr.DataArray, threshold: float) -> Verdict:
    """The mean over all runs (of truth values: the share; NaN left out) is at least the threshold."""
    measured = float(values.mean())
    return Verdict(measured >= threshold, measured, threshold, values.sizes["seed"])


def mean_between(values: xr.DataArray, low: float, high: float) -> Verdict:
    """The mean over all runs (NaN left out) lies in [low, high]."""
    measured = float(values.mean())
    return Verdict(low <= measured <= high, measured, f"[{low:.4g}, {high:.4g}]", values.sizes["seed"])


def at_most(values: xr.DataArray, threshold: float) -> Verdict:
    """The mean over seeds (diverged runs left out) is at most the threshold, along all other dimensions."""
    measured = float(average(values).mean.max())
    return Verdict(measured <= threshold, measured, threshold, values.sizes["seed"])


def at_least(values: xr.DataArray, threshold: float) -> Verdict:
    """The mean over seeds (diverged runs left out) is at least the threshold, along all other dimensions."""
    measured = float(average(values).mean.min())
    return Verdict(measured >= threshold, measured, threshold, values.sizes["seed"])


def all_at_most(values: xr.DataArray, threshold: float) -> Verdict:
    """No entry exceeds the threshold."""
    measured = float(values.max())
    return Verdict(measured <= threshold, measured, threshold, values.sizes["seed"])
