"""Averages over seeds that leave out diverged runs and say how many."""

from typing import NamedTuple

import numpy as np
import xarray as xr

BEHIND, OF_SEEDS = "runs behind the mean", "seeds behind the mean"  # no names of axes


class Average(NamedTuple):
    """Mean over a dimension, its standard error, and how many entries were averaged and left out
    (NaN).
    """

    mean: xr.DataArray
    error: xr.DataArray
    n: xr.DataArray
    excluded: xr.DataArray


def average(values: xr.DataArray, dim: str = "seed") -> Average:
    """mean = sum over the finite entries / n, error = standard deviation (n - 1) / sqrt(n), both in
    float64, in which the square of no float32 overflows; NaN where n = 0, error NaN where n < 2.
    """
    values = values.astype(float)
    good: xr.DataArray = abs(values) < np.inf
    n: xr.DataArray = good.sum(dim)
    kept = values.where(good)
    mean = kept.mean(dim)
    spread = ((kept - mean) ** 2).sum(dim) / (n - 1).where(n > 1)
    return Average(mean, (spread / n.where(n > 0)) ** 0.5, n, values.sizes[dim] - n)


def counted(values: xr.DataArray, runs: xr.DataArray, dim: str = "seed") -> xr.DataArray:
    """Values that are made of means over the seeds of `runs`, with the number of finite entries
    behind each as the coordinate BEHIND, and that of all seeds as OF_SEEDS.
    """
    return values.assign_coords({BEHIND: average(runs, dim).n, OF_SEEDS: runs.sizes[dim]})


def share(holds: xr.DataArray, dim: str = "seed") -> xr.DataArray:
    """The share of entries of a boolean array along a dimension."""
    return holds.mean(dim)


def slope(values: xr.DataArray, dim: str) -> xr.DataArray:
    """Least-squares slope of log(values) against log(coordinate `dim`): the exponent of a power
    law.
    """
    x, y = xr.apply_ufunc(np.log, values[dim].astype(float)), xr.apply_ufunc(np.log, values)
    x = x - x.mean(dim)
    return xr.dot(x, y, dim=dim) / xr.dot(x, x, dim=dim)
