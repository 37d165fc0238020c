"""Objects whose attributes do not tell their contents are read otherwise."""

import dataclasses

import jax
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from jaxtheory.code import readers
from jaxtheory.code.code_hash import code_hash

SYMBOL = {"symbol": "eta"}


class Mine(pd.DataFrame):
    pass


@pytest.mark.parametrize(
    "kind", [pd.Series, Mine, pd.RangeIndex, xr.DataArray, xr.Dataset, np.ma.MaskedArray]
)
def test_a_class_and_those_derived_from_it_have_a_reader(kind):
    assert readers.reader(kind)[0] is not None


def test_a_class_of_a_user_with_such_a_name_has_none():
    assert readers.reader(type("Series", (), {"__module__": "pandas_of_mine"}))[0] is None
    assert readers.reader(type("Index", (), {"__module__": "__main__"}))[0] is None


def test_the_meaning_of_a_field_does_not_count():
    def field(meaning, kind="traced"):
        return dataclasses.field(default=1.0, metadata={**SYMBOL, "meaning": meaning, "kind": kind})

    assert code_hash(field("rate")) == code_hash(field("learning rate"))
    assert code_hash(field("rate")) != code_hash(field("rate", "static"))


def test_consolidated_frames_are_the_same():
    one = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    twin = pd.DataFrame({"a": [1.0, 2.0]})
    twin["b"] = [3.0, 4.0]
    assert code_hash(one) == code_hash(twin) == code_hash(one.copy())


def test_attributes_that_xarray_adds_do_not_count():
    one, twin = xr.DataArray([1.0]), xr.DataArray([1.0])
    assert twin.attrs == twin.encoding == {}
    assert code_hash(one) == code_hash(twin)


def test_a_device_counts_by_its_number():
    assert code_hash(jax.devices()[0]) == code_hash(jax.devices()[0])
