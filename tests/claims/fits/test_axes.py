"""Dimensions that a fit cannot take are one line."""

import pytest
import xarray as xr

from jaxtheory import InputError
from jaxtheory.claims.fits.axes import coordinate, require_one

VALUES = xr.DataArray([1.0, 2.0], {"K": [2, 4]}, ["K"])


def test_a_coordinate_is_numbers():
    assert coordinate(VALUES, "K").tolist() == [2.0, 4.0]
    with pytest.raises(InputError, match="'k' is not a dimension; did you mean 'K'"):
        coordinate(VALUES, "k")
    with pytest.raises(InputError, match="K: its coordinate must hold numbers"):
        coordinate(VALUES.assign_coords(K=["a", "b"]), "K")


def test_one_curve_is_fitted():
    require_one([], "loss")
    with pytest.raises(InputError, match="loss: has the dimensions p, q too"):
        require_one(["p", "q"], "loss")
