"""Curves over phase diagrams, and the phase diagram of a search for boundaries."""

from typing import Any, Literal

import numpy as np
import xarray as xr

from jaxtheory.engine.results.labeled import takes_labeled
from jaxtheory.engine.results.statistics import average
from jaxtheory.plotting.annotation.captions import Drawn, notes
from jaxtheory.plotting.heat import heat
from jaxtheory.plotting.panels import Axes


@takes_labeled
def over_heat(
    ax: Axes,
    values: xr.DataArray,
    x: str,
    rows: Any,
    says: str,
    *,
    measured: bool = False,
    scale: Literal["log", "linear"] = "log",
) -> None:
    """Draw a curve over a `heat`, for instance the boundary of its phases, in place of its numbers.

    Args:
        ax: The panel of the heat map.
        values: An array over x and, optionally, "seed", over whose finite entries it is averaged,
            in logarithms with scale="log".
        x: The dimension along the horizontal axis.
        rows: The ascending values of the rows of the heat map. Between the middles of two rows the
            curve is interpolated; where it is beyond the first or the last it is left out.
        says: The description of the curve in the caption.
        measured: True draws a solid line, for a measured curve; False a dashed one, for theory.
        scale: "log" or "linear": how the rows are spaced.

    Example:
        >>> import xarray as xr
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> coords = {"eta": [0.1, 1.0, 10.0], "D": [2, 4]}
        >>> cells = xr.DataArray([[1, 1], [1, 0], [0, 0]], coords)
        >>> figure = plot.heat(axes[0, 0], cells, "D", "eta")
        >>> law = xr.DataArray([2.0, 0.5], {"D": [2, 4]})
        >>> plot.over_heat(axes[0, 0], law, "D", [0.1, 1.0, 10.0], "law")
        >>> [round(float(y), 2) for y in axes[0, 0].lines[-1].get_ydata()]
        [1.8, 1.2]
    """
    spaced: Any = np.log if scale == "log" else lambda numbers: numbers
    table, levels = spaced(values.astype(float)), spaced(np.asarray(rows, float))
    means = average(table).mean if "seed" in table.dims else table
    at = means.transpose(x).values
    height = np.interp(at, levels, np.arange(len(levels)) + 0.5)
    height = np.where((at < levels[0]) | (at > levels[-1]), np.nan, height)
    for color, width in (("white", 3.2), ("black", 1.6)):
        style = "-" if measured or color == "white" else (0, (3, 1.2))
        places = np.arange(len(at)) + 0.5
        (line,) = ax.plot(places, height, color=color, linewidth=width, linestyle=style)
        notes(ax).append(Drawn("edge", "", line))
    notes(ax).append(Drawn("outline" if measured else "boundary", says, line))
    for text in [*ax.texts]:  # a number under a line cannot be read
        text.remove()


@takes_labeled
def phases(ax: Axes, result: xr.Dataset, x: str, label: str = "") -> None:
    """Draw the phase diagram of a result of `jaxtheory.boundary`.

    Cells show the share of the seeds that have the property at the values of the first round. The
    solid line is the boundary as measured, a mean over the seeds, and the dashed one the law.

    Args:
        ax: The panel to draw into.
        result: The result, with one dimension of points beside "seed".
        x: This dimension, along the horizontal axis.
        label: The label of the color bar, by default "share of the seeds".

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import nearest_neighbor
        >>> found = jaxtheory.boundary(
        ...     nearest_neighbor, nearest_neighbor.Config(num_prompts=64), along="eta",
        ...     between=(0.1, 100), when=jaxtheory.below("loss", 0.2), over={"sigma": [0.0, 1.0]},
        ...     law=lambda problem, config: 10.0, seeds=2, steps=30, tolerance=0.2,
        ... )
        >>> figure, axes = jaxtheory.plot.panels()
        >>> jaxtheory.plot.phases(axes[0, 0], found, "mask")
        >>> jaxtheory.plot.caption(figure)
        'Cells: means over n = 2 seeds. Dashed line: law. Solid line: mean boundary.'
    """
    y, scale = str(result["holds"].dims[-1]), result.attrs["scale"]
    short = [float(f"{v:.2g}") for v in result[y].values]
    shares = result["holds"].astype(float).assign_coords({y: short})
    heat(ax, shares, x, y, label=label or "share of the seeds", vmin=0, vmax=1)
    rows = result[y].values
    says = "mean boundary"
    over_heat(ax, result["boundary"], x, rows, says, measured=True, scale=scale)
    if "law" in result:
        over_heat(ax, result["law"], x, rows, "law", scale=scale)
