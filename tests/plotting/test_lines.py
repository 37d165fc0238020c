"""Lines: bands within the range of the runs, single runs, and a line for each entry."""

import numpy as np
import pytest
import xarray as xr
from helpers.drawn import COSINES, drawn, rows_of, runs
from matplotlib.colors import to_hex

from jaxtheory import InputError, claims, plot


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


def test_lines_of_many_points_differ_without_colors():
    _figure, ((ax,),) = plot.panels()
    for color in range(2):
        plot.series(ax, runs(np.ones((6, 200)), at=np.arange(200)), "step", color=color)
    marks = [(line.get_marker(), line.get_markevery()) for line in ax.lines]
    assert len({*marks}) == 2 and all(spacing is not None for _, spacing in marks)


def test_a_line_of_many_points_that_are_all_missing_can_be_drawn():
    figure, ((ax,),) = plot.panels()
    plot.series(ax, runs(np.full((6, 200), np.nan), at=np.arange(200)), "step")
    figure.draw_without_rendering()


def test_a_fitted_law_is_drawn_with_the_band_of_its_exponent():
    n = np.array([1.0, 10.0, 100.0])
    noise = np.random.default_rng(0).normal(1, 0.05, (8, 3))
    fitted = claims.fitted_law(runs(n**-0.5 * noise, "n", n), "n")
    figure, ((ax,),) = plot.panels()
    assert plot.law(ax, fitted) == fitted.label
    rows = rows_of(figure, "law")
    assert [(row["x"], row["y"]) for row in rows] == [*zip(n, fitted.y, strict=True)]
    assert [row["low"] for row in rows] == fitted.low.tolist() and len(ax.collections) == 1
    assert all(row["low"] <= row["y"] <= row["high"] for row in rows)
    assert "Gray: fitted power laws with the 99 % intervals" in plot.caption(figure)
    figure, ((ax,),) = plot.panels()
    plot.law(ax, claims.fitted_law(runs([n**-0.5], "n", n).isel(seed=0), "n"))
    assert plot.caption(figure) == "Gray: fitted power laws." and not ax.collections


def test_a_bent_law_is_dotted_and_has_no_band():
    n = np.array([1.0, 10.0, 100.0])
    noise = np.random.default_rng(0).normal(1, 0.01, (8, 3))
    figure, ((ax,),) = plot.panels()
    label = plot.law(ax, claims.fitted_law(runs((n**-0.5 + 0.1) * noise, "n", n), "n"))
    assert label.startswith("bent, mean slope −0.") and not ax.collections
    assert [line.get_linestyle() for line in ax.lines] == [":"]
    assert {row["kind"] for row in rows_of(figure, "bent")} == {"bent"}
    assert plot.caption(figure) == "Dotted gray: the mean slope of values that follow no power law."


def test_a_law_of_too_few_points_is_not_drawn():
    ax = plot.panels()[1][0, 0]
    fitted = claims.fitted_law(runs([[1.0, 2.0]] * 4, "n", [1.0, 2.0]), "n")
    assert plot.law(ax, fitted) == "no exponent" and not ax.lines and not ax.collections


def vector(entries: list, seeds: int = 6) -> xr.DataArray:
    """Values [seed, step, entry], which are 1 + the index of the entry."""
    values = np.ones((seeds, 4, 1)) * (1 + np.arange(len(entries)))
    coords = {"seed": range(seeds), "step": [0, 1, 2, 3], "entry": entries}
    return xr.DataArray(values, coords, ("seed", "step", "entry"))


def test_a_vector_metric_has_a_line_for_each_entry() -> None:
    figure = plot.lines(None, vector(["wanda", "magnitude"]), "step", "entry")
    (ax,) = figure.axes
    assert ax.get_legend_handles_labels()[1] == ["wanda", "magnitude"]
    rows = rows_of(figure, "line")
    assert {(row["label"], row["y"], row["n"]) for row in rows} == {
        ("wanda", 1, 6),
        ("magnitude", 2, 6),
    }
    assert plot.caption(figure).startswith("Lines: means over n = 6 seeds; bands: ")


