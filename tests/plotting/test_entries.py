"""Entries of further dimensions of an array that is drawn."""

import numpy as np
import pytest
import xarray as xr

from jaxtheory import InputError
from jaxtheory.plotting.entries import select

VALUES = xr.DataArray(
    np.arange(24.0).reshape(2, 1, 3, 4),
    {"seed": [0, 1], "one": [7], "rate": [0.1, 0.2, 0.4], "step": [0, 1, 2, 3]},
    ("seed", "one", "rate", "step"),
)


def test_one_entry_or_several_are_taken() -> None:
    assert select(VALUES, ("step",), {"rate": 0.2}).identical(VALUES.isel(one=0, rate=1, drop=True))
    two = select(VALUES, ("rate", "step"), {"rate": [0.4, 0.1]})
    assert two.rate.values.tolist() == [0.4, 0.1] and set(two.dims) == {"seed", "rate", "step"}
    assert select(VALUES.isel(rate=[0]), ("rate", "step")).sizes["rate"] == 1  # is asked for


@pytest.mark.parametrize(
    ("dims", "at", "message"),
    [
        (("step",), None, "the values have the further dimension rate (0.1, 0.2, 0.4); choose an"),
        (
            ("step",),
            {"rates": 0.1},
            "at: the values have no dimension 'rates', only seed, one, rat",
        ),
        (("step",), {"rate": 0.3}, "at: rate has no entry 0.3; it has 0.1, 0.2, 0.4"),
        (("step",), {"rate": ["a"]}, "at: rate has no entry ['a']; it has 0.1, 0.2, 0.4"),
        (("stop", "rate"), None, "the values have no dimension 'stop'; did you mean 'step'?"),
    ],
)
def test_others_are_told_in_one_sentence(dims: tuple, at: dict | None, message: str) -> None:
    with pytest.raises(InputError) as error:
        select(VALUES, dims, at)
    assert str(error.value).startswith(message) and "\n" not in str(error.value)


def test_many_entries_are_not_all_named() -> None:
    values = xr.DataArray(np.zeros((2, 9)), dims=("step", "index"))
    with pytest.raises(InputError, match=r"index \(0, 1, 2, 3, 4 and 4 more\)"):
        select(values, ("step",))
