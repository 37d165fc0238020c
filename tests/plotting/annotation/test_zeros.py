"""Zeros on logarithmic axes: gaps in curves, bands to the bottom, and a sentence in the caption."""

import io

import numpy as np
import pytest
import xarray as xr

from jaxtheory import plot
from jaxtheory.plotting.annotation.zeros import whole_corners

STEPS = np.array([0, 1, 2, 5, 10, 20, 50, 100])
LOG = {"xscale": "log", "yscale": "log"}


def falling(seeds: int = 8) -> xr.DataArray:
    """Runs that fall from step 0 on; each is 0 from step 50 on, and the last also at step 5."""
    loss = np.exp(-np.linspace(0, 6, 8)) * np.linspace(0.5, 1.5, seeds)[:, None]
    loss[:, 6:] = 0.0
    loss[1:, 3][-1:] = 0.0
    return xr.DataArray(loss, {"seed": range(seeds), "step": STEPS}, ("seed", "step"))


def drawn(draw, **scales):
    figure, ((ax,),) = plot.panels()
    draw(ax)
    plot.finish(ax, "step", "loss", **scales)
    plot.add_caption(figure)
    with io.BytesIO() as file:
        figure.savefig(file, format="png")
    return figure, ax


@pytest.mark.parametrize("seeds", [1, 3, 8])
def test_a_curve_has_gaps_where_it_is_not_positive(seeds):
    figure, ax = drawn(lambda ax: plot.series(ax, falling(seeds), "step", "a"), **LOG)
    for line in ax.lines:
        points = line.get_transform().transform(line.get_xydata())
        shown = np.isfinite(points).all(1)
        assert (shown == (line.get_xydata() > 0).all(1)).all() and shown.any()
    assert "Logarithmic axes have no 0: 3 points at 0 are not drawn." in plot.caption(figure)


def test_an_axis_without_zeros_says_nothing():
    positive = falling().isel(step=slice(1, 6)) + 1e-3
    for values, scales in ((positive, LOG), (falling(), {})):
        figure, _ = drawn(lambda ax, v=values: plot.series(ax, v, "step", "a"), **scales)
        assert "Logarithmic" not in plot.caption(figure)
    figure, _ = drawn(lambda ax: plot.series(ax, falling(), "step", "a"), xscale="log")
    assert "have no 0: 1 point at 0 is not drawn." in plot.caption(figure)


def test_a_band_that_reaches_zero_ends_at_the_bottom_and_keeps_its_numbers():
    figure, ax = drawn(lambda ax: plot.series(ax, falling(), "step", "a"), **LOG)
    (band,) = [part for part in ax.collections if hasattr(part, "get_paths")]
    (path,) = band.get_paths()
    corners = ax.transData.transform(path.vertices)
    assert np.isfinite(corners).all()  # a corner that is nowhere would tear the band
    assert path.vertices[:, 0].min() == 1 and whole_corners(band)[0][:, 0].min() == 0
    assert corners[:, 1].min() < ax.get_window_extent().y0
    lows = {row["x"]: row["low"] for row in plot.numbers(figure) if row["label"] == "a"}
    assert lows[50] == 0 and lows[0] > 0 and [*lows] == STEPS.tolist()


def test_a_band_of_ones_own_keeps_its_numbers():
    low, high = np.zeros(8), np.linspace(0, 1, 8)
    figure, _ = drawn(lambda ax: ax.fill_between(STEPS, low, high), **LOG)
    rows = [row for row in plot.numbers(figure) if row["kind"] == "band"]
    assert {row["x"]: row["low"] for row in rows} == dict.fromkeys(STEPS.tolist(), 0.0)
    assert {row["x"]: row["high"] for row in rows}[100] == 1.0


def test_bars_stand_on_the_bottom_and_their_errors_reach_it():
    def draw(ax):
        plot.bars(ax, np.arange(2), falling().isel(step=[1, 2]), 0.8)
        ax.errorbar([0, 1], [0.5, 0.4], yerr=[[0.5, 0.2], [0.1, 0.1]])

    figure, ax = drawn(draw, yscale="log")
    for bar in ax.patches[:2]:
        assert np.isfinite(bar.get_window_extent().get_points()).all()
    (sticks,) = ax.collections[:1]
    assert all(np.isfinite(ax.transData.transform(s)).all() for s in sticks.get_segments())
    lows = [row["low"] for row in plot.numbers(figure) if row["kind"] == "point"]
    assert lows == pytest.approx([0.0, 0.2])


def test_curves_without_a_positive_number_and_lines_across_are_drawn_nowhere():
    values = xr.DataArray(np.ones((6, 40)), {"step": np.arange(40)}, ("seed", "step"))

    def draw(ax):
        plot.series(ax, values, "step", "one")
        plot.series(ax, 0 * values, "step", "none", color=1)  # many points have spaced marks
        plot.theory(ax, None, 0.0, "limit")
        plot.reference(ax, STEPS, -1.0 * STEPS, "below")

    figure, ax = drawn(draw, yscale="log")
    none, limit = ax.lines[1], ax.lines[2]
    for line in (none, limit):
        assert not np.isfinite(line.get_transform().transform(line.get_xydata())).all(1).any()
    assert "have no 0: 50 points at 0 or below are not drawn." in plot.caption(figure)


def test_the_number_of_runs_at_a_zero_is_not_written():
    values = falling().where(lambda v: (v.step < 50) | (v.seed < 5))
    _, ax = drawn(lambda ax: plot.series(ax, values, "step", "a"), **LOG)
    assert not [text for text in ax.texts if "of 8" in text.get_text()]
    _, ax = drawn(lambda ax: plot.series(ax, values, "step", "a"))
    assert [text.get_text() for text in ax.texts] == ["5 of 8"]
