"""The drawings of the figures: no empty cell in a grid of panels, no title twice, and the limits of
claims in the panels that show what they measure.
"""

import dataclasses
from typing import Any

import pytest
from helpers.colors import alike, distance
from helpers.some import some

import jaxtheory
from jaxtheory import InputError, figures, plot
from jaxtheory.claims import FigureResult
from jaxtheory.plotting.annotation.captions import notes
from jaxtheory.plotting.annotation.grid import flaws
from jaxtheory.plotting.panels import MARKERS
from jaxtheory.reports import run_files

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
    drawn = run_files.drawn(FigureResult(figure, data, [], ()))
    limits = {(note.label, *note.artist.get_ydata()) for note in thresholds(drawn)}
    plot.add_caption(drawn)
    assert flaws(drawn) == []
    assert [pair for ax in drawn.axes for pair in alike(ax)] == []
    bounds = {(c.id, end, end) for c in figure.claims if c.panel is not None for end in c.bound}
    assert limits <= bounds


def test_colors_are_told_apart_or_have_marks_of_their_own() -> None:
    assert distance("#ff0000", "#ff0000") == 0 and distance("black", "white") > 90
    assert distance("#d00000", "#606000") > distance("#007000", "#707000")
    _, ((ax,),) = plot.panels()
    for color, label in ((plot.COLORS[2], "green"), (plot.COLORS[3], "pink")):
        ax.plot([0, 1], [0, 1], color=color, label=label)
    assert alike(ax) == ["green and pink"]
    ax.lines[0].set_marker("^")
    assert alike(ax) == []
    assert len({*plot.COLORS}) == len({*MARKERS}) == len(MARKERS)


def thresholds(drawn: Any) -> list[Any]:
    """The notes of the limits of claims in all panels."""
    return [n for ax in drawn.axes for n in notes(ax) if n.kind == "threshold"]


def test_a_bound_is_drawn_from_its_claim() -> None:
    figure = get("walk_margin")
    data = MADE_UP[figure.name].data(quick=True)
    drawn = run_files.drawn(FigureResult(figure, data, [], ()))
    assert {note.label for note in thresholds(drawn)} == {"RW-53", "RW-54"}
    (claim, *_) = figure.claims
    wrong = figure._replace(claims=(dataclasses.replace(claim, panel=2),))
    with pytest.raises(InputError, match="claim RW-53: panel = 2; walk_margin has the panels"):
        run_files.drawn(FigureResult(wrong, data, [], ()))
