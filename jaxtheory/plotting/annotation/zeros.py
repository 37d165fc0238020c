"""Logarithmic axes: no curve is drawn where it is 0 or below, and the caption counts the points."""

from collections.abc import Iterator
from typing import Any

import numpy as np

_BOTTOM = 1e-300  # the lower edge of a band that reaches 0: below every panel
_WHOLE = "_jaxtheory_whole"  # of bands and bars of errors: the corners before they were cut
_FILLED = ("PolyCollection", "FillBetweenPolyCollection", "LineCollection")
# of what is drawn: these repeat the points of another curve, or are not data
_REPEATED = ("run", "edge", "open", "boundary", "outline", "threshold", "law")


def set_log(ax: Any, which: str) -> None:
    """Make an axis logarithmic, so that curves have gaps where they are not positive.

    Bands end at the bottom of the panel where they reach 0, and begin at the first positive place.
    Bars stand on the bottom.

    Args:
        ax: The panel.
        which: "x" or "y".
    """
    bars = which == "y" and any(hasattr(drawn, "patches") for drawn in ax.containers)
    getattr(ax, f"set_{which}scale")("log", nonpositive="clip" if bars else "mask")
    for drawn in ax.collections:
        if type(drawn).__name__ in _FILLED:
            drawn.__dict__.setdefault(_WHOLE, [path.vertices.copy() for path in drawn.get_paths()])
            for path in drawn.get_paths():
                _cut(path.vertices, which)
    for line in ax.lines:
        if not (_coordinate(ax, line, which) > 0).any():  # matplotlib cannot space marks along it
            line.set_markevery(None)
    for text in [*ax.texts]:
        if getattr(text, "xycoords", "") == "data" and not text.xy["xy".index(which)] > 0:
            text.set_visible(False)


def _cut(corners: np.ndarray, which: str) -> None:
    """Move the corners of a band that are not positive to where a logarithmic axis has a place."""
    coordinates = corners[:, "xy".index(which)]
    lost = coordinates <= 0
    coordinates[lost] = _BOTTOM if which == "y" else coordinates[~lost].min(initial=np.inf)


def whole_corners(drawn: Any) -> list[np.ndarray]:
    """Return the corners of each part of a band or of a bar of errors, as they were drawn first."""
    parts: list[np.ndarray] = drawn.__dict__.get(_WHOLE) or [p.vertices for p in drawn.get_paths()]
    return parts


def _coordinate(ax: Any, line: Any, which: str) -> np.ndarray:
    """The coordinates of a line along an axis; 1 where it goes across the panel."""
    data = line.get_transform().contains_branch_seperately(ax.transData)["xy".index(which)]
    values = np.atleast_1d(line.get_xdata() if which == "x" else line.get_ydata())
    numbers = values.dtype.kind in "biuf"
    return values.astype(float) if data and numbers else np.ones(len(values))


def _lost(ax: Any, notes: list[Any]) -> Iterator[float]:
    """Yield the coordinates of the points of curves that a logarithmic axis has no place for."""
    kind_of = {id(note.artist): note.kind for note in notes}
    logarithmic = [which for which in "xy" if getattr(ax, f"get_{which}scale")() == "log"]
    for line in ax.lines:
        if kind_of.get(id(line)) not in _REPEATED and line.get_visible() and logarithmic:
            lowest = np.min([_coordinate(ax, line, which) for which in logarithmic], axis=0)
            yield from lowest[lowest <= 0]


def sentence(panels: list[tuple[Any, list[Any]]]) -> str:
    """Return a sentence on the points that are not drawn, or "" if all are.

    Args:
        panels: The panels, each with the notes of what was drawn.
    """
    lost = [value for ax, notes in panels for value in _lost(ax, notes)]
    if not lost:
        return ""
    at = "at 0" if min(lost) == 0 else "at 0 or below"
    phrase = f"1 point {at} is" if len(lost) == 1 else f"{len(lost)} points {at} are"
    return f"Logarithmic axes have no 0: {phrase} not drawn."
