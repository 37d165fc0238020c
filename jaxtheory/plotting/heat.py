"""Phase diagrams: cells in colors with their numbers, and boundaries between them."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from jaxtheory.engine.results.labeled import takes_labeled
from jaxtheory.engine.results.statistics import BEHIND, OF_SEEDS, average, counted
from jaxtheory.plotting.annotation.captions import Drawn, notes
from jaxtheory.plotting.annotation.marks import least_and_most, mark_cells, write_cells
from jaxtheory.plotting.annotation.sizes import LETTER, SMALL, TEXT, points
from jaxtheory.plotting.colors import color_bar, map_of, normalized
from jaxtheory.plotting.entries import select
from jaxtheory.plotting.panels import MANY, Axes, Figure, figure_of, placed, room

_LINE, _SLANTED = 0.12, 0.15  # inches that the name of a row takes, and one that is aslant


@takes_labeled
def heat(
    ax: Axes | None,
    values: xr.DataArray,
    x: str,
    y: str,
    *,
    at: Mapping[str, Any] | None = None,
    label: str = "",
    digits: int | None = 2,
    norm: Any = None,
    vmin: float | None = None,
    vmax: float | None = None,
    width: float | None = None,
) -> Figure:
    """Draw a phase diagram with one cell per pair of axis values.

    Values are averaged over `seed` if they have this dimension. Cells show their number where there
    is room. Each cell is hatched in proportion to the runs without a value that its mean leaves
    out, and shows how many are left. A cell without a value is hatched whole. Where the names of
    rows or columns have no room, some are left out.

    Args:
        ax: The panel to draw into; None makes a figure.
        values: An array over x, y and, optionally, "seed". Values that are computed from means
            carry the number of runs behind each by `counted`.
        x: The dimension along the horizontal axis.
        y: The dimension along the vertical axis.
        at: The entry of each further dimension, for instance {"pruner": "wanda"}.
        label: The label of the color bar.
        digits: The number of decimals in the cells; None writes no numbers.
        norm: The scale of the colors: "linear", "log", "diverging" for differences, whose colors
            part at 0, a list of the edges of categories, or a Normalize.
        vmin: The value at which the colors begin; the color bar ends at the data.
        vmax: The value at which the colors end.
        width: The width of the panel in inches, with its labels and the color bar; None leaves the
            figure as it is. The figure gets this width for each of its columns.

    Returns:
        The figure.

    Raises:
        InputError: The values have a further dimension, or a logarithmic scale has values that are
            not positive.

    Example:
        >>> import xarray as xr
        >>> from jaxtheory import plot
        >>> coords = {"a": [1, 2], "b": [3, 4]}
        >>> values = xr.DataArray([[0.1, 0.2], [0.3, 0.4]], coords)
        >>> figure = plot.heat(None, values, "a", "b", norm="log", width=3.3)
        >>> [row["value"] for row in plot.numbers(figure)]
        [0.1, 0.3, 0.2, 0.4]
        >>> float(figure.get_figwidth())
        3.3
    """
    values = select(values, (x, y), at)
    if "seed" in values.dims:
        values = counted(average(values).mean, values)
    table = values.transpose(y, x)
    over = values.coords.get(BEHIND)
    seeds = 1 if over is None else int(values.coords[OF_SEEDS])
    rows, columns = table.shape
    scale = normalized(norm, table.values, vmin, vmax)
    ax = placed(ax, width)
    picture = ax.pcolormesh(
        np.arange(columns + 1), np.arange(rows + 1), table.values, cmap=map_of(scale), norm=scale
    )
    empty = ~np.isfinite(table.values)
    counts = np.where(empty, 0, 1 if over is None else over.transpose(y, x).values)
    mark_cells(ax, counts, seeds)
    cell = cell_room(ax, rows, columns)
    if digits is not None:
        least = 10**-digits if norm == "log" else 0.0
        text_of = lambda v: _text(v, digits, least)
        texts = np.array([[text_of(v) for v in row] for row in table.values.tolist()], object)
        write_cells(ax, picture, texts, counts, seeds, cell)
    ax.set_xlim(0, columns)
    ax.set_ylim(0, rows)
    names = [[v if isinstance(v, str) else f"{v:g}" for v in table[d].values] for d in (x, y)]
    _name_columns(ax, names[0], cell[0], numbers=table[x].dtype.kind in "iuf")
    stride = math.ceil(_LINE / cell[1])
    ax.set_yticks(np.arange(rows)[::stride] + 0.5, names[1][::stride])
    ax.grid(False)
    color_bar(ax, picture, label)
    note = Drawn("cells", label, picture, names[0], names[1])
    note = note._replace(lost=int(empty.sum()), total=table.size)
    if over is not None:
        note = note._replace(n=least_and_most(counts), seeds=seeds, counts=counts)
    notes(ax).append(note)
    return figure_of(ax)


def _text(value: float, digits: int, least: float) -> str:
    """A number in a cell: with a power of ten if it is large, or small among such numbers."""
    if least <= abs(value) < MANY:
        return f"{value:.{digits}f}"
    return f"{value:.{digits + (abs(value) >= MANY)}g}"


def _name_columns(ax: Axes, names: list[str], room: float, *, numbers: bool) -> None:
    """Write the names of columns with `room` inches each, aslant if they are wide.

    If they have no room that way either, some are left out, and numbers are written level.
    """
    longest = max(map(len, names)) * LETTER * points(SMALL)
    slanted = longest > 0.95 * room
    stride = math.ceil(_SLANTED / room) if slanted else 1
    if numbers and stride > 1:
        slanted, stride = False, math.ceil((longest + LETTER * points(SMALL)) / room)
    slant: Any = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
    ax.set_xticks(np.arange(len(names))[::stride] + 0.5, names[::stride], **slant)


def cell_room(ax: Axes, rows: int, columns: int) -> tuple[float, float]:
    """Return the size of a cell of a heat map as (width, height) in inches.

    Args:
        ax: The panel of the heat map.
        rows: The number of rows of cells.
        columns: The number of columns of cells.

    Returns:
        The width and the height, after the labels and the color bar have taken their room.

    Example:
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> width, height = plot.cell_room(axes[0, 0], 2, 4)
        >>> round(width, 2), round(height, 2)
        (0.8, 0.95)
    """
    width, height = room(ax)
    larger = points(TEXT) / TEXT
    return (width - 1.2 * larger) / columns, (height - 0.7 * larger) / rows


@takes_labeled
def boundary(
    ax: Axes, inside: xr.DataArray, x: str, y: str, says: str, *, measured: bool = False
) -> None:
    """Draw a line around the cells of a `heat` in which a condition holds.

    Args:
        ax: The panel of the heat map.
        inside: A boolean array over x and y.
        x: The dimension along the horizontal axis.
        y: The dimension along the vertical axis.
        says: The description of the line in the caption.
        measured: True draws a solid line, for a measured boundary; False a dashed one, for theory.

    Example:
        >>> import xarray as xr
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> large = xr.DataArray([[False, True], [False, True]], dims=("y", "x"))
        >>> plot.boundary(axes[0, 0], large, "x", "y", "where x is large")
        >>> plot.caption(figure)
        'Dashed line: where x is large.'
    """
    table = np.pad(inside.transpose(y, x).values.astype(bool), 1, mode="edge")
    edges = [([j, j], [i, i + 1]) for i, j in np.argwhere(table[1:-1, :-1] != table[1:-1, 1:])]
    edges += [([j, j + 1], [i, i]) for i, j in np.argwhere(table[:-1, 1:-1] != table[1:, 1:-1])]
    line = None
    for color, width in (("white", 3.2), ("black", 1.6)):
        for across, up in edges:
            style = "-" if measured or color == "white" else (0, (3, 1.2))
            (line,) = ax.plot(across, up, color=color, linewidth=width, linestyle=style)
            notes(ax).append(Drawn("edge", "", line))
    if line is not None:
        notes(ax).append(Drawn("outline" if measured else "boundary", says, line))