def test_entries_are_chosen_by_keyword() -> None:
    values = vector(["wanda", "magnitude", "dense"])
    figure = plot.lines(None, values, "step", "entry", at={"entry": ["dense", "wanda"]})
    assert figure.axes[0].get_legend_handles_labels()[1] == ["dense", "wanda"]
    figure, ((ax,),) = plot.panels()
    plot.series(ax, values, "step", "one", at={"entry": "magnitude"})
    assert {row["y"] for row in rows_of(figure, "line")} == {2}
    with pytest.raises(
        InputError, match=r"further dimension entry \(wanda, magnitude, dense\); cho"
    ):
        plot.series(ax, values, "step")
    with pytest.raises(InputError, match=r"further dimension rate .*plot\.lines"):
        plot.lines(ax, values.expand_dims(rate=[1, 2]), "step", "entry")


def test_many_numbers_are_colored_with_a_bar() -> None:
    rates = 10.0 ** np.arange(-4, 4)
    values = vector(list(rates)).assign_coords(entry=("entry", rates, {"symbol": "eta"}))
    figure = plot.lines(None, values, "step", "entry", norm="log", width=3.3)
    ax, bar = figure.axes
    assert bar.get_ylim() == (1e-4, 1e3) and bar.get_yscale() == "log"
    assert bar.get_ylabel() == "eta" and figure.get_figwidth() == 3.3
    shades = [to_hex(line.get_color()) for line in ax.lines]
    assert len(set(shades)) == 8 and not ax.collections
    assert plot.caption(figure) == "Lines: means over n = 6 seeds."
    assert {row["label"] for row in rows_of(figure, "line")} >= {"eta = 0.0001", "eta = 1000"}
    linear = plot.lines(None, vector([1, 2]), "step", "entry", vmin=0, vmax=4)
    assert linear.axes[1].get_ylim() == (1, 2)  # the data
    assert len(plot.lines(None, vector([1, 2]), "step", "entry").axes) == 1


def test_a_colored_line_tells_the_runs_that_its_means_leave_out() -> None:
    values = vector([1, 2])
    values[0, 2:, 1] = np.nan
    figure = plot.lines(None, values, "step", "entry", norm="linear")
    assert plot.caption(figure).startswith("Lines: means over n = 5 to 6 of 6 seeds. Open marks")


def test_what_cannot_be_colored_is_refused() -> None:
    names = vector(list("abcdefgh"))
    with pytest.raises(InputError, match="8 entries that are not numbers, and a legend tells 7"):
        plot.lines(None, names, "step", "entry")
    with pytest.raises(InputError, match='norm = "log": needs positive numbers, and 1 of'):
        plot.lines(None, vector([0, 1]), "step", "entry", norm="log")


def test_dots_have_bars_that_end_at_the_runs():
    figure, ((ax,),) = plot.panels()
    runs = [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [8.0, 1.0], [0.0, 1.0]]
    values = xr.DataArray(runs, {"kind": ["a", "b"]}, ("seed", "kind"))
    plot.dots(ax, [1, 2], values, "runs", color=1)
    rows = plot.numbers(figure)
    assert [(row["kind"], row["x"], row["y"], row["n"]) for row in rows] == [
        ("point", 1, 1.6, 5),
        ("point", 2, 1.0, 5),
    ]
    assert rows[0]["low"] == 0 and rows[0]["high"] == 1.6 + 2 * 1.6
    assert plot.caption(figure).startswith("Dots: means over n = 5 seeds; bars: two standard")


def test_medians_have_a_band_of_the_middle_half():
    figure, ((ax,),) = plot.panels()
    values = xr.DataArray(np.arange(5.0)[:, None] * [1, 10], {"t": [1, 2]}, ("seed", "t"))
    plot.medians(ax, values, "t", "runs")
    rows = plot.numbers(figure)
    assert [(row["y"], row["low"], row["high"]) for row in rows] == [(2, 1, 3), (20, 10, 30)]


def test_numbers_have_ordered_colors():
    _, ((ax,),) = plot.panels()
    values = xr.DataArray(np.ones((6, 2, 3)), dims=("seed", "t", "k"))
    plot.lines(ax, values.assign_coords(t=[0, 1], k=[1, 2, 4]), "t", "k")
    assert [line.get_color() for line in ax.lines] == plot.shades(3)
    assert {line.get_marker() for line in ax.lines} == {"o"}
