"""Panels: their number on a page, and the width of a figure."""

import numpy as np
import pytest

from jaxtheory import InputError, plot
from jaxtheory.plotting.annotation.grid import share
from jaxtheory.plotting.panels import placed


def test_a_long_row_of_panels_is_broken_at_the_width_of_a_page():
    figure, axes = plot.panels(5, width=3.0)
    assert axes.shape == (1, 5) and figure.get_figwidth() <= plot.WIDTH
    assert [round(1 / share(ax)[0]) for ax in axes[0]] == [3, 3, 3, 2, 2]


@pytest.mark.parametrize("inches", [3.3, 6.8, 9])
def test_a_figure_is_as_wide_as_it_is_asked_to_be(inches: float) -> None:
    figure, axes = plot.panels(2, figure_width=inches)
    assert figure.get_figwidth() == inches and axes.shape == (1, 2)


@pytest.mark.parametrize("inches", [0, -1, np.inf, np.nan, "3", True])
def test_what_is_no_width_is_refused(inches: object) -> None:
    with pytest.raises(InputError, match=r"figure_width = .*: must be a number of inches"):
        plot.panels(figure_width=inches)


def test_a_panel_is_made_or_widened() -> None:
    assert placed(None, 3.3).figure.get_figwidth() == 3.3
    figure, axes = plot.panels(2, 2)
    assert placed(axes[1, 1], None) is axes[1, 1]
    before = figure.get_size_inches()
    assert placed(axes[1, 1], 2.0) is axes[1, 1]
    assert figure.get_size_inches().tolist() == [4.0, before[1]]
