"""Drawings: bands within the range of the runs, cells, boundaries, bars and panels."""

import numpy as np
import pytest
import xarray as xr
from helpers.drawn import COSINES, drawn, rows_of, runs, table
from matplotlib.colors import to_hex

from jaxtheory import plot


def test_a_band_ends_at_the_runs():
    """Two standard errors above the mean are 1.1 here, and no cosine is."""
    figure, _ = drawn(runs(COSINES))
    rows = rows_of(figure, "line")
    assert [row["x"] for row in rows] == [0, 1, 2, 3]
    mean, error = COSINES[:, 0].mean(), COSINES[:, 0].std(ddof=1) / np.sqrt(8)
    assert mean + 2 * error > 1
    assert rows[0]["high"] == 1 and rows[0]["y"] == pytest.approx(mean)
    assert rows[0]["low"] == pytest.approx(mean - 2 * error)
    assert all(row["low"] >= COSINES.min() for row in rows)


def test_a_diverged_run_does_not_widen_the_band():
    values = np.linspace(1, 2, 6)[:, None] * np.ones(4)
    values[0, 2:] = np.inf
    figure, _ = drawn(runs(values))
    rows = rows_of(figure, "line")
    assert rows[-1]["high"] <= 2 and rows[-1]["low"] >= 1.2
    assert plot.caption(figure).startswith("Lines: means over n = 5 to 6 of 6 seeds; bands: ")


def test_few_seeds_are_drawn_one_by_one():
    figure, ax = drawn(runs(COSINES[:4]))
    assert not ax.collections
    assert len(rows_of(figure, "run")) == 16
    assert "Thin lines: single runs of n = 4 seeds" in plot.caption(figure)


def test_one_run_is_a_line_alone():
    figure, ax = drawn(runs(COSINES[:1]))
    assert len(ax.lines) == 1 and plot.caption(figure) == "Lines: one run each."


def test_cells_without_a_value_are_hatched():
    figure, ((ax,),) = plot.panels()
    plot.heat(ax, table([[1, 2], [np.nan, 4], [5, 6]]), "x", "y", label="loss")
    (hatched,) = [patch for patch in ax.patches if patch.get_hatch()]
    assert hatched.get_xy().min(axis=0).tolist() == [0, 1]
    assert plot.caption(figure) == "Hatched: no value (diverged, or not defined)."
    rows = rows_of(figure, "cell")
    assert [(row["x"], row["y"], row["value"]) for row in rows[:2]] == [
        ("1", "10", 1),
        ("2", "10", 2),
    ]
    assert len(rows) == 6 and np.isnan(rows[2]["value"])


def test_cells_are_averaged_over_the_seeds_that_have_a_value():
    values = xr.concat([table(np.full((3, 2), v)) for v in (1, 3, np.nan)], "seed")
    figure, ((ax,),) = plot.panels()
    plot.heat(ax, values, "x", "y")
    assert {row["value"] for row in rows_of(figure, "cell")} == {2}
    assert {row["n"] for row in rows_of(figure, "cell")} == {2}
    assert plot.caption(figure).startswith("Cells: means over n = 2 of 3 seeds. Hatched: the share")


@pytest.mark.parametrize(
    ("span", "ends"), [((None, None), (1, 6)), ((0, 10), (1, 6)), ((2, 10), (2, 6))]
)
def test_a_color_bar_ends_at_the_data(span, ends):
    figure, ((ax,),) = plot.panels()
    plot.heat(ax, table([[1, 2], [3, 4], [5, 6]]), "x", "y", span=span)
    assert figure.axes[1].get_ylim() == ends


def test_a_boundary_runs_between_the_cells_inside_and_outside():
    figure, ((ax,),) = plot.panels()
    values = table([[1, 2], [3, 4], [5, 6]])
    plot.heat(ax, values, "x", "y")
    plot.boundary(ax, values > 3, "x", "y", "where x is large")
    black = {
        (tuple(line.get_xdata()), tuple(line.get_ydata()))
        for line in ax.lines
        if to_hex(line.get_color()) == "#000000"
    }
    assert black == {((1, 2), (1, 1)), ((0, 1), (2, 2)), ((1, 1), (1, 2))}
    assert plot.caption(figure) == "Dashed line: where x is large."
    assert {row["kind"] for row in plot.numbers(figure)} == {"cell"}


def test_a_slope_is_told_with_its_error():
    n = np.array([1.0, 10.0, 100.0])
    fits = runs([2 * n**-0.5, n**-0.5], "n", n)
    assert plot.slope_label(fits, "n") == "slope −0.500 ± 0.000"
    assert plot.slope_label(fits.isel(seed=[0]), "n") == "slope −0.50"
    spread = runs([n**-0.4, n**-0.6], "n", n)
    assert plot.slope_label(spread, "n") == "slope −0.50 ± 0.20"


def test_a_long_row_of_panels_is_broken_at_the_width_of_a_page():
    figure, axes = plot.panels(5, width=3.0)
    assert axes.shape == (1, 5) and figure.get_figwidth() <= plot.WIDTH
    assert axes[0, 0].get_subplotspec().get_geometry()[:2] == (2, 3)
