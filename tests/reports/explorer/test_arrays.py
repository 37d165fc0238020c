"""Arrays of a page: statistics as NumPy has them, also piece by piece, and bytes that come back."""

import base64
import gzip

import numpy as np
import pytest
import xarray as xr

from jaxtheory.reports.explorer import arrays
from jaxtheory.reports.explorer.arrays import encoded, recorded, statistics, stored
from jaxtheory.reports.explorer.thinning import Selection

DIMS = ("eta", "seed", "step", "row")


@pytest.fixture
def values():
    array = np.random.default_rng(0).normal(size=(5, 7, 4, 3)).astype(np.float32)
    array[1, 2] = np.nan
    array[2, :, 1:] = np.nan
    array[3, 0, 0, 0] = np.inf
    return xr.DataArray(array, dims=DIMS)


def select(values, **places):
    return Selection(
        {d: np.array(places.get(d, np.arange(n))) for d, n in values.sizes.items()}, []
    )


@pytest.mark.filterwarnings("ignore:All-NaN slice")
def test_statistics_are_those_of_the_finite_entries(values):
    summary = statistics(values.values, 1)
    finite = values.where(np.isfinite(values)).astype(float)
    np.testing.assert_array_equal(summary["n"], finite.notnull().sum("seed"))
    assert {0, 6, 7} == {*summary["n"].ravel().tolist()}
    np.testing.assert_allclose(summary["mean"], finite.mean("seed"))
    with np.errstate(all="ignore"):
        for name, share in (("low", 0.05), ("high", 0.95)):
            wanted = finite.quantile(share, "seed", skipna=True)
            np.testing.assert_allclose(summary[name], wanted, rtol=1e-12)


def test_kept_places_and_seeds_are_stored(values):
    variable = stored(values, select(values, seed=[0, 1], step=[0, 3], eta=[0, 4]))
    assert variable.kind == "f4"
    assert {name: array.shape for name, array in variable.arrays.items()} == {
        "values": (2, 2, 2, 3),
        **dict.fromkeys(("mean", "low", "high", "n"), (2, 2, 3)),
    }
    np.testing.assert_array_equal(variable.arrays["values"], values[[0, 4], :2, [0, 3]])
    np.testing.assert_allclose(
        variable.arrays["mean"], values[[0, 4]].mean("seed")[:, [0, 3]], rtol=1e-6
    )


@pytest.mark.parametrize("order", [DIMS, ("seed", "step", "row", "eta"), ("row", "seed", "eta")])
def test_pieces_give_the_same(order, values, monkeypatch):
    values = (values if "step" in order else values.isel(step=0)).transpose(*order)
    variable = stored(values, select(values))
    monkeypatch.setattr(arrays, "_BLOCK", 50)
    pieces = stored(values, select(values))
    assert variable.arrays.keys() == pieces.arrays.keys()
    for name, array in variable.arrays.items():
        np.testing.assert_array_equal(pieces.arrays[name], array)
    if "step" in order:
        assert recorded(values).tolist() == [0, 1, 2, 3]


def test_steps_without_a_record_are_left_out(values, monkeypatch):
    sparse = values.where(values.step % 2 == 0) if "step" in values.coords else values
    sparse = sparse.copy()
    sparse[:, :, 1::2] = np.nan
    assert recorded(sparse).tolist() == [0, 2]
    monkeypatch.setattr(arrays, "_BLOCK", 50)
    assert recorded(sparse).tolist() == [0, 2]
    assert recorded(sparse.where(False)).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        ([0.1, -3e38, np.nan, np.inf, 0.0], "f4"),
        ([1e-60], "f8"),
        ([1e300], "f8"),
        ([1e-40], "f8"),  # float32 has it with fewer digits
        ([2**24], "f4"),
        ([2**24 + 1], "f8"),
        ([True, False], "f4"),
    ],
)
def test_float32_is_used_where_it_keeps_seven_digits(numbers, kind):
    values = xr.DataArray(np.array(numbers), dims="x")
    variable = stored(values, select(values))
    assert variable.kind == kind and variable.arrays["values"].dtype == kind
    np.testing.assert_allclose(variable.arrays["values"], numbers, rtol=1e-7)


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_encoded_numbers_come_back(kind, values):
    array = values.values.astype(kind)
    raw = np.frombuffer(gzip.decompress(base64.b64decode(encoded(array))), np.uint8)
    back = raw.reshape(array.itemsize, -1).T.copy().view(f"<{kind}")
    np.testing.assert_array_equal(back.reshape(array.shape), array)
    assert encoded(array) == encoded(array)  # no time in it
