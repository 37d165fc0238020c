"""Thresholds of claims in the panels whose vertical axis is what the claim measures."""

from typing import Any

import numpy as np

from jaxtheory.plotting.annotation.captions import Drawn, notes
from jaxtheory.plotting.annotation.places import Obstacles, size_of, write

_BEYOND = 0.25  # of the height of a panel: how far it grows to show a threshold
_MARGIN = 0.05  # of the height of a panel, beyond a threshold for which it grew
_SIZE, _GAP = 5.5, 1.0  # points: letters, and their distance from the line
_ALONG = (1.0, 0.0, 0.75, 0.25, 0.5)  # shares of a line at which its name may stand
_DOTS: Any = {"color": "#333333", "linewidth": 0.8, "linestyle": (0, (1, 1.5)), "zorder": 2}


def threshold(ax: Any, low: float, high: float, label: str) -> None:
    """Draw the limits of a claim about the vertical axis of a panel as thin dotted lines.

    The label is written at the line when the figure gets its caption, with an arrow to the side
    where the claim holds. The panel grows by at most a quarter to show a limit; one that is farther
    away is left out. In a heat map the lines cross the color bar.

    Args:
        ax: The panel.
        low: The smallest number for which the claim holds; -inf if there is none.
        high: The largest number for which the claim holds; inf if there is none.
        label: The id of the claim.

    Example:
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> plot.threshold(axes[0, 0], 0.9, float("inf"), "T-1")
        >>> plot.caption(figure)
        'Thin dotted lines: limits of T-1; the arrow points to where the claim holds.'
    """
    bars = [part.colorbar for part in ax.collections if getattr(part, "colorbar", None)]
    shown = bars[0].ax if bars else ax
    for limit, arrow in ((low, "↑"), (high, "↓")):
        if np.isfinite(limit) and _fits(shown, limit, grows=not bars):
            ends = shown.get_ylim()
            if bars:  # dots that can be seen on any color
                shown.axhline(limit, color="white", linewidth=1.6, zorder=2)
            line = shown.axhline(limit, **_DOTS)
            shown.set_ylim(ends)
            notes(ax).append(Drawn("across bar" if bars else "threshold", label, line, low=arrow))


def _fits(ax: Any, limit: float, *, grows: bool) -> bool:
    """True if a number is on the vertical axis of a panel, which may grow to show it."""
    scale = ax.yaxis.get_transform()
    with np.errstate(all="ignore"):
        low, high, at = scale.transform(np.asarray([*ax.get_ylim(), limit], float))
    if not np.isfinite(at) or low == high:
        return False
    place = (at - low) / (high - low)
    if not 0 <= place <= 1:
        if not grows or not -_BEYOND <= place <= 1 + _BEYOND:
            return False
        beyond = at + np.sign(place - 0.5) * _MARGIN * (high - low)
        low, high = (beyond, high) if place < 0 else (low, beyond)
        ax.set_ylim(*(float(end) for end in scale.inverted().transform(np.asarray([low, high]))))
    return True


def name_thresholds(figure: Any) -> None:
    """Write the names of the thresholds of a figure where they cover least, equal ones together.

    Args:
        figure: A figure whose panels have their final size.
    """
    for ax in figure.axes:
        of_limit: dict[tuple[float, str], list[Drawn]] = {}
        for note in notes(ax):
            if note.kind in ("threshold", "across bar"):
                limit = float(note.artist.get_ydata()[0])
                of_limit.setdefault((limit, note.low), []).append(note)
        if of_limit and notes(ax)[-1].kind == "across bar":
            _beside_bar([*of_limit.values()])
            continue
        obstacles = Obstacles(ax) if of_limit else None
        for (limit, arrow), same in of_limit.items():
            names = dict.fromkeys(note.label for note in same)
            _name(ax, obstacles, limit, arrow, f"{arrow} {', '.join(names)}", same)


def _beside_bar(limits: list[list[Drawn]]) -> None:
    """Write the names of thresholds at the left of a color bar, those of near ones together."""
    (bar,) = {note.artist.axes for same in limits for note in same}
    room = 1.3 * _SIZE * bar.figure.dpi / 72
    named: dict[float, list[str]] = {}
    limit_of = lambda same: float(same[0].artist.get_ydata()[0])
    place = lambda limit: bar.transData.transform((0, limit))[1]
    for same in sorted(limits, key=limit_of):
        limit = limit_of(same)
        near = [neighbor for neighbor in named if place(limit) - place(neighbor) < room]
        at = near[-1] if near else limit
        named.setdefault(at, []).extend(f"{note.low} {note.label}" for note in same)
    labels = ["\n".join(dict.fromkeys(names)) for names in named.values()]
    bar.yaxis.remove_overlapping_locs = False
    bar.set_yticks(list(named), labels, minor=True, fontsize=_SIZE)
    sides = {"left": True, "labelleft": True, "right": False, "labelright": False}
    bar.tick_params(axis="y", which="minor", length=0, pad=1, **sides)


def _name(ax: Any, obstacles: Any, limit: float, arrow: str, label: str, same: list[Drawn]) -> None:
    """Write the name of a threshold above or below its line."""
    wide, high = size_of(ax, label, _SIZE)
    x0, _, x1, _ = obstacles.frame
    y, gap = ax.transData.transform((0, limit))[1], _GAP * obstacles.pixel
    boxes = [
        (x, bottom, x + wide, bottom + high)
        for share in _ALONG
        for x in [x0 + gap + share * (x1 - x0 - wide - 2 * gap)]
        for bottom in (y + gap, y - gap - high)[:: 1 if arrow == "↑" else -1]
    ]
    own = {id(note.artist) for note in same}
    inside = [box for box in boxes if obstacles.inside(box)] or boxes
    box = min(inside, key=lambda box: obstacles.covered(box, own))
    obstacles.boxes.append(box)
    write(ax, box, label, fontsize=_SIZE, color="#333333")
