"""Averages that leave out and count missing runs, and slopes of power laws."""

import numpy as np
import pytest
import xarray as xr

from jaxtheory.engine.results.statistics import average, slope


def test_an_average_of_large_float32_has_an_error():
    values = xr.DataArray(np.float32([1e30, 3e30]), dims="seed")
    found = average(values)
    assert float(found.mean) == pytest.approx(2e30) and float(found.error) == pytest.approx(1e30)


def test_average_leaves_out_and_counts_missing_runs():
    data = xr.DataArray([[1.0, 2.0, np.nan, np.inf]], dims=("x", "seed"))
    found = average(data)
    assert found.mean.item() == 1.5 and found.n.item() == 2 and found.excluded.item() == 2
    assert found.error.item() == pytest.approx(0.5)


def test_slope_is_the_exponent_of_a_power_law():
    t = np.array([1.0, 2.0, 5.0, 10.0])
    assert slope(xr.DataArray(3 * t**-0.5, {"step": t}, ("step",)), "step").item() == pytest.approx(
        -0.5
    )
