"""Shared parts of the figures of positional_semantic: settings, laws along alpha, and crossings.

Of arXiv 2402.03902 the abstract was read. Bounds come from runs on keys 100 and 101, widened.
"""

import functools
from typing import Any

import jax
import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory.claims import crossing, last
from jaxtheory.theories.positional_semantic import laws

THEORY = jaxtheory.theories.get("positional_semantic")
Config = THEORY.Config
ABSTRACT = "arXiv 2402.03902, abstract"
SAMPLES, RATIO, START, RHO = "num_samples", "alpha", "start", "position_norm"
STARTS = ["positional", "semantic"]
PATH = (8.0, 6.0, 5.0, 4.0, 3.5, 3.0, 2.75, 2.5, 2.25, 2.0, 1.75, 1.5, 1.25, 1.0)
DIMENSION, QUICK_DIMENSION = 200, 24


def points(ratios: list[float], d: int) -> dict[str, list]:
    """The sizes of each alpha = n/d, out of PATH."""
    return {RATIO: ratios, SAMPLES: [round(a * d) for a in ratios]}


@functools.cache
def law(rho: float = 2.0) -> xr.Dataset:
    """Both branches of the default config along PATH."""
    found = {}
    with jax.enable_x64(True):
        for start in STARTS:
            at = laws.branch(start, PATH, Config(position_norm=rho))
            q = np.asarray(at.q)
            found[start] = {
                "energy": at.energy,
                "test_error": at.test_error,
                "semantic": at.theta / np.sqrt(q),
                "positional": at.m / (rho * np.sqrt(q)),
            }
    values = lambda name: np.array([np.asarray(found[start][name]) for start in STARTS], float)
    named = {name: ((START, RATIO), values(name)) for name in found[STARTS[0]]}
    return xr.Dataset(named, {START: STARTS, RATIO: list(PATH)}).sortby(RATIO)


def at_end(data: xr.Dataset, metric: str, start: str) -> xr.DataArray:
    """A metric at the end of descent from a start."""
    return last(data[metric].sel({START: start}, drop=True))


def over_law(
    data: xr.Dataset, metric: str, start: str, rho: float = 2.0, least: float = 0.0
) -> xr.DataArray:
    """The largest |log of a metric over its law| from some alpha on."""
    values = at_end(data, metric, start)
    values = values.isel({RATIO: values[RATIO].values >= least})
    ratio = values / law(rho)[metric].sel({START: start, RATIO: values[RATIO]}, drop=True)
    return abs(xr.ufuncs.log(ratio)).max(RATIO)


def level_ratio(values: xr.DataArray, level: Any) -> xr.DataArray:
    """The alpha at which values that depend on it cross a level."""
    return crossing((values - level).rename({RATIO: "step"}), 0.0)


def energy_gap(energy: xr.DataArray) -> xr.DataArray:
    """The energy of the positional end less that of the semantic one."""
    return energy.sel({START: STARTS[0]}, drop=True) - energy.sel({START: STARTS[1]}, drop=True)
