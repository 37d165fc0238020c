"""Places for texts in a panel."""

import numpy as np
from helpers.drawn import drawn, runs

from jaxtheory import plot
from jaxtheory.plotting.annotation.places import Obstacles, size_of, trace, write


def test_a_curve_takes_the_pixels_between_its_points():
    figure, ((ax,),) = plot.panels()
    (line,) = ax.plot([0, 1], [0, 1])
    figure.draw_without_rendering()
    points = trace(line)
    assert np.hypot(*np.diff(points, axis=0).T).max() <= 2.0
    ends = ax.transData.transform([(0, 0), (1, 1)])
    np.testing.assert_allclose(points[[0, -1]], ends)
    occupancy, (x, y) = Obstacles(ax), ends.mean(0)
    assert occupancy.covered((x - 5, y - 5, x + 5, y + 5)) >= 5
    assert not occupancy.covered((x - 5, y + 6, x + 5, y + 16))
    assert not occupancy.covered((x - 5, y - 5, x + 5, y + 5), ignored={id(line)})
    assert occupancy.nearest((x, y + 10, x + 1, y + 11), {id(line)}) > 5
    assert occupancy.nearest((0, 0, 1, 1), ()) == np.inf


def test_bars_marks_texts_and_the_legend_are_taken_too():
    figure, ax = drawn(runs(np.ones((6, 4))))
    ax.bar([0], [1], width=0.2)
    ax.scatter([1], [1])
    ax.text(2, 1, "text")
    figure.draw_without_rendering()
    assert len(Obstacles(ax).boxes) == 3 and len(Obstacles(ax).points) == 2


def test_a_text_is_written_where_it_was_measured():
    figure, ((ax,),) = plot.panels()
    figure.draw_without_rendering()
    wide, high = size_of(ax, "name", 7)
    x, y, *_ = Obstacles(ax).frame
    box = (x + 10, y + 20, x + 10 + wide, y + 20 + high)
    window = write(ax, box, "name", fontsize=7).get_window_extent()
    np.testing.assert_allclose(window.extents, box, atol=1.0)
    assert Obstacles(ax).inside(box) and not Obstacles(ax).inside((x - 1, y, x + 9, y + 9))
