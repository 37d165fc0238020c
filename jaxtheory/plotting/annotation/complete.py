"""The last steps of a drawing: names beside curves, shared titles and labels once, the caption."""

import string
from typing import Any

from jaxtheory.plotting.annotation.beside import clear_legends, name_curves
from jaxtheory.plotting.annotation.captions import broken, caption, replicates
from jaxtheory.plotting.annotation.fit import fit
from jaxtheory.plotting.annotation.grid import say_once
from jaxtheory.plotting.annotation.marks import place_counts
from jaxtheory.plotting.annotation.sizes import TITLE, points
from jaxtheory.plotting.annotation.thresholds import name_thresholds

_SIZE = 6.5  # points
_LETTER, _LINE = 0.53 / 72, 1.3 / 72  # inches per point: width of a letter, height of a line
_NAMED, _BELOW = "_jaxtheory_named", "_jaxtheory_below"  # of a figure


def write_names(figure: Any) -> None:
    """Write what panels share once, and names beside curves and at thresholds.

    A second call changes nothing.

    Args:
        figure: A figure that was drawn by the functions of `jaxtheory.plot`.

    Example:
        >>> from jaxtheory import plot
        >>> from jaxtheory.plotting.annotation.complete import write_names
        >>> figure, ((ax,),) = plot.panels()
        >>> plot.theory(ax, [0, 1], [1, 2], "law")
        >>> plot.theory(ax, [0, 1], [2, 1], "other law")
        >>> plot.finish(ax, "x", "y")
        >>> write_names(figure)
        >>> [text.get_text() for text in ax.texts]
        ['law', 'other law']
    """
    say_once(figure)
    if not figure.__dict__.get(_NAMED):
        figure.__dict__[_NAMED] = True
        figure.draw_without_rendering()  # gives the panels their places
        fit(figure)
        place_counts(figure)
        name_curves(figure)
        clear_legends(figure)
        name_thresholds(figure)


def add_caption(figure: Any) -> None:
    """Write the caption of a figure below it, and enlarge the figure by the height of the caption.

    Titles and labels of axes that the panels of a row or a column share are written once. Panels of
    at most four curves get their names beside them in place of a legend, where there is room. A
    second call changes nothing.

    Args:
        figure: A figure that was drawn by the functions of `jaxtheory.plot`.

    Example:
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> plot.theory(axes[0, 0], None, 0.5, "limit")
        >>> plot.add_caption(figure)
        >>> figure.texts[0].get_text()
        'Dashed: limit.'
    """
    write_names(figure)
    _write_below(figure, caption(figure))


def write_count(figure: Any) -> None:
    """Write names, and below a figure of how many seeds its means are.

    Args:
        figure: A figure that was drawn by the functions of `jaxtheory.plot`.

    Example:
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxtheory import plot
        >>> from jaxtheory.plotting.annotation.complete import write_count
        >>> figure, ((ax,),) = plot.panels()
        >>> loss = xr.DataArray(np.ones((4, 3)), {"step": [0, 1, 2]}, ["seed", "step"])
        >>> plot.series(ax, loss, "step")
        >>> write_count(figure)
        >>> figure.texts[0].get_text()
        'n = 4 seeds'
    """
    write_names(figure)
    _write_below(figure, replicates(figure))


def write_letters(figure: Any) -> None:
    """Write a, b, c, ... at the upper left corners of the panels, if there are several."""
    panels = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    if len(panels) < 2:
        return
    for letter, ax in zip(string.ascii_letters, panels, strict=False):
        ax.annotate(
            letter,
            (0, 1),
            xycoords="axes fraction",
            xytext=(-6, 5),
            textcoords="offset points",
            ha="right",
            weight="bold",
            fontsize=points(TITLE),
        )


def _write_below(figure: Any, text: str) -> None:
    """Enlarge a figure by the height of a text, and write it there, once."""
    if not text or figure.__dict__.get(_BELOW):
        return
    figure.__dict__[_BELOW] = True
    width, height = figure.get_size_inches()
    lines = _fitting(figure, text, width - 0.2)
    needed = len(lines) * _SIZE * _LINE + 0.1
    figure.set_size_inches(width, height + needed)
    share = needed / (height + needed)
    if figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    bottom = share
    for legend in figure.legends:  # matplotlib makes room for one below only without an anchor
        legend.set_bbox_to_anchor((0, share, 1, 1 - share), figure.transFigure)
        room = legend.get_tightbbox().height / figure.dpi + 0.08
        bottom = max(bottom, share + room / (height + needed))
    figure.get_layout_engine().set(rect=(0, bottom, 1, 1 - bottom))
    place: dict[str, Any] = {"ha": "left", "va": "bottom", "fontsize": _SIZE, "color": "#444444"}
    figure.text(0.1 / width, 0.05 / (height + needed), "\n".join(lines), **place)


def _fitting(figure: Any, text: str, width: float) -> list[str]:
    """Break a text into lines that are at most so many inches wide."""
    letter = _LETTER
    while True:
        lines = broken(text, width, _SIZE * letter, even=False)
        probe = figure.text(0, 0, lines, fontsize=_SIZE)
        wide = probe.get_window_extent().width / figure.dpi
        probe.remove()
        if wide <= width or letter > 2 * _LETTER:
            return lines.split("\n")
        letter *= 1.03
