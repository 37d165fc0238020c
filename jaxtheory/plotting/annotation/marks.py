"""Marks of means that leave out runs without a value, with the number of runs that are left.

A run has no value if it diverged or if the metric is not defined. Points, cells and bars are
marked.
"""

from typing import Any

import numpy as np

from jaxtheory.plotting.annotation.captions import Drawn, notes
from jaxtheory.plotting.annotation.fit import CELL
from jaxtheory.plotting.annotation.places import Obstacles, size_of, write

_LARGEST, _SMALL, _SMALLEST, _TINY = 6.5, 5.0, 4.4, 3.8  # points; small: the number of runs
_FEWER = 0.9  # of the runs behind other points of a curve: means over fewer are marked
_DIGIT = 0.62 / 72  # inches per point of font size: the width of a digit
_AMONG = 8  # marks along a line of many points, about
_COUNTS = "_jaxtheory_counts"  # of a panel: the numbers of runs at its points
_GAP = 3.0  # points between a mark and its number
_HATCH: Any = {"hatch": "//////", "edgecolor": "#777777", "facecolor": "none", "linewidth": 0}


def least_and_most(counts: np.ndarray) -> tuple[int, int]:
    """Return the least and the largest positive count, or (0, 0)."""
    positive = counts[counts > 0]
    return (int(positive.min()), int(positive.max())) if positive.size else (0, 0)


def mark_points(ax: Any, line: Any, n: np.ndarray, seeds: int) -> None:
    """Draw open marks where a mean leaves out runs that others have, with their number."""
    x, y = line.get_xdata(), np.asarray(line.get_ydata(), float)
    partial = (n > 0) & (n < _FEWER * n.max(initial=0))
    if not partial.any():
        return
    changes = partial & (n != np.concatenate([[seeds], n[:-1]]))
    stride = max(1, len(n) // _AMONG) if len(n) > 20 else 1
    at = np.flatnonzero(partial & (changes | (np.arange(len(n)) % stride == 0)))
    shade = line.get_color()
    style: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 0.9, "markersize": 4.2}
    marker = line.get_marker() if line.get_marker() not in (None, "None", "") else "o"
    (marks,) = ax.plot(
        np.asarray(x)[at], y[at], linestyle="", marker=marker, color=shade, zorder=3, **style
    )
    notes(ax).append(Drawn("open", "", marks))
    for i in _thin(np.flatnonzero(changes), len(n)):
        number = ax.annotate(
            f"{n[i]} of {seeds}",
            (x[i], y[i]),
            xytext=(_GAP, _GAP),
            textcoords="offset points",
            fontsize=_SMALL,
            color=shade,
        )
        ax.__dict__.setdefault(_COUNTS, []).append(number)


def place_counts(figure: Any) -> None:
    """Move the numbers of runs at points to free places beside them, and leave out the others.

    Args:
        figure: A figure whose panels have their final size.
    """
    for ax in figure.axes:
        numbers = ax.__dict__.pop(_COUNTS, ())
        for number in numbers:
            number.remove()
        if not numbers:
            continue
        obstacles = Obstacles(ax)
        for number in numbers:
            text, gap = number.get_text(), _GAP * obstacles.pixel
            wide, high = size_of(ax, text, _SMALL)
            x, y = ax.transData.transform(number.xy)
            boxes = [
                (x0, y0, x0 + wide, y0 + high)
                for y0 in (y + gap, y - gap - high)
                for x0 in (x + gap, x - gap - wide, x - wide / 2)
            ]
            free = [box for box in boxes if obstacles.inside(box) and not obstacles.covered(box)]
            if free:
                obstacles.boxes.append(free[0])
                write(ax, free[0], text, fontsize=_SMALL, color=number.get_color())


def _thin(places: np.ndarray, length: int) -> list[int]:
    """Select the places along a line that have room for a number, the last of close ones."""
    subset: list[int] = []
    for place in places[::-1]:
        if not subset or subset[-1] - place >= length / 6 or length <= 20:
            subset.append(int(place))
    return subset[::-1]


def mark_cells(ax: Any, n: np.ndarray, seeds: int) -> None:
    """Hatch each cell in proportion to the runs that its mean leaves out; n: [row, column]."""
    for (i, j), count in np.ndenumerate(n):
        if count < seeds:
            wide = 1 - count / seeds
            ax.fill([j, j + wide, j + wide, j], [i, i, i + 1, i + 1], **_HATCH)


def write_cells(
    ax: Any, picture: Any, words: np.ndarray, n: np.ndarray, seeds: int, room: tuple[float, float]
) -> None:
    """Write the text of each cell, and the number of its runs if some are left out.

    The number is in a second line if the cell is high enough. Nothing is written where letters that
    fit would be too small to read. n: [row, column]. room: (width, height) of a cell in inches.
    """
    partial = (n > 0) & (n < seeds)
    stacked = room[1] * 72 > 1.3 * (_SMALL + _SMALLEST) + 2
    counted = f"n = {seeds - 1} of {seeds}" if partial.any() and stacked else ""
    texts = words.astype(object)
    if not stacked:
        for at in np.argwhere(partial):
            texts[tuple(at)] += f" ({n[tuple(at)]}/{seeds})"
    longest = max(
        (len(text) for text, count in zip(texts.flat, n.flat, strict=True) if count), default=1
    )
    high = room[1] * 72 / 1.4 - (1.3 * _SMALL if counted else 0)
    size = min(room[0] / (longest + 0.5) / _DIGIT, high, _LARGEST)
    below = min(room[0] / (len(counted) + 0.5) / _DIGIT, _SMALL)
    if size < _SMALLEST:
        return
    values = np.reshape(picture.get_array(), n.shape)
    for (i, j), text in np.ndenumerate(texts):
        if not n[i, j]:
            continue
        place: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": size}
        light = np.dot(picture.to_rgba(values[i, j])[:3], (0.299, 0.587, 0.114))
        place["color"] = "white" if light < 0.5 else "black"
        if partial[i, j]:  # readable on the hatching
            place["bbox"] = {"facecolor": picture.to_rgba(values[i, j]), "linewidth": 0, "pad": 0.4}
        if partial[i, j] and stacked and below >= _TINY:
            under = place | {"va": "top", "fontsize": below}
            ax.text(j + 0.5, i + 0.45, gid=CELL, s=f"n = {n[i, j]} of {seeds}", **under)
            place["va"] = "bottom"
        ax.text(j + 0.5, i + 0.5, text, gid=CELL, **place)


def mark_bars(ax: Any, bars: Any, n: np.ndarray, seeds: int) -> None:
    """Hatch each bar in proportion to the runs that its mean leaves out, and write their number."""
    for bar, count in zip(bars.patches, n, strict=True):
        if count == seeds:
            continue
        x0, foot, wide = bar.get_x(), bar.get_y(), bar.get_width()
        height = bar.get_height() if np.isfinite(bar.get_height()) else 0.0
        top = foot + height * (1 - count / seeds)
        ax.fill([x0, x0 + wide, x0 + wide, x0], [foot, foot, top, top], **_HATCH)
        place: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": _SMALL}
        ax.text(x0 + wide / 2, foot + max(height, 0.0), f"{count} of {seeds}", **place)
