"""Colors for numbers: scales, and bars that end at the data."""

import numpy as np
import pytest
from helpers.drawn import table
from matplotlib.colors import LogNorm, Normalize, SymLogNorm

from jaxtheory import InputError, plot
from jaxtheory.plotting.colors import normalized


@pytest.mark.parametrize(
    ("ends", "shown"), [((None, None), (1, 6)), ((0, 10), (1, 6)), ((2, 10), (2, 6))]
)
def test_a_color_bar_ends_at_the_data(ends, shown):
    figure, ((ax,),) = plot.panels()
    plot.heat(ax, table([[1, 2], [3, 4], [5, 6]]), "x", "y", vmin=ends[0], vmax=ends[1])
    assert figure.axes[1].get_ylim() == shown


def test_a_scale_is_linear_logarithmic_or_given():
    values = np.array([1.0, np.nan, 10.0])
    assert type(normalized(None, values, 0, None)) is Normalize
    log = normalized("log", values, None, 100)
    assert type(log) is LogNorm and log.vmax == 100
    assert type(normalized("log", [np.nan], None, None)) is Normalize  # nothing to draw
    own = SymLogNorm(0.1)
    assert normalized(own, values, None, None) is own


@pytest.mark.parametrize(
    ("norm", "values", "vmin", "vmax", "message"),
    [
        ([1.0], [1], None, None, "must be 2 to 9 increasing edges of categories"),
        ([0, 2, 1], [1], None, None, "must be 2 to 9 increasing edges"),
        ([*range(10)], [1], None, None, "must be 2 to 9 increasing edges of categories"),
        ("cubic", [1], None, None, 'norm = \'cubic\': must be "linear", "log", "diverging"'),
        (Normalize(), [1], 0, None, "a Normalize has its own"),
        ("linear", [1], 2, 2, "vmin = 2: must be less than vmax = 2"),
        ("log", [0, -1, 1], None, None, "and 2 of the values"),
        ("log", [1], 0, None, "and 1 of the values"),
    ],
)
def test_other_scales_are_refused(norm, values, vmin, vmax, message):
    with pytest.raises(InputError, match=message):
        normalized(norm, values, vmin, vmax)
