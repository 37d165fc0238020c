"""Names beside curves, in place of a legend of at most four."""

import numpy as np
import pytest
from helpers.drawn import runs
from matplotlib.colors import to_rgb

from jaxtheory import plot
from jaxtheory.plotting.annotation.beside import darkened

HEIGHTS = (1.0, 2.0, 3.0, 4.0, 5.0)


def curves(ax, heights):
    for color, height in enumerate(heights):
        level = runs(np.full((6, 4), height))
        plot.series(ax, level, "step", f"y = {height:g}", color=color, markers=False)
    plot.finish(ax, "step", "y")


def test_at_most_four_curves_have_names_beside_them_and_more_a_legend():
    figure, ((sparse, dense),) = plot.panels(2)
    curves(sparse, HEIGHTS[:4])
    curves(dense, HEIGHTS)
    plot.add_caption(figure)
    assert sparse.get_legend() is None and len(dense.get_legend().get_texts()) == 5
    assert not dense.texts
    for color, (height, text) in enumerate(zip(HEIGHTS, sparse.texts, strict=False)):
        assert text.get_text() == f"y = {height:g}"
        assert text.get_color() == darkened(plot.COLORS[color])
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in sparse.texts]
    levels = sparse.transData.transform([(0, height) for height in HEIGHTS[:4]])[:, 1]
    for box, level in zip(boxes, levels, strict=True):
        assert np.argmin(abs(levels - (box.y0 + box.y1) / 2)) == list(levels).index(level)
        assert not any(box.y0 < neighbor < box.y1 for neighbor in levels)
        assert sparse.get_window_extent().x1 >= box.x1 > sparse.get_window_extent().x1 - 20


def test_curves_that_coincide_keep_their_legend():
    figure, ((ax,),) = plot.panels()
    curves(ax, (1.0, 1.0))
    plot.add_caption(figure)
    assert len(ax.get_legend().get_texts()) == 2 and not ax.texts


@pytest.mark.parametrize(
    "same, names",
    [(True, ([], ["y = 1", "y = 2", "law"])), (False, (["y = 1", "y = 2"], ["law"]))],
)
def test_a_legend_below_gives_way_to_names_in_one_panel_or_in_two(same, names):
    figure, axes = plot.panels(2)
    curves(axes[0, 0], (1.0, 2.0))
    if same:
        curves(axes[0, 1], (1.0, 2.0))
    plot.theory(axes[0, 1], None, 1.5, "law")
    for ax in filter(lambda ax: ax.get_legend(), axes[0]):
        ax.get_legend().remove()
    height = figure.get_figheight()
    plot.legend_below(figure, *axes[0])
    plot.add_caption(figure)
    assert [text.get_text() for text in axes[0, 0].texts] == names[0]
    assert [text.get_text() for text in axes[0, 1].texts] == names[1]
    caption = plot.caption(figure)
    assert not figure.legends and caption and figure.get_figheight() < height + 0.5


def test_legends_with_titles_stay():
    figure, ((left_ax, right_ax),) = plot.panels(2)
    for ax in (left_ax, right_ax):
        curves(ax, (1.0, 2.0))
    left_ax.legend(title="y")
    right_ax.get_legend().remove()
    plot.legend_below(figure, left_ax, right_ax, titles=("rate of W", "rate of V"))
    height = figure.get_figheight()
    plot.add_caption(figure)
    assert [legend.get_title().get_text() for legend in figure.legends] == [
        "rate of W",
        "rate of V",
    ]
    assert left_ax.get_legend() and not left_ax.texts and not right_ax.texts
    assert figure.get_figheight() >= height


def test_an_axis_is_widened_until_its_legend_covers_no_curve():
    figure, ((ax,),) = plot.panels()
    curves(ax, np.linspace(1, 2, 5))
    ends = ax.get_ylim()
    plot.add_caption(figure)
    figure.draw_without_rendering()
    box = ax.get_legend().get_window_extent()
    heights = [ax.transData.transform((0, y))[1] for y in np.linspace(1, 2, 5)]
    assert not any(box.y0 < y < box.y1 for y in heights)
    assert ax.get_ylim()[0] < ends[0] or ax.get_ylim()[1] > ends[1]


@pytest.mark.parametrize("color", plot.COLORS)
def test_names_can_be_read(color):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in darkened(color)]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    assert 1.05 / (light + 0.05) >= 4.5
    assert all(dark <= full for dark, full in zip(darkened(color), to_rgb(color), strict=True))
