"""The drawings of the figures: no empty cell in a grid of panels, and no title twice."""

import pytest
from helpers.some import some

import jaxtheory
from jaxtheory import figures, plot
from jaxtheory.plotting.grid import flaws

from .made_up import get, measured
from .test_figures import CASES

LEARNED = ("bigram_population", "bigram_transfer", "neighbor_structure", "times_share")
ENTRIES = [name for name in figures.entries() if name not in LEARNED]  # need runs that have learned
MADE_UP = {case.figure: case for case in CASES.values() if case.drawn}


@pytest.mark.parametrize("name", some(ENTRIES, *figures.headlines(), "network_walk", "llama_table"))
def test_no_cell_is_empty_and_no_title_repeats(name: str) -> None:
    figure = get(name)
    swept = figure.experiment is None and figure.verb is jaxtheory.sweep
    data = measured(name) if swept and name not in MADE_UP else MADE_UP[name].data(quick=True)
    drawn = figure.draw(data)
    plot.add_caption(drawn)
    assert flaws(drawn) == []
