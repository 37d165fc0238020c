"""Limits of claims in the panels of a figure."""

import math

import numpy as np
import pytest
from helpers.drawn import COSINES, drawn, rows_of, runs, table

from jaxtheory import plot


def test_a_limit_is_a_dotted_line_that_says_what_is_claimed():
    figure, ax = drawn(runs(COSINES))
    ax.set_ylim(0, 1.2)
    plot.threshold(ax, 0.9, math.inf, "T-1")
    plot.threshold(ax, 0.9, math.inf, "T-2")
    plot.threshold(ax, 0.2, 0.5, "T-3")
    plot.add_caption(figure)
    rows = [(row["label"], row["y"]) for row in rows_of(figure, "threshold")]
    assert rows == [("T-1", 0.9), ("T-2", 0.9), ("T-3", 0.2), ("T-3", 0.5)]
    assert [text.get_text() for text in ax.texts] == [
        *("claimed: at least 0.9", "claimed: at least 0.2", "claimed: at most 0.5"),
    ]
    assert "what T-1, T-2, T-3 claims" in plot.caption(figure)
    figure.draw_without_rendering()
    for text, limit in zip(ax.texts, (0.9, 0.2, 0.5), strict=True):
        box, line = text.get_window_extent(), ax.transData.transform((0, limit))[1]
        assert 0 < min(abs(box.y0 - line), abs(box.y1 - line)) < 6


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_panel_grows_to_a_limit_that_is_near_and_not_to_one_far_away(scale, turned):
    figure, ((ax,),) = plot.panels()
    ax.set_yscale(scale)
    ax.set_ylim(*((10, 1) if turned else (1, 10)))
    before = ax.get_ylim()
    plot.threshold(ax, -math.inf, 1e4, "far")
    plot.threshold(ax, -1.0, math.inf, "not on a logarithmic axis")
    if scale == "log":
        assert ax.get_ylim() == before and not rows_of(figure, "threshold")
    plot.threshold(ax, -math.inf, 11.0, "near")
    assert rows_of(figure, "threshold")[-1]["y"] == 11.0 and max(ax.get_ylim()) > 11.0
    assert math.isclose(min(ax.get_ylim()), 1.0) or scale == "linear"


def test_a_heat_map_has_no_limits():
    shares = table(np.linspace(0, 1, 6).reshape(3, 2))
    figure = plot.heat(None, shares, "x", "y", label="share", vmin=0, vmax=1)
    plot.threshold(figure.axes[0], 0.72, math.inf, "T-1")
    assert not rows_of(figure, "threshold") and not figure.axes[1].lines


def test_words_stand_at_a_limit_on_logarithmic_axes():
    figure, ((ax,),) = plot.panels()
    plot.theory(ax, [1, 10], [0.5, 2.0], "law")
    plot.finish(ax, "x", "y", xscale="log", yscale="log")
    plot.threshold(ax, 1.0, np.inf, "T-1")
    plot.add_caption(figure)
    (words,) = (text for text in ax.texts if text.get_text().startswith("claimed"))
    assert np.isfinite(words.get_position()).all()
