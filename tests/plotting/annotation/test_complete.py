"""The last steps of a drawing."""

import pytest
from helpers.drawn import COSINES, STEPS, drawn, runs

from jaxtheory import plot
from jaxtheory.plotting.annotation.captions import count_seeds
from jaxtheory.plotting.annotation.complete import write_count, write_letters, write_names


@pytest.mark.parametrize("legend_below", [False, True])
def test_a_caption_has_room_of_its_own_and_is_written_once(legend_below):
    figure, ax = drawn(runs(COSINES))
    if legend_below:
        ax.get_legend().remove()
        plot.legend_below(figure, ax)
    height = figure.get_figheight()
    plot.add_caption(figure)
    plot.add_caption(figure)
    (words,) = figure.texts
    assert words.get_text().replace("\n", " ") == plot.caption(figure)
    assert figure.get_figheight() > height
    figure.draw_without_rendering()
    top = words.get_window_extent().y1
    boxes = [legend.get_window_extent() for legend in figure.legends]
    assert len(boxes) == legend_below and all(box.y0 >= top for box in boxes)
    assert ax.get_tightbbox().y0 >= max([top, *(box.y1 for box in boxes)])
    assert words.get_window_extent().x1 <= figure.bbox.x1


def test_wide_letters_have_shorter_lines():
    figure, ((ax,),) = plot.panels()
    plot.theory(ax, [0, 1], [0, 1], "MWMW " * 40)
    plot.add_caption(figure)
    (words,) = figure.texts
    assert words.get_window_extent().x1 <= figure.bbox.x1


def test_a_drawing_without_notes_gets_no_caption():
    figure, ((ax,),) = plot.panels()
    ax.plot([0, 1], [0, 1])
    height = figure.get_figheight()
    plot.add_caption(figure)
    assert not figure.texts and figure.get_figheight() == height


def test_names_are_written_once_and_before_the_caption():
    figure, ax = drawn(runs(COSINES))
    plot.theory(ax, STEPS, COSINES[0], "law")
    ax.legend()
    write_names(figure)
    write_names(figure)
    assert sorted(text.get_text() for text in ax.texts) == ["cosine", "law"]
    before = [text.get_position() for text in ax.texts]
    plot.add_caption(figure)
    assert [text.get_position() for text in ax.texts] == before and len(figure.texts) == 1


def test_below_a_figure_without_caption_stands_of_how_many_seeds_it_is():
    figure, ax = drawn(runs(COSINES))
    height = figure.get_figheight()
    write_count(figure)
    (words,) = figure.texts
    assert words.get_text() == f"n = {len(COSINES)} seeds, ± 2 standard errors"
    assert figure.get_figheight() > height
    figure.draw_without_rendering()
    assert ax.get_tightbbox().y0 >= words.get_window_extent().y1


@pytest.mark.parametrize(("seeds", "want"), [(1, []), (8, ["n = 8 seeds"])])
def test_a_figure_without_notes_is_told_of_its_seeds(seeds, want):
    figure, _ = plot.panels()
    count_seeds(figure, seeds)
    write_count(figure)
    assert [text.get_text() for text in figure.texts] == want


def test_panels_on_paper_have_letters():
    figure, _ = plot.panels(3)
    write_letters(figure)
    assert [text.get_text() for ax in figure.axes for text in ax.texts] == ["a", "b", "c"]
    single, ((ax,),) = plot.panels()
    write_letters(single)
    assert not ax.texts
