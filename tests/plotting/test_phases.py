"""Curves over phase diagrams: interpolated between rows, and named in the caption."""

import numpy as np
import xarray as xr

from jaxtheory import plot


def test_a_curve_over_a_heat_map_is_interpolated_between_its_rows():
    rows = [1.0, 10.0, 100.0]
    levels = np.array([1.0, 10**0.5, 100.0, 1000.0])  # the last one is beyond the rows
    values = xr.DataArray([levels, levels], {"x": [2, 4, 6, 8]}, ("seed", "x"))
    for scale, second in (("log", 1.0), ("linear", 0.5 + (10**0.5 - 1) / 9)):
        figure, ((ax,),) = plot.panels()
        plot.over_heat(ax, values, "x", rows, "the law", scale=scale)
        for line in ax.lines:
            assert line.get_xdata().tolist() == [0.5, 1.5, 2.5, 3.5]
            np.testing.assert_allclose(line.get_ydata(), [0.5, second, 2.5, np.nan])
        assert plot.caption(figure) == "Dashed line: the law." and plot.numbers(figure) == []
    figure, ((ax,),) = plot.panels()
    spread = values * xr.DataArray([0.5, 2.0], dims="seed")  # its geometric mean is the same
    plot.over_heat(ax, spread, "x", rows, "measured", measured=True)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.5, 1.0, 2.5, np.nan])
    assert plot.caption(figure) == "Solid line: measured."


def test_phases_show_shares_the_boundary_and_the_law():
    holds = np.array([[[True, True, False], [True, False, False]]] * 3 + [[[True] * 3] * 2])
    data = xr.Dataset(
        {
            "holds": (("seed", "D", "eta"), holds),
            "boundary": (("seed", "D"), [[10.0, 3.0]] * 3 + [[np.nan, np.nan]]),
        },
        {"D": [4, 8], "eta": [1.0, 12.345, 100.0]},
        {"scale": "log"},
    )
    figure, ((ax,),) = plot.panels()
    plot.phases(ax, data, "D")
    cells = {(row["x"], row["y"]): row["value"] for row in plot.numbers(figure)}
    assert cells["4", "12"] == 1.0 and cells["8", "12"] == 0.25 and cells["4", "100"] == 0.25
    assert "law" not in plot.caption(figure) and len(ax.lines) == 2
    plot.phases(ax, data.assign(law=data.boundary.isel(seed=0)), "D")
    assert "Dashed line: law. Solid line: mean boundary." in plot.caption(figure)
    assert all(text.get_zorder() > line.get_zorder() for text in ax.texts for line in ax.lines)
