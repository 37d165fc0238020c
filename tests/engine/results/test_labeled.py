"""Plain arrays where a labeled one is expected are refused in one line."""

import numpy as np
import pytest
import xarray as xr

import jaxtheory
from jaxtheory import InputError, claims, plot, statistics

ARRAY, DATA = np.ones((3, 4)), xr.Dataset({"loss": (("seed", "step"), np.ones((3, 4)))})
TAKERS = {
    "verdict": lambda x: jaxtheory.verdict(x, claims.at_most(1.0)),
    "exponent": lambda x: jaxtheory.exponent(x, "step"),
    "slope": lambda x: claims.exponent(x, "step"),
    "crossing": lambda x: claims.crossing(x, 1.0),
    "share": claims.share,
    "average": statistics.average,
    "counted": lambda x: statistics.counted(x, x),
    "of": lambda x: plot.optimizers.select(x, "eta", "sgd"),
    "series": lambda x: plot.series(plot.panels()[1][0, 0], x, "step"),
    "lines": lambda x: plot.lines(None, x, "step", "p"),
    "heat": lambda x: plot.heat(None, x, "step", "seed"),
    "bars": lambda x: plot.bars(plot.panels()[1][0, 0], np.arange(3), x, 0.5),
    "boundary": lambda x: plot.boundary(plot.panels()[1][0, 0], x, "x", "y", "says"),
}


@pytest.mark.parametrize("name", TAKERS)
@pytest.mark.parametrize("wrong", [ARRAY, DATA, ARRAY.tolist()])
def test_an_array_without_labels_is_one_line(name, wrong):
    with pytest.raises(InputError, match=rf"is a {type(wrong).__name__}, expected an xarray.Data"):
        TAKERS[name](wrong)


def test_a_dataset_is_one_of_a_sweep():
    for take in (
        jaxtheory.diverged,
        lambda x: claims.judge([], x),
        lambda x: jaxtheory.collapse(x, "step", "loss", "K"),
        lambda x: plot.phases(plot.panels()[1][0, 0], x, "p"),
    ):
        with pytest.raises(InputError, match=r"is a DataArray, expected an xarray.Dataset, as"):
            take(DATA.loss)
    assert claims.last(DATA).identical(DATA.isel(step=-1)) or "step" not in claims.last(DATA).dims
    with pytest.raises(InputError, match=r"values is a ndarray, expected an xarray.DataArray"):
        claims.last(ARRAY)


def test_arguments_that_do_not_bind_are_the_functions_own():
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        statistics.average(DATA.loss, dims="seed")
