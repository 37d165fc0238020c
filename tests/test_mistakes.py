"""A slip in Python code is accepted where it is clear, or named with the way out of it."""

import numpy as np
import pytest
import xarray as xr

import jaxtheory
from jaxtheory.reports import page


@pytest.mark.parametrize(
    ("options", "at"),
    [
        ({"at_least": 2.5}, "p = 0.3, K = 6"),
        ({"at_least": 2.5, "where": "somewhere"}, "p = 0.7, K = 5"),
        ({"at_least": 0.0, "statistic": "each"}, "p = 0.3, K = 6, seed = 4"),
        ({"at_least": 2.5, "where": "together"}, ""),
    ],
)
def test_a_verdict_says_at_which_values_it_was_decided(options, at):
    values = xr.DataArray(
        [[[3.0, 4.0], [2.0, 1.0]], [[8.0, 9.0], [np.nan, np.nan]]],
        coords={"p": [0.3, 0.7], "K": [5, 6], "seed": [2, 4]},
        dims=("p", "K", "seed"),
    )
    assert jaxtheory.verdict(values, **options).at == at
    assert jaxtheory.verdict(values.isel(p=0, K=0), at_least=1.0).at == ""
    number = page.number({"measured": 1.5, "error": None, "n": 2, "at": at})
    assert number == ("1.5 at " + at if at else "1.5")
