"""Numbers of cells and names of ticks at their final size."""

import itertools

import numpy as np
import pytest
import xarray as xr

from jaxtheory import plot
from jaxtheory.plotting.annotation.complete import write_names
from jaxtheory.plotting.annotation.fit import CELL
from jaxtheory.plotting.annotation.sizes import PAPERS, on_paper


def heat(rows: int, columns: int, *, names: bool = False):
    x = [f"name of {i}" for i in range(columns)] if names else 10.0 ** np.arange(columns)
    values = np.linspace(0, 1, rows * columns).reshape(rows, columns)
    table = xr.DataArray(values, {"y": 10.0 ** np.arange(rows), "x": x}, ("y", "x"))
    return plot.heat(None, table, "x", "y", label="share")


@pytest.mark.parametrize("paper", [None, "column", "page", "nature"])
@pytest.mark.parametrize(("rows", "columns"), [(2, 3), (7, 11), (30, 40)])
@pytest.mark.parametrize("names", [True, False])
def test_no_number_leaves_its_cell_and_no_names_touch(paper, rows, columns, names):
    if paper is None:
        figure = heat(rows, columns, names=names)
    else:
        with on_paper(PAPERS[paper]):
            figure = heat(rows, columns, names=names)
    write_names(figure)
    figure.draw_without_rendering()
    ax = figure.axes[0]
    corners = ax.transData.transform([(0, 0), (1, 1)])
    width, height = abs(corners[1] - corners[0])
    numbers = [text.get_window_extent() for text in ax.texts if text.get_gid() == CELL]
    assert all(box.width <= width and box.height <= height for box in numbers)
    assert numbers or (rows, columns) != (2, 3)
    for axis, side in ((ax.xaxis, 0), (ax.yaxis, 1)):
        labels = axis.get_ticklabels()
        assert labels
        if labels[0].get_rotation() in (0, 90):
            ends = [text.get_window_extent().get_points()[:, side] for text in labels]
            assert all(a[1] <= b[0] for a, b in itertools.pairwise(ends))
