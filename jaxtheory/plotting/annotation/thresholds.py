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

    What is claimed is written at the line when the figure gets its caption. The panel grows by at
    most a quarter to show a limit; one that is farther away is left out. A heat map has none.

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
        'Thin dotted lines: what T-1 claims.'
    """
    if any(getattr(part, "colorbar", None) for part in ax.collections):
        return
    for limit, words in ((low, "at least"), (high, "at most")):
        if np.isfinite(limit) and _fits(ax, limit):
            ends = ax.get_ylim()
            line = ax.axhline(limit, **_DOTS)
            ax.set_ylim(ends)
            notes(ax).append(Drawn("threshold", label, line, low=words))


def _fits(ax: Any, limit: float) -> bool:
    """True if a number is on the vertical axis of a panel, which may grow to show it."""
    scale = ax.yaxis.get_transform()
    with np.errstate(all="ignore"):
        low, high, at = scale.transform(np.asarray([*ax.get_ylim(), limit], float))
    if not np.isfinite(at) or low == high:
        return False
    place = (at - low) / (high - low)
    if not 0 <= place <= 1:
        if not -_BEYOND <= place <= 1 + _BEYOND:
            return False
        beyond = at + np.sign(place - 0.5) * _MARGIN * (high - low)
        low, high = (beyond, high) if place < 0 else (low, beyond)
        ax.set_ylim(*(float(end) for end in scale.inverted().transform(np.asarray([low, high]))))
    return True


def name_thresholds(figure: Any) -> None:
    """Write what is claimed at the thresholds of a figure, where it covers least.

    Args:
        figure: A figure whose panels have their final size.
    """
    for ax in figure.axes:
        of_limit: dict[tuple[float, str], list[Drawn]] = {}
        for note in notes(ax):
            if note.kind == "threshold":
                limit = float(note.artist.get_ydata()[0])
                of_limit.setdefault((limit, note.low), []).append(note)
        obstacles = Obstacles(ax) if of_limit else None
        for (limit, words), same in of_limit.items():
            _name(ax, obstacles, limit, f"claimed: {words} {limit:.4g}", same)


def _name(ax: Any, obstacles: Any, limit: float, label: str, same: list[Drawn]) -> None:
    """Write what is claimed on the side of a line where it holds, or on the other."""
    wide, high = size_of(ax, label, _SIZE)
    x0, _, x1, _ = obstacles.frame
    y, gap = ax.transData.transform((ax.get_xlim()[0], limit))[1], _GAP * obstacles.pixel
    boxes = [
        (x, bottom, x + wide, bottom + high)
        for share in _ALONG
        for x in [x0 + gap + share * (x1 - x0 - wide - 2 * gap)]
        for bottom in (y + gap, y - gap - high)[:: 1 if same[0].low == "at least" else -1]
    ]
    own = {id(note.artist) for note in same}
    inside = [box for box in boxes if obstacles.inside(box)] or boxes
    box = min(inside, key=lambda box: obstacles.covered(box, own))
    obstacles.boxes.append(box)
    write(ax, box, label, fontsize=_SIZE, color="#333333")
