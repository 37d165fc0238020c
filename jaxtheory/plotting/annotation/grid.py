"""The grid of a figure's panels: no cell is empty, and what panels share is written once."""

from collections import Counter
from itertools import pairwise
from typing import Any

_SHARE = "_jaxtheory_share"  # of the figure's width and height, for a panel of a grid
_WORDS = "_jaxtheory_words"  # of a panel whose title or labels stand at another one
_BAR = "_jaxtheory_bar"  # of a panel: the label of its color bar


def layout(columns: int, rows: int, across: int) -> tuple[int, int, bool]:
    """Return the number of panels side by side, of lines, and whether rows become columns.

    They do if a row has no room but a column has.
    """
    if 1 < rows <= across < columns:
        return rows, columns, True
    across = min(columns, across)
    return across, -(-columns // across) * rows, False


def add_panels(figure: Any, columns: int, rows: int, across: int) -> list[Any]:
    """Add the panels of all rows to a figure, row by row.

    A row of more than `across` panels continues below. Its last line is as wide as the others.
    """
    across, lines, turned = layout(columns, rows, across)
    if turned or columns % across == 0:
        wide = figure.add_gridspec(lines, across)
        down = lines // rows
        places = [
            wide[j, i] if turned else wide[i * down + j // across, j % across]
            for i in range(rows)
            for j in range(columns)
        ]
    else:
        places, full = [], columns // across
        for row in figure.add_gridspec(rows, 1):
            parts = row.subgridspec(1 + bool(full), 1, height_ratios=[full, 1][not full :])
            above = parts[0].subgridspec(full, across) if full else ()
            places += [*above, *parts[-1].subgridspec(1, columns % across)]
    axes = [figure.add_subplot(place) for place in places]
    for ax in axes:
        ax.__dict__[_SHARE] = 1 / ax.get_subplotspec().get_geometry()[1], 1 / lines
    return axes


def share(ax: Any) -> tuple[float, float]:
    """Return the share of a figure's width and height that a panel has with its labels."""
    if _SHARE in ax.__dict__:
        fractions: tuple[float, float] = ax.__dict__[_SHARE]
        return fractions
    place = ax.get_subplotspec()
    rows, columns = (1, 1) if place is None else place.get_geometry()[:2]
    return 1 / columns, 1 / rows


def words(ax: Any) -> dict[str, str]:
    """Return what a panel shows, each text in one line.

    These are its title, or else the label of its vertical axis; the labels of its axes; and that
    of its color bar.
    """
    bars = [p.colorbar.ax for p in (*ax.collections, *ax.images) if getattr(p, "colorbar", None)]
    color = bars[0].get_ylabel() or bars[0].get_xlabel() if bars else ax.__dict__.get(_BAR, "")
    texts = {
        "title": ax.get_title() or ax.get_ylabel(),
        "x_label": ax.get_xlabel(),
        "y_label": ax.get_ylabel(),
        "value_label": color,
    }
    texts = {kind: " ".join(text.split()) for kind, text in texts.items()}
    return texts | ax.__dict__.get(_WORDS, {})


def remember_bar(ax: Any, label: str) -> None:
    """Keep the label of the color bar of a panel whose colored curves do not know it."""
    ax.__dict__[_BAR] = label


def say_once(figure: Any) -> None:
    """Write what a row or a column of panels shares only once.

    A title stays at the first panel, and the label of an axis at the outermost one; so do the
    numbers along an axis, if they are the same, and a color bar stays at the last.

    Figures that `panels` did not make stay as they are.
    """
    grids: dict[int, dict[tuple[int, int], Any]] = {}
    for ax in figure.axes:
        place = ax.get_subplotspec()
        if _SHARE in ax.__dict__ and place is not None:
            at = place.rowspan.start, place.colspan.start
            grids.setdefault(id(place.get_gridspec()), {})[at] = ax
    for panels in grids.values():
        rows, columns = ([*dict.fromkeys(at[k] for at in panels)] for k in (0, 1))
        for ax in panels.values():
            ax.__dict__.setdefault(_WORDS, words(ax))
        in_row = [[panels[i, j] for j in columns if (i, j) in panels] for i in rows]
        in_column = [[panels[i, j] for i in rows if (i, j) in panels] for j in columns]
        for line in in_row:
            _bar_once(line)
            _title_once(line, "left")
            _label_once(line, "y")
        for line in in_column:
            _title_once(line, "center")
            _label_once(line[::-1], "x")


def _title_once(panels: list[Any], side: Any) -> None:
    """Leave the title of the first of several panels that have the same one."""
    title = panels[0].get_title()
    if title and len(panels) > 1 and {ax.get_title() for ax in panels} == {title}:
        size = panels[0].title.get_fontsize()
        for ax in panels:
            ax.set_title("")
        panels[0].set_title(title, loc=side, fontsize=size)


def _bar_once(panels: list[Any]) -> None:
    """Leave the color bar of the last of neighboring panels whose colors mean the same.

    It covers the values of all.
    """
    pictures = [p for ax in panels for p in ax.collections if getattr(p, "colorbar", None)]
    for first, second in pairwise(pictures):
        bars = first.colorbar, second.colorbar
        (low, high), (least, most) = (bar.ax.get_ylim() for bar in bars)
        same = first.get_clim() == second.get_clim() and first.get_cmap() == second.get_cmap()
        if same and len({bar.ax.get_ylabel() for bar in bars}) == 1:
            second.colorbar.ax.set_ylim(min(low, least), max(high, most))
            first.colorbar.remove()


def _label_once(panels: list[Any], which: str) -> None:
    """Leave the label of an axis at the first of neighboring panels that have the same one.

    A panel at the right of a color bar keeps its label: the bar's would be mistaken for it.
    """
    labels = [getattr(ax, f"get_{which}label")() for ax in panels]
    first = panels[0]
    for neighbor, ax, before, label in zip(panels, panels[1:], labels, labels[1:], strict=False):
        beside_bar = which == "y" and _has_bar(neighbor) and not _has_bar(ax)
        if not label or label != before or beside_bar:
            first = ax
            continue
        getattr(ax, f"set_{which}label")("")
        if _ticks(ax, which) == _ticks(first, which):
            ax.tick_params(axis=which, which="both", labelbottom=False) if which == "x" else (
                ax.tick_params(axis=which, which="both", labelleft=False)
            )


def _has_bar(ax: Any) -> bool:
    """True if a panel has a color bar."""
    return any(getattr(picture, "colorbar", None) for picture in (*ax.collections, *ax.images))


def _ticks(ax: Any, which: str) -> tuple[Any, ...]:
    """Return the scale of an axis, its ends, and its numbers if they were set by hand."""
    axis = getattr(ax, f"{which}axis")
    fixed = tuple(getattr(axis.get_major_formatter(), "seq", ()))
    return axis.get_scale(), *(f"{end:.6g}" for end in axis.get_view_interval()), fixed


def flaws(figure: Any) -> list[str]:
    """Return sentences about empty cells of a figure's grids, and about titles that repeat."""
    filled: dict[int, tuple[Any, set[tuple[int, int]]]] = {}
    panels = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    for ax in panels:
        place = ax.get_subplotspec()
        if place is not None:
            cells = filled.setdefault(id(place.get_gridspec()), (place.get_gridspec(), set()))[1]
            cells |= {(i, j) for i in place.rowspan for j in place.colspan}
    sentences = [
        f"{grid.nrows * grid.ncols - len(cells)} of {grid.nrows} x {grid.ncols} cells are empty"
        for grid, cells in filled.values()
        if len(cells) < grid.nrows * grid.ncols
    ]
    sides: Any = ("left", "center")
    titles = Counter(ax.get_title(side).strip() for ax in panels for side in sides)
    return sentences + [f"{n} panels: {title!r}" for title, n in titles.items() if title and n > 1]
