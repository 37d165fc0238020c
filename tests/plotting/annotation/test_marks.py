"""Marks of means over fewer than all runs."""

import numpy as np
import pytest
import xarray as xr
from helpers.drawn import COSINES, drawn, rows_of, runs, table

from jaxtheory import plot
from jaxtheory.plotting.annotation.marks import place_counts


def test_a_large_number_fits_its_cell():
    values = xr.DataArray([[0.5, 1.25e30]], dims=("y", "x"), coords={"x": [1, 2], "y": [3]})
    _figure, ((ax,),) = plot.panels(1)
    plot.heat(ax, values, "x", "y")
    assert {text.get_text() for text in ax.texts} == {"0.50", "1.25e+30"}


def test_a_lone_survivor_is_marked_in_a_heat_map():
    """One run of four is left at (1, 10), two at (2, 10), none at (1, 20)."""
    values = np.ones((4, 3, 2))
    values[1:, 0, 0] = values[2:, 0, 1] = values[:, 1, 0] = np.nan
    values = xr.concat([table(one) for one in values], "seed")
    figure, ((ax,),) = plot.panels()
    plot.heat(ax, values, "x", "y")
    shares = {}
    for patch in (patch for patch in ax.patches if patch.get_hatch()):
        (start, low), (end, _) = patch.get_xy().min(axis=0), patch.get_xy().max(axis=0)
        shares[start, low] = end - start
    assert shares == {(0, 0): 0.75, (1, 0): 0.5, (0, 1): 1}
    texts = {text.get_text() for text in ax.texts}
    assert {"n = 1 of 4", "n = 2 of 4"} <= texts and "n = 4 of 4" not in texts
    assert plot.caption(figure) == (
        "Cells: means over n = 1 to 4 of 4 seeds. Hatched: the share of the runs without a value "
        "(diverged, or not defined); the mean is over the others."
    )
    assert [row["n"] for row in rows_of(figure, "cell")] == [1, 2, 0, 4, 4, 4]


def test_a_heat_map_of_what_is_made_of_means_is_marked_too():
    values = xr.concat([table(np.full((3, 2), v)) for v in (1, 3, np.nan)], "seed")
    figure, ((ax,),) = plot.panels()
    plot.heat(ax, plot.counted(5 - values.mean("seed"), values), "x", "y")
    assert len([patch for patch in ax.patches if patch.get_hatch()]) == 6
    assert "n = 2 of 3 seeds" in plot.caption(figure)


@pytest.mark.parametrize("points", [4, 200])
def test_points_whose_mean_leaves_out_runs_have_open_marks(points):
    at = np.arange(points)
    values = np.linspace(1, 2, 6)[:, None] * np.ones(points)
    values[0, points // 2 :] = values[1:5, -1] = np.nan
    figure, ax = drawn(runs(values, at=at))
    _, marks = ax.lines
    assert marks.get_markerfacecolor() == "white" and marks.get_linestyle() == "None"
    assert {points // 2, points - 1} <= {*marks.get_xdata()} and marks.get_xdata().min() > 1
    assert len(marks.get_xdata()) <= 10
    assert [text.get_text() for text in ax.texts] == ["5 of 6", "1 of 6"]
    assert "n = 1 to 6 of 6 seeds" in plot.caption(figure)
    counts = [row["n"] for row in rows_of(figure, "line")]
    assert counts == [6] * (points // 2) + [5] * (points - points // 2 - 1) + [1]
    assert not rows_of(figure, "point")


def test_numbers_of_runs_move_to_free_places_or_go():
    values = np.ones((6, 3))
    values[0, 1] = values[:2, 2] = np.nan
    figure, ax = drawn(runs(values, at=np.arange(3)))
    place_counts(figure)
    boxes = [text.get_window_extent() for text in ax.texts]
    assert [text.get_text() for text in ax.texts] == ["5 of 6", "4 of 6"]
    assert all(ax.bbox.x0 <= box.x0 and box.x1 <= ax.bbox.x1 for box in boxes)
    crowded, ax = drawn(runs(values, at=np.arange(3)))
    for height in np.linspace(0.9, 1.1, 40):
        plot.reference(ax, [0, 3], [height, height])
    place_counts(crowded)
    assert not ax.texts


def test_a_line_of_all_runs_has_no_marks():
    figure, ax = drawn(runs(COSINES))
    assert len(ax.lines) == 1 and not ax.texts and "Open" not in plot.caption(figure)


def test_bars_are_hatched_in_proportion():
    values = runs([[1, 2], [3, np.nan], [5, np.nan], [7, np.nan]], "run", ["a", "b"])
    figure, ((ax,),) = plot.panels()
    plot.bars(ax, np.arange(2), values, 0.4, "trained")
    plot.ticks(ax.xaxis, [0, 1], ["a", "b"])
    (hatched,) = [patch for patch in ax.patches if patch.get_hatch()]
    assert hatched.get_xy()[:, 1].max() == 1.5
    assert [text.get_text() for text in ax.texts] == ["1 of 4"]
    assert [(row["x"], row["y"], row["n"]) for row in rows_of(figure, "bar")] == [
        ("a", 4, 4),
        ("b", 2, 1),
    ]
    assert plot.caption(figure).startswith("Bars: means over n = 1 to 4 of 4 seeds. Hatched: ")
