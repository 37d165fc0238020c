"""Places for short texts in a finished panel, free of its curves, bars, marks and other texts."""

from collections.abc import Iterable
from typing import Any

import numpy as np

_STEP = 2.0  # pixels between the points of a curve that a text must not cover
Box = tuple[float, float, float, float]  # left, bottom, right, top, in pixels


class Obstacles:
    """The contents of a panel in pixels: the points of its curves and marks, and boxes."""

    def __init__(self, ax: Any) -> None:
        frame = ax.get_window_extent()
        self.frame: Box = (frame.x0, frame.y0, frame.x1, frame.y1)
        self.pixel = ax.figure.dpi / 72  # pixels per point
        self.points = {id(line): trace(line) for line in ax.lines if line.get_visible()}
        for marks in ax.collections:
            if type(marks).__name__ == "PathCollection":
                places = marks.get_offset_transform().transform(marks.get_offsets())
                self.points[id(marks)] = np.asarray(places, float).reshape(-1, 2)
        artists = [*ax.texts, *(part for bars in ax.containers for part in _patches(bars))]
        legend = ax.get_legend()
        artists += [] if legend is None else [legend]
        self.boxes: list[Box] = [_extent(artist) for artist in artists]

    def covered(self, box: Box, ignored: Iterable[int] = ()) -> int:
        """Return how many points of curves and how many other boxes a box covers."""
        x0, y0, x1, y1 = box
        count = 0
        for owner, points in self.points.items():
            if owner not in ignored and len(points):
                x, y = points.T
                count += int(((x > x0) & (x < x1) & (y > y0) & (y < y1)).sum())
        for a, b, c, d in self.boxes:
            count += 100 * (x0 < c and a < x1 and y0 < d and b < y1)
        return count

    def inside(self, box: Box) -> bool:
        """True if the panel contains the box."""
        a, b, c, d = self.frame
        return a <= box[0] and b <= box[1] and box[2] <= c and box[3] <= d

    def nearest(self, box: Box, owners: Iterable[int]) -> float:
        """Return the distance in pixels from a box to the nearest point of these curves."""
        x0, y0, x1, y1 = box
        distances = [np.inf]
        for owner in owners:
            if len(points := self.points.get(owner, ())):
                x, y = np.asarray(points).T
                wide = np.maximum(np.maximum(x0 - x, x - x1), 0)
                high = np.maximum(np.maximum(y0 - y, y - y1), 0)
                distances.append(float(np.hypot(wide, high).min()))
        return min(distances)


def trace(line: Any) -> np.ndarray:
    """Return points along a line in pixels, at most _STEP apart where it is drawn through."""
    corners = np.asarray(line.get_transform().transform(line.get_xydata()), float)
    corners = corners[np.isfinite(corners).all(1)]
    if len(corners) < 2 or line.get_linestyle() == "None":
        return corners
    steps = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(corners, axis=0).T))])
    at = np.linspace(0, steps[-1], min(int(steps[-1] / _STEP) + 2, 4000))
    return np.column_stack([np.interp(at, steps, column) for column in corners.T])


def size_of(ax: Any, text: str, points: float) -> tuple[float, float]:
    """Return the width and height in pixels of a text that would be written into a panel."""
    probe = ax.text(0, 0, text, fontsize=points, transform=ax.transAxes)
    extent = probe.get_window_extent()
    probe.remove()
    return float(extent.width), float(extent.height)


def write(ax: Any, box: Box, text: str, **style: Any) -> Any:
    """Write a text into a box of pixels that has its size."""
    x, y = ax.transAxes.inverted().transform(((box[0] + box[2]) / 2, (box[1] + box[3]) / 2))
    place: dict[str, Any] = {"ha": "center", "va": "center", "transform": ax.transAxes}
    return ax.text(x, y, text, **place, **style)


def _patches(container: Any) -> list[Any]:
    return list(getattr(container, "patches", ()))


def _extent(artist: Any) -> Box:
    box = artist.get_window_extent()
    return float(box.x0), float(box.y0), float(box.x1), float(box.y1)
