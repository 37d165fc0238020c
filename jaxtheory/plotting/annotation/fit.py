"""Numbers and names of cells are left out if they do not fit at the final size of a drawing."""

from typing import Any

import numpy as np

CELL = "cell"  # the id of the number in a cell


def fit(figure: Any) -> None:
    """Leave out the numbers of a heat map if one is wider than its cell, and names that touch.

    Args:
        figure: A figure whose panels have their final size.

    Example:
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxtheory import plot
        >>> from jaxtheory.plotting.annotation.fit import fit
        >>> wide = xr.DataArray(np.ones((2, 40)), dims=("y", "x"), coords={"x": range(40)})
        >>> figure = plot.heat(None, wide.assign_coords(y=[0, 1]), "x", "y", digits=3)
        >>> figure.draw_without_rendering()
        >>> fit(figure)
        >>> len(figure.axes[0].texts)
        0
    """
    for ax in figure.axes:
        numbers = [text for text in ax.texts if text.get_gid() == CELL]
        if numbers:
            corners = ax.transData.transform([(0, 0), (1, 1)])
            cell = abs(corners[1] - corners[0])
            boxes = [text.get_window_extent() for text in numbers]
            if any(box.width > cell[0] or box.height > cell[1] for box in boxes):
                for text in numbers:
                    text.remove()
        if any(getattr(part, "colorbar", None) for part in ax.collections):
            _thin(ax.xaxis, 0)
            _thin(ax.yaxis, 1)


def _thin(axis: Any, side: int) -> None:
    """Leave out names of ticks, evenly, until none touches the next; slanted names have room."""
    labels = axis.get_ticklabels()
    places = axis.get_ticklocs()
    if len(labels) < 2 or labels[0].get_rotation() not in (0, 90):
        return
    ends = np.array([text.get_window_extent().get_points()[:, side] for text in labels])
    stride = 1
    while len(shown := ends[::stride]) > 1 and (shown[1:, 0] < shown[:-1, 1]).any():
        stride += 1
    if stride > 1:
        axis.set_ticks(places[::stride], [text.get_text() for text in labels[::stride]])
