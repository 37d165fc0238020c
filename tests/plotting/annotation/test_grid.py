"""The grid of panels: no empty cells, and shared titles and labels once."""

import pytest
import xarray as xr

from jaxtheory import plot
from jaxtheory.plotting.annotation.grid import flaws, say_once, share


@pytest.mark.parametrize("columns", range(1, 10))
@pytest.mark.parametrize("rows", [1, 2, 4])
@pytest.mark.parametrize("across", [0, 1, 2, 3])
def test_no_cell_is_empty(columns: int, rows: int, across: int) -> None:
    figure, axes = plot.panels(columns, rows, across=across)
    assert axes.shape == (rows, columns) and flaws(figure) == []
    total = sum(share(ax)[0] * share(ax)[1] for ax in axes.flat)
    assert total == pytest.approx(1)


def test_a_row_without_room_becomes_a_column() -> None:
    _, axes = plot.panels(5, 2)
    assert axes[0, 0].get_subplotspec().get_geometry()[:2] == (5, 2)
    assert axes[1, 2].get_subplotspec().colspan.start == 1
    assert axes[1, 2].get_subplotspec().rowspan.start == 2


def finished(columns: int, rows: int, **same: str) -> tuple[plot.Drawing, list]:
    """A figure whose panels have labels of their own but for those that are the same."""
    figure, axes = plot.panels(columns, rows, across=columns)
    for i, ax in enumerate(axes.flat):
        words = {"x": f"x{i}", "y": f"y{i}", "title": f"title {i}"} | same
        plot.finish(ax, words["x"], words["y"], words["title"])
    say_once(figure)
    return figure, list(axes.flat)


def test_a_title_of_a_row_stands_at_its_left_and_one_of_a_column_above() -> None:
    figure, axes = finished(2, 1, title="setting")
    assert [ax.get_title("left") for ax in axes] == ["setting", ""]
    assert not any(ax.get_title() for ax in axes) and flaws(figure) == []
    figure, axes = finished(1, 2, title="setting")
    assert [ax.get_title() for ax in axes] == ["setting", ""]
    assert {row["title"] for row in plot.numbers(figure)} <= {"setting"}


def test_a_title_that_repeats_elsewhere_is_a_flaw() -> None:
    figure, axes = finished(2, 2)
    axes[0].set_title("title 3")
    assert flaws(figure) == ["2 panels: 'title 3'"]


def test_labels_of_shared_axes_stand_at_the_left_and_below() -> None:
    _, axes = finished(2, 2, x="step", y="loss")
    assert [ax.get_xlabel() for ax in axes] == ["", "", "step", "step"]
    assert [ax.get_ylabel() for ax in axes] == ["loss", "", "loss", ""]
    hidden = [not ax.yaxis.get_tick_params()["labelleft"] for ax in axes]
    assert hidden == [False, True, False, True]


def test_numbers_along_axes_that_differ_stay() -> None:
    figure, axes = plot.panels(2)
    for ax, end in zip(axes[0], (1, 2), strict=True):
        plot.finish(ax, "step", "loss")
        ax.set_ylim(0, end)
    say_once(figure)
    assert [ax.get_ylabel() for ax in axes[0]] == ["loss", ""]
    assert axes[0, 1].yaxis.get_tick_params()["labelleft"]


def test_a_panel_at_the_right_of_a_color_bar_keeps_its_label() -> None:
    figure, axes = plot.panels(2)
    plot.heat(
        axes[0, 0],
        xr.DataArray([[1.0, 2.0]], dims=("b", "a")).assign_coords(a=[1, 2], b=[3]),
        "a",
        "b",
    )
    for ax in axes[0]:
        plot.finish(ax, "D", "step size")
    say_once(figure)
    assert [ax.get_ylabel() for ax in axes[0]] == ["step size"] * 2


def test_the_numbers_of_a_drawing_keep_the_names_of_panels() -> None:
    figure, axes = plot.panels(2)
    for ax in axes[0]:
        plot.theory(ax, [0, 1], [1, 2], "law")
        plot.finish(ax, "step", "loss", "setting", legend=False)
    plot.add_caption(figure)
    assert [row["title"] for row in plot.numbers(figure)] == ["setting"] * 4


def test_figures_of_other_making_stay_as_they_are() -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    for ax in figure.subplots(2, 1):
        ax.set_xlabel("x")
    say_once(figure)
    assert [ax.get_xlabel() for ax in figure.axes] == ["x", "x"]
