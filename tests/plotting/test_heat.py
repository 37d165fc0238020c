"""Phase diagrams: cells, their numbers and hatches, names with room, and boundaries."""

import itertools

import numpy as np
import pytest
import xarray as xr
from helpers.drawn import rows_of, table
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm, to_hex

from jaxtheory import InputError, plot
from jaxtheory.plotting.heat import _name_columns


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


def test_a_logarithmic_heat_map() -> None:
    values = table([[1e-6, 1], [10, 100], [1000, 1e6]])
    figure = plot.heat(None, values, "x", "y", label="loss", norm="log", width=3.3)
    ax, bar = figure.axes
    assert isinstance(ax.collections[0].norm, LogNorm) and bar.get_yscale() == "log"
    assert bar.get_ylim() == (1e-6, 1e6) and figure.get_figwidth() == 3.3
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["1e-06", "1.00", "10.00", "100.00", "1000.00", "1e+06"]
    shades = [text.get_color() for text in ax.texts]
    assert shades == ["white", "white", "black", "black", "black", "black"]  # on the log scale
    assert [row["value"] for row in rows_of(figure, "cell")] == values.values.ravel().tolist()
    with pytest.raises(InputError, match="needs positive numbers, and 2 of the values"):
        plot.heat(None, values - 1, "x", "y", norm="log")


def test_the_width_is_that_of_every_column() -> None:
    figure, axes = plot.panels(2)
    plot.heat(axes[0, 0], table(np.ones((3, 2))), "x", "y", width=3.0)
    assert figure.get_figwidth() == 6.0
    with pytest.raises(InputError, match=r"width = 0\.5: must be a number of inches in"):
        plot.heat(axes[0, 0], table(np.ones((3, 2))), "x", "y", width=0.5)


@pytest.mark.parametrize("width", [3.3, 6.8])
@pytest.mark.parametrize("kind", ["numbers", "names", "few"])
def test_names_do_not_run_together(width: float, kind: str) -> None:
    count = 3 if kind == "few" else 40
    columns = [f"method {i}" if kind == "names" else i + 0.25 for i in range(count)]
    values = xr.DataArray(
        np.ones((count, count)), {"y": np.arange(count) * 10, "x": columns}, ("y", "x")
    )
    figure = plot.heat(None, values, "x", "y", width=width)
    (ax, _), canvas = figure.axes, FigureCanvasAgg(figure)
    canvas.draw()
    for labels, aslant in ((ax.get_xticklabels(), kind == "names"), (ax.get_yticklabels(), False)):
        assert labels[0].get_text() and {bool(label.get_rotation()) for label in labels} == {aslant}
        assert len(labels) == 3 if kind == "few" else 3 < len(labels) < 40
        boxes = [label.get_window_extent(canvas.get_renderer()) for label in labels]
        if aslant:  # a line of text between their ends
            assert (np.diff([box.x1 for box in boxes]) > 1.2 * 6.5 * figure.dpi / 72).all()
        else:
            assert not any(one.overlaps(neighbor) for one, neighbor in itertools.pairwise(boxes))


def test_every_name_is_written_where_it_has_room() -> None:
    _, ((ax,),) = plot.panels()
    _name_columns(ax, ["1", "2", "3"], 0.2, numbers=True)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3"]
    _name_columns(ax, ["0.125", "0.25", "0.5"], 0.2, numbers=True)
    assert [label.get_rotation() for label in ax.get_xticklabels()] == [45] * 3
    _name_columns(ax, ["0.125", "0.25", "0.5"], 0.1, numbers=True)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.125"]
    _name_columns(ax, ["a long name", "b", "c"], 0.1, numbers=False)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a long name", "c"]


def test_an_entry_of_a_further_dimension_is_chosen() -> None:
    values = xr.concat([table(np.full((3, 2), v)) for v in (1.0, 2.0)], "pruner")
    values = values.assign_coords(pruner=["wanda", "dense"])
    figure = plot.heat(None, values, "x", "y", at={"pruner": "dense"})
    assert {row["value"] for row in rows_of(figure, "cell")} == {2}
    with pytest.raises(InputError, match=r"further dimension pruner \(wanda, dense\)"):
        plot.heat(None, values, "x", "y")


def test_differences_part_at_zero_and_categories_have_their_colors() -> None:
    values = xr.DataArray([[-0.2, 0.5]], {"b": [1], "a": [1, 2]}, ("b", "a"))
    figure = plot.heat(None, values, "a", "b", norm="diverging", digits=None)
    (picture,) = figure.axes[0].collections
    assert picture.get_clim() == (-0.5, 0.5) and not figure.axes[0].texts
    figure = plot.heat(None, abs(values), "a", "b", norm=[0, 0.3, 1])
    (picture,) = figure.axes[0].collections
    assert picture.get_cmap().N == 2


def test_panels_of_one_scale_share_a_color_bar() -> None:
    figure, axes = plot.panels(3)
    values = xr.DataArray([[0.2, 0.5]], {"b": [1], "a": [1, 2]}, ("b", "a"))
    for ax, most in zip(axes[0], (1, 1, 2), strict=True):
        plot.heat(ax, values * most, "a", "b", vmin=0, vmax=most, label="share")
    plot.add_caption(figure)
    assert [ax.collections[0].colorbar is None for ax in axes[0]] == [True, False, False]
