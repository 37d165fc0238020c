"""How far apart two colors are for all readers: CIE 1976, also for those who see no green."""

import itertools
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from jaxtheory.plotting.panels import COLORS

# linear RGB as a deuteranope sees it (Machado, Oliveira, Fernandes 2009, severity 1)
DEUTERANOPE = np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]])
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
APART = 20.0


def lab(color: Any, sight: np.ndarray) -> np.ndarray:
    """The coordinates L*, a*, b* of a color, for whom the linear map `sight` is."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(XYZ @ np.clip(sight @ linear, 1e-6, 1) / XYZ.sum(1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(first: Any, second: Any) -> float:
    """The least distance of two colors, for readers who see green or do not."""
    gaps = (lab(first, sight) - lab(second, sight) for sight in (np.eye(3), DEUTERANOPE))
    return min(float(np.linalg.norm(gap)) for gap in gaps)


def alike(ax: Any) -> list[str]:
    """Pairs of named lines of a panel that differ in nothing but colors that are hard to tell.

    Those in the order of an axis have colors of the same order, and are not asked.
    """
    palette = [to_rgb(color) for color in COLORS]
    named = [
        line
        for line in ax.lines
        if not str(line.get_label()).startswith("_") and to_rgb(line.get_color()) in palette
    ]
    look = lambda line: (str(line.get_marker()), str(line.get_linestyle()))
    return [
        f"{a.get_label()} and {b.get_label()}"
        for a, b in itertools.combinations(named, 2)
        if look(a) == look(b)
        and to_rgb(a.get_color()) != to_rgb(b.get_color())
        and distance(a.get_color(), b.get_color()) < APART
    ]
