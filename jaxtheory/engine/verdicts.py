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


def at_most(values: xr.DataArray, threshold: float, favour: bool = False) -> Verdict:
    """The mean over seeds plus two standard errors is at most the threshold, along all other dimensions.

    With `favour` (for statements expected to fail) minus two standard errors: even then it is above.
    """
    mean, error, *_ = average(values)
    measured = float((mean + (-2 if favour else 2) * error.fillna(0)).max())
    return Verdict(measured <= threshold, measured, threshold, values.sizes["seed"])


def at_least(values: xr.DataArray, threshold: float, favour: bool = False) -> Verdict:
    """The mean over seeds minus two standard errors is at least the threshold, along all other dimensions; `favour` as in `at_most`."""
    opposite = at_most(-values, -threshold, favour)
    return opposite._replace(measured=-opposite.measured, threshold=threshold)


def all_at_most(values: xr.DataArray, threshold: float) -> Verdict:
    """No entry exceeds the threshold."""
    measured = float(values.max())
    return Verdict(measured <= threshold, measured, threshold, values.sizes["seed"])
