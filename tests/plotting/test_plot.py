"""Drawings: bands within the range of the runs, captions that say what is drawn, hatched cells, and
the plotted numbers.
"""

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex

from jaxtheory import plot

STEPS = np.array([0, 1, 2, 3])


def runs(values, x="step", at=STEPS):
    """Values [seed, x]."""
    values = np.asarray(values, float)
    return xr.DataArray(values, {"seed": range(len(values)), x: at}, ["seed", x])


def table(values, columns=(1.0, 2.0), rows=(10.0, 20.0, 30.0)):
    """Values [y, x]."""
    return xr.DataArray(
        np.asarray(values, float), {"y": list(rows), "x": list(columns)}, ["y", "x"]
    )


def rows_of(figure, kind):
    return [row for row in plot.numbers(figure) if row["kind"] == kind]


def drawn(values, **options):
    """A figure with one series of values [seed, step]."""
    figure, ((ax,),) = plot.panels()
    plot.series(ax, values, "step", "cosine", **options)
    plot.finish(ax, "step t", "cosine", "one panel")
    return figure, ax


COSINES = np.ones((8, 4))
COSINES[0] = [0.1, 0.2, 0.3, 0.4]


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


def test_a_caption_says_what_is_drawn():
    values = COSINES.copy()
    values[3] = np.nan
    figure, ax = drawn(runs(values))
    plot.theory(ax, STEPS, np.ones(4), "law")
    plot.theory(ax, None, 0.5, "")
    plot.reference(ax, None, 0.7, says="chance")
    plot.remark(figure, "Measured by hand.")
    assert plot.caption(figure) == (
        "Lines: means over n = 7 of 8 seeds; bands: two standard errors to either side, cut to the "
        "range of the runs. Open marks: means over the runs that have a value, with their number. "
        "Dashed: law. Dotted: chance. Left out, as they have no value: 1 of 8 runs. Measured by "
        "hand."
    )
    assert [to_hex(line.get_color()) for line in ax.lines[1:]] == ["#0072b2"] + ["#000000"] * 3


def test_a_caption_names_the_lines_that_lack_different_numbers_of_runs():
    figure, ((ax,),) = plot.panels()
    for color, lost in enumerate((1, 2)):
        values = COSINES.copy()
        values[:lost] = np.nan
        plot.series(ax, runs(values), "step", f"B = {lost}", color=color)
    assert "value: 1 of 8 runs of B = 1, 2 of 8 runs of B = 2." in plot.caption(figure)


@pytest.mark.parametrize("below", [False, True])
def test_a_caption_has_room_of_its_own_and_is_written_once(below):
    figure, ax = drawn(runs(COSINES))
    if below:
        ax.get_legend().remove()
        plot.legend_below(figure, ax)
    height = figure.get_figheight()
    plot.add_caption(figure)
    plot.add_caption(figure)
    (words,) = figure.texts
    assert words.get_text().replace("\n", " ") == plot.caption(figure)
    assert figure.get_figheight() > height
    figure.draw_without_rendering()
    top = words.get_window_extent().y1
    boxes = [legend.get_window_extent() for legend in figure.legends]
    assert len(boxes) == below and all(box.y0 >= top for box in boxes)
    assert ax.get_tightbbox().y0 >= max([top, *(box.y1 for box in boxes)])
    assert words.get_window_extent().x1 <= figure.bbox.x1


def test_a_drawing_without_notes_gets_no_caption():
    figure, ((ax,),) = plot.panels()
    ax.plot([0, 1], [0, 1])
    height = figure.get_figheight()
    plot.add_caption(figure)
    assert not figure.texts and figure.get_figheight() == height


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


def test_numbers_of_points_bars_and_bands():
    figure, (axes,) = plot.panels(3)
    axes[0].scatter([1, 2], [3, 4], label="seeds")
    axes[0].plot([1, 2], [5, 6], "o", label="marks")
    axes[0].errorbar([1, 2], [7, 8], 0.5, fmt="s", label="shares")
    axes[1].bar([0, 1], [9, 10], label="heights")
    plot.ticks(axes[1].xaxis, [0, 1], ["a", "b"])
    axes[2].fill_between([1, 2], [0, 1], [2, 3], label="area")
    found = [
        {key: row[key] for key in ("panel", "kind", "label", "x", "y", "low", "high")}
        for row in plot.numbers(figure)
    ]
    keys = ("panel", "kind", "label", "x", "y", "low", "high")
    for row in (
        (1, "point", "seeds", 1, 3, "", ""),
        (1, "point", "marks", 2, 6, "", ""),
        (1, "point", "shares", 1, 7, 6.5, 7.5),
        (2, "bar", "heights", "a", 9, "", ""),
        (2, "bar", "heights", "b", 10, "", ""),
        (3, "band", "area", 1, "", 0, 2),
    ):
        assert dict(zip(keys, row, strict=True)) in found
    assert len(found) == 10


def test_numbers_of_theory_and_of_a_line_across_the_panel():
    figure, ax = drawn(runs(COSINES))
    plot.theory(ax, STEPS, STEPS / 4, "law")
    plot.reference(ax, None, 0.7, says="chance")
    assert [row["y"] for row in rows_of(figure, "theory")] == [0, 0.25, 0.5, 0.75]
    (row,) = rows_of(figure, "reference")
    assert (row["label"], row["x"], row["y"]) == ("chance", "", 0.7)
    assert {row["title"] for row in plot.numbers(figure)} == {"one panel"}


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


def test_a_formula_is_not_broken():
    figure, ((ax,),) = plot.panels(title="words and more words " * 6 + r"$a + b + c$ at the end")
    assert figure.get_suptitle().count("\n") >= 1
    assert "$a + b + c$" in figure.get_suptitle() and ax.get_title() == ""


def test_a_formula_counts_as_long_as_it_is_printed():
    label = r"$\|\alpha_A - \alpha_V\|_\mu$ at the end"
    assert plot.broken(label, 30, 1) == label
    assert plot.broken(label, 18, 1) == label.replace(" the", "\nthe")


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
        (left, low), (right, _) = patch.get_xy().min(axis=0), patch.get_xy().max(axis=0)
        shares[left, low] = right - left
    assert shares == {(0, 0): 0.75, (1, 0): 0.5, (0, 1): 1}
    written = {text.get_text() for text in ax.texts}
    assert {"n = 1 of 4", "n = 2 of 4"} <= written and "n = 4 of 4" not in written
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


def test_a_sentence_tells_how_many_runs_diverged():
    at = xr.DataArray([[-1, 3, 3, 3], [-1, -1, -1, -1], [0, 0, 0, 0]], dims=["p", "seed"])
    said = plot.diverged(xr.Dataset({"diverged_at": at}))
    assert said == (
        "7 of 12 runs diverged: all 4 seeds at 1 of 3 points; elsewhere at least 1 of 4 remain."
    )
    said = plot.diverged(xr.Dataset({"diverged_at": at.isel(p=[0, 1])}))
    assert said == "3 of 8 runs diverged; at least 1 of 4 seeds remain at each point."
    assert plot.diverged(xr.Dataset({"diverged_at": at.isel(p=[1])})) == ""
    assert plot.diverged(xr.Dataset()) == ""
