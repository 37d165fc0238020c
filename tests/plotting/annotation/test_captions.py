"""Captions, plotted numbers and formulas of a finished drawing."""

import numpy as np
import xarray as xr
from helpers.drawn import COSINES, STEPS, drawn, rows_of, runs
from matplotlib.colors import to_hex

from jaxtheory import plot
from jaxtheory.plotting.annotation.captions import broken


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
        "range of the runs. "
        "Dashed: law. Dotted: chance. Left out, as they have no value: 1 of 8 runs. Measured by "
        "hand."
    )
    assert [to_hex(line.get_color()) for line in ax.lines[1:]] == ["#000000"] * 3


def test_a_caption_names_the_lines_that_lack_different_numbers_of_runs():
    figure, ((ax,),) = plot.panels()
    for color, lost in enumerate((1, 2)):
        values = COSINES.copy()
        values[:lost] = np.nan
        plot.series(ax, runs(values), "step", f"B = {lost}", color=color)
    assert "value: 1 of 8 runs of B = 1, 2 of 8 runs of B = 2." in plot.caption(figure)


def test_numbers_of_points_bars_and_bands():
    figure, (axes,) = plot.panels(3)
    axes[0].scatter([1, 2], [3, 4], label="seeds")
    axes[0].plot([1, 2], [5, 6], "o", label="marks")
    axes[0].errorbar([1, 2], [7, 8], 0.5, fmt="s", label="shares")
    axes[1].bar([0, 1], [9, 10], label="heights")
    plot.ticks(axes[1].xaxis, [0, 1], ["a", "b"])
    axes[2].fill_between([1, 2], [0, 1], [2, 3], label="area")
    entries = [
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
        assert dict(zip(keys, row, strict=True)) in entries
    assert len(entries) == 10


def test_numbers_of_theory_and_of_a_line_across_the_panel():
    figure, ax = drawn(runs(COSINES))
    plot.theory(ax, STEPS, STEPS / 4, "law")
    plot.reference(ax, None, 0.7, says="chance")
    assert [row["y"] for row in rows_of(figure, "theory")] == [0, 0.25, 0.5, 0.75]
    (row,) = rows_of(figure, "reference")
    assert (row["label"], row["x"], row["y"]) == ("chance", "", 0.7)
    assert {row["title"] for row in plot.numbers(figure)} == {"one panel"}


def test_numbers_say_which_quantity_each_panel_shows():
    """In one line each, also where a label is written at a neighboring panel alone."""
    long = "the share of the runs that select the parent of each token at the end of training"
    figure, axes = plot.panels(2, 2)
    for ax in axes[0]:
        plot.series(ax, runs(COSINES), "step")
        plot.finish(ax, "step t", f"{long} [1]", f"{long} {long}")
    cells = xr.DataArray([[0.1, 0.2], [0.3, 0.4]], {"a": [1, 2], "b": [3, 4]}, ("a", "b"))
    plot.heat(axes[1, 0], cells, "a", "b", label=long)
    plot.finish(axes[1, 0], "a [s]", "b")
    lines = xr.DataArray(np.ones((9, 4)), {"rate": np.arange(9.0), "step": STEPS}, ("rate", "step"))
    plot.lines(axes[1, 1], lines, "step", "rate", label="learning rate")
    plot.finish(axes[1, 1], "step t", "loss")
    before = plot.numbers(figure)
    plot.add_caption(figure)
    rows = plot.numbers(figure)
    names = ("title", "x_label", "y_label", "value_label")
    shown = {row["panel"]: tuple(row[name] for name in names) for row in rows}
    assert shown[1] == shown[2] == (f"{long} {long}", "step t", f"{long} [1]", "")
    assert shown[3] == ("b", "a [s]", "b", long)
    assert shown[4] == ("loss", "step t", "loss", "learning rate")
    assert [row["x_label"] for row in rows] == [row["x_label"] for row in before]
    assert not any("\n" in str(entry) for row in rows for entry in row.values())


def test_numbers_name_the_color_bar_of_matplotlib():
    figure, ((ax,),) = plot.panels()
    figure.colorbar(ax.scatter([1, 2], [3, 4], c=[5, 6]), label="share\nof runs")
    assert {row["value_label"] for row in plot.numbers(figure)} == {"share of runs"}
    assert [row["value"] for row in plot.numbers(figure)] == [5, 6]


def test_a_formula_is_not_broken():
    figure, ((ax,),) = plot.panels(title="words and more words " * 6 + r"$a + b + c$ at the end")
    assert figure.get_suptitle().count("\n") >= 1
    assert "$a + b + c$" in figure.get_suptitle() and ax.get_title() == ""


def test_a_formula_counts_as_long_as_it_is_printed():
    label = r"$\|\alpha_A - \alpha_V\|_\mu$ at the end"
    assert broken(label, 30, 1) == label
    assert broken(label, 18, 1) == label.replace(" the", "\nthe")


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
