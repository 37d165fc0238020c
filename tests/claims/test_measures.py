"""Measures that claims share, on arrays written by hand."""

import numpy as np
import pytest
import xarray as xr

from jaxtheory.claims import crossing, exponent, last, share


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


def test_a_crossing_is_the_first_from_either_side():
    steps = np.array([0, 10, 20, 30])
    values = xr.DataArray(
        [[4, 2, 1, 3], [0, 1, 3, 0], [5, 5, 5, 5], [4, np.nan, 1, 1], [1.5, 3, 3, 3]],
        {"step": steps},
        ("seed", "step"),
    )
    crossings = crossing(values, 1.5)
    np.testing.assert_allclose(crossings, [15, 12.5, np.nan, np.nan, 0])
    np.testing.assert_allclose(crossing(values, 1.5, coordinate=values**2)[:2], [2.5, 3])
    t = np.exp(steps / 10.0)
    powers = xr.DataArray(8 * t**-2, {"step": t}, ("step",))
    at = np.exp(crossing(np.log(powers), np.log(0.5), np.log(powers.step)))
    assert float(at) == pytest.approx(4, rel=1e-12)
