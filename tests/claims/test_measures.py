"""Measures that claims share, on arrays written by hand."""

import numpy as np
import pytest
import xarray as xr

from jaxtheory.claims import exponent, last, share


def test_the_exponent_of_a_power_law_by_dimension_and_by_an_array():
    t = np.array([1.0, 2.0, 5.0, 10.0])
    values = xr.DataArray(3 * t**-0.5, {"step": t}, ("step",))
    assert exponent(values, "step").item() == pytest.approx(-0.5)
    squares = xr.DataArray(t**2, dims="step")
    assert exponent(values, squares).item() == pytest.approx(-0.25)
    assert np.isnan(exponent(values.where(values.step > 1), "step").item())


def test_last_takes_the_last_step_and_leaves_analyses_alone():
    values = xr.DataArray([[4.0, 2.0]], {"step": [0, 5]}, ("seed", "step"))
    assert last(values).values == [2.0] and "step" not in last(values).coords
    assert last(values.isel(step=0, drop=True)).values == [4.0]
    assert last(values.to_dataset(name="loss")).loss.dims == ("seed",)


def test_a_share_leaves_out_runs_that_are_not_among_those_counted():
    truth = xr.DataArray([True, False, True], dims="seed")
    np.testing.assert_array_equal(share(truth), [1, 0, 1])
    np.testing.assert_array_equal(share(truth, among=~truth), [np.nan, 0, np.nan])
