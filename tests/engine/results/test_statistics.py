"""Averages that leave out and count missing runs, and slopes of power laws."""

import numpy as np
import pytest
import xarray as xr

from jaxtheory.engine.results.statistics import average, slope


def test_an_average_of_large_float32_has_an_error():
    values = xr.DataArray(np.float32([1e30, 3e30]), dims="seed")
    estimate = average(values)
    assert float(estimate.mean) == pytest.approx(2e30) and float(estimate.error) == pytest.approx(
        1e30
    )


def test_average_leaves_out_and_counts_missing_runs():
    data = xr.DataArray([[1.0, 2.0, np.nan, np.inf]], dims=("x", "seed"))
    estimate = average(data)
    assert estimate.mean.item() == 1.5 and estimate.n.item() == 2 and estimate.excluded.item() == 2
    assert estimate.error.item() == pytest.approx(0.5)


def test_slope_is_the_exponent_of_a_power_law():
    t = np.array([1.0, 2.0, 5.0, 10.0])
    assert slope(xr.DataArray(3 * t**-0.5, {"step": t}, ("step",)), "step").item() == pytest.approx(
        -0.5
    )
