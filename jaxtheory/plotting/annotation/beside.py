"""Names beside the curves of a panel, in place of a legend."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jaxtheory.plotting.annotation.places import Box, Obstacles, size_of, write
from jaxtheory.plotting.annotation.sizes import SMALL, points

MOST = 4  # curves of a panel that have names beside them; more have a legend
LEGENDS = "_jaxtheory_legends"  # of a figure: the panels of each legend below it
_CONTRAST = 4.5  # of the letters of a name on white, at least
_GAP, _TRIED = 2.5, 60  # points between a name and its curve; places along it
_LONG = 24  # letters; longer names have two lines
_WIDENED, _MORE = 5, 0.1  # times that an axis is made longer for a legend, and by which share
_PANELS = 2  # over which the names of one legend are spread at most
_SIDES = [(right, up) for right in (-1.0, -0.5, 0.0) for up in (-1.0, -0.5, 0.0)]


def name_curves(figure: Any) -> None:
    """Write at most four names of a legend beside their curves, and remove the legend.

    The names of a legend below all panels stand in the first panel where all fit, or else each in
    the first where it fits. A legend stays if one of its names has no free place that is nearer to
    its curve than to the others, or if they would be spread over more than two panels. A legend
    with a title stays too, as the title says what the names are.

    Args:
        figure: A figure whose panels have their final size.
    """
    for legend, panels in figure.__dict__.pop(LEGENDS, ()):
        all_panels = [*panels, *(ax for ax in figure.axes if ax not in panels)]
        if any(_named(legend, [ax]) for ax in all_panels) or _named(legend, all_panels):
            width, height = figure.get_size_inches()
            figure.set_size_inches(width, height - legend.get_tightbbox().height / figure.dpi)
            legend.remove()
    for ax in figure.axes:
        legend = ax.get_legend()
        if legend is not None and _named(legend, [ax]):
            legend.remove()


def _named(legend: Any, panels: Sequence[Any]) -> bool:
    """Write the names of a legend beside the curves of panels; False if they do not fit."""
    names = [text.get_text() for text in legend.get_texts()]
    if legend.get_title().get_text() or not 1 < len(names) <= MOST:
        return False
    placements: dict[str, tuple[Any, Any, Box]] = {}
    for ax in panels:
        handles, labels = ax.get_legend_handles_labels()
        line_of = dict(zip(reversed(labels), reversed(handles), strict=True))
        candidates = [name for name in names if name in line_of and name not in placements]
        candidates = [name for name in candidates if hasattr(line_of[name], "get_xydata")]
        obstacles = Obstacles(ax)
        curves = {id(line) for line in handles}
        for name in candidates:
            size = size_of(ax, _lines(name), points(SMALL))
            best = min(_free(obstacles, id(line_of[name]), size, curves), default=None)
            if best is not None:
                placements[name] = (ax, line_of[name], best[1])
                obstacles.boxes.append(best[1])
    if len(placements) < len(names) or len({id(ax) for ax, _, _ in placements.values()}) > _PANELS:
        return False
    style: dict[str, Any] = {"fontsize": points(SMALL), "linespacing": 1.0}
    for name, (ax, line, box) in placements.items():
        write(ax, box, _lines(name), color=darkened(line.get_color()), **style)
    return True


def clear_legends(figure: Any) -> None:
    """Widen the vertical axis of a panel whose legend covers a curve, until it covers none.

    Figures whose panels share the numbers along an axis stay as they are.

    Args:
        figure: A figure whose panels have their final size.
    """
    panels = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    if all(ax.yaxis.get_tick_params().get("labelleft", True) for ax in panels):
        for ax in panels:
            legend = ax.get_legend()
            for _ in range(_WIDENED if legend else 0):
                if not _covers(ax, legend):
                    break
                _widen(ax, legend)


def _covers(ax: Any, legend: Any) -> bool:
    """True if a legend covers a point of a curve."""
    obstacles, box = Obstacles(ax), legend.get_window_extent()
    obstacles.boxes.clear()
    return bool(obstacles.covered((box.x0, box.y0, box.x1, box.y1)))


def _widen(ax: Any, legend: Any) -> None:
    """Move the end of the vertical axis that a legend is near to."""
    box, frame, scale = legend.get_window_extent(), ax.get_window_extent(), ax.yaxis.get_transform()
    low, high = (float(end) for end in scale.transform(np.asarray(ax.get_ylim())))
    more = _MORE * (high - low)
    above = box.y0 + box.y1 > frame.y0 + frame.y1
    ends = np.asarray([low, high + more] if above else [low - more, high])
    ax.set_ylim(*(float(end) for end in scale.inverted().transform(ends)))


def _lines(name: str) -> str:
    """Return a name in two lines if it is long."""
    return name.replace(", ", ",\n", 1) if len(name) > _LONG else name


def _free(
    obstacles: Obstacles, curve: int, size: tuple[float, float], curves: set[int]
) -> Iterator[tuple[float, Box]]:
    """Yield free boxes beside a curve with their costs: far from its right end, near others."""
    points, gap, (wide, high) = obstacles.points.get(curve, ()), _GAP * obstacles.pixel, size
    for k in sorted({*np.linspace(0, len(points) - 1, _TRIED, dtype=int)} if len(points) else ()):
        x, y = points[k]
        for right, up in _SIDES:
            x0 = x + right * wide + gap * (1 + 2 * right)
            y0 = y + up * high + gap * (1 + 2 * up)
            box = (x0, y0, x0 + wide, y0 + high)
            grown = (x0 - gap / 2, y0 - gap / 2, box[2] + gap / 2, box[3] + gap / 2)
            if not obstacles.inside(grown) or obstacles.covered(grown):
                continue
            near, far = obstacles.nearest(box, {curve}), obstacles.nearest(box, curves - {curve})
            if far >= near + gap:
                share = (obstacles.frame[2] - box[2]) / (obstacles.frame[2] - obstacles.frame[0])
                yield share + 3 * gap / far, box


def darkened(color: Any) -> tuple[float, ...]:
    """Return a color, mixed with black until letters in it can be read on white.

    Args:
        color: A color of matplotlib.

    Returns:
        Its red, green and blue parts in [0, 1], with a contrast to white of at least 4.5 after the
        Web Content Accessibility Guidelines.

    Example:
        >>> from jaxtheory.plotting.annotation.beside import darkened
        >>> darkened("black"), darkened("yellow")[0] < 0.6
        ((0.0, 0.0, 0.0), True)
    """
    from matplotlib.colors import to_rgb

    rgb = np.asarray(to_rgb(color))
    while _contrast(rgb) < _CONTRAST:
        rgb = rgb * 0.95
    return tuple(float(part) for part in rgb)


def _contrast(rgb: np.ndarray) -> float:
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return 1.05 / (float(linear @ [0.2126, 0.7152, 0.0722]) + 0.05)
