"""Drawing for figures, in one style at printed size and with a caption of what was drawn.

Means over seeds have bands, curves of the theory are dashed, and marks show where runs have no
value.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from cycler import cycler

from jaxtheory.engine.results.statistics import BEHIND, OF_SEEDS, average
from jaxtheory.engine.results.statistics import counted as counted
from jaxtheory.engine.results.statistics import slope as slope
from jaxtheory.plotting.captions import Drawn, broken, notes, without_markup
from jaxtheory.plotting.captions import add_caption as add_caption
from jaxtheory.plotting.captions import caption as caption
from jaxtheory.plotting.captions import diverged as diverged
from jaxtheory.plotting.captions import numbers as numbers
from jaxtheory.plotting.captions import remark as remark
from jaxtheory.plotting.marks import mark_bars, mark_cells, mark_points, write_cells

if TYPE_CHECKING:  # matplotlib is imported when something is drawn, see `panels`
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Drawing = Figure  # what `draw` of a figure returns
else:
    Axes = Figure = Drawing = Any

COLORS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#8C6D46",
)  # Okabe and Ito, safe for color-blind readers; brown for their black, which is for theory
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
WIDTH = 6.7  # inches, 17 cm: the width of the text on a page
FEW = 5  # seeds; with fewer, single runs are drawn and no band
TEXT, HEADING, TITLE, SMALL = 7.0, 7.5, 9.0, 6.5  # points, at printed size
MANY = 1e5  # a number in a cell is written with a power of ten from here on
LETTER = 0.56 / 72  # inches per point of font size: the width of a letter
STYLE: Any = {
    "font.size": TEXT,
    "axes.titlesize": HEADING,
    "axes.labelsize": TEXT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.titlepad": 4,
    "axes.labelpad": 2,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
    "legend.handlelength": 1.8,
    "legend.labelspacing": 0.3,
    "legend.borderaxespad": 0.3,
    "legend.columnspacing": 1.2,
    "lines.linewidth": 1.2,
    "hatch.linewidth": 0.5,
    "axes.prop_cycle": cycler(color=COLORS),
}


def panels(
    columns: int = 1,
    rows: int = 1,
    *,
    title: str = "",
    width: float = 3.6,
    height: float = 2.8,
    across: int = 0,
) -> tuple[Figure, np.ndarray]:
    """Make a figure with panels in the common style, at most 17 cm wide.

    Args:
        columns: The number of columns of the array of axes.
        rows: The number of rows of the array of axes.
        title: The title of the figure.
        width: The width of a panel in inches, where there is room.
        height: The height of a panel in inches, where there is room.
        across: The largest number of panels side by side on paper; 0 means two for four columns,
            else three. Further columns continue below.

    Returns:
        The matplotlib figure, and its axes as an object array [rows, columns].

    Example:
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels(2, title="two panels")
        >>> axes.shape
        (1, 2)
    """
    import matplotlib
    from matplotlib.figure import Figure

    across = min(columns, across or (2 if columns == 4 else 3))
    down = -(-columns // across)
    whole = min(WIDTH, max(width * across, 4.4))
    tall = min(max(height * whole / (width * across), 2.0), 2.6, 9 / (down * rows))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(whole, tall * down * rows), layout="constrained")
        grid = figure.add_gridspec(down * rows, across)
        places = [
            grid[i * down + j // across, j % across] for i in range(rows) for j in range(columns)
        ]
        axes = np.asarray([figure.add_subplot(place) for place in places], object)
    for ax in axes:
        ax.tick_params(which="both", labelsize=SMALL, width=0.6)
        ax.grid(True, alpha=0.25, linewidth=0.5)
    if title:
        figure.suptitle(broken(title, whole, LETTER * TITLE), fontsize=TITLE)
    return figure, axes.reshape(rows, columns)


def room(ax: Axes) -> tuple[float, float]:
    """Return the size of a panel with its labels as (width, height) in inches.

    Args:
        ax: A panel.

    Returns:
        The width and the height.

    Example:
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> width, height = plot.room(axes[0, 0])
        >>> round(width, 2), round(height, 2)
        (4.4, 2.6)
    """
    width, height = ax.figure.get_size_inches()
    place = ax.get_subplotspec()
    if place is None:
        return float(width), float(height)
    rows, columns, _, _ = place.get_geometry()
    return float(width) / columns, float(height) / rows


def series(
    ax: Axes,
    values: xr.DataArray,
    x: str,
    label: str = "",
    *,
    color: int = 0,
    seeds: bool = False,
    markers: bool | None = None,
) -> None:
    """Draw the mean over `seed` against a dimension, with a band of two standard errors.

    The band is cut to the range of the runs. Runs that are NaN throughout are left out, and the
    caption says how many they are. Points whose mean leaves out runs have open marks with the
    number of runs that are left.

    Args:
        ax: The panel to draw into.
        values: An array over x and, optionally, "seed". Dimensions of length 1 are dropped.
        x: The dimension along the horizontal axis.
        label: The label of the line in the legend.
        color: The index of the color and the marker.
        seeds: True draws a thin line per seed in place of the band, as for fewer than 5 seeds.
        markers: Marks at the points; None draws them for at most 20 points.

    Example:
        >>> import xarray as xr
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> values = xr.DataArray([[3.0, 2.0, 1.0]] * 6, dims=("seed", "step"))
        >>> plot.series(axes[0, 0], values.assign_coords(step=[0, 1, 2]), "step", "loss")
        >>> plot.caption(figure).partition(";")[0]
        'Lines: means over n = 6 seeds'
    """
    values = values.squeeze(drop=True) if values.ndim > 2 else values
    if "seed" not in values.dims:
        values = values.expand_dims("seed")
    lost = int(values.isnull().all([d for d in values.dims if d != "seed"]).sum())
    means, at = average(values), values[x].values
    few = len(at) <= 20 if markers is None else markers
    shade = COLORS[color % len(COLORS)]
    (line,) = ax.plot(
        at,
        means.mean.transpose(x).values,
        color=shade,
        marker=MARKERS[color % len(MARKERS)] if few else None,
        markersize=3.2,
        label=label or None,
    )
    marks: Any = ax.xaxis.get_major_locator()
    if at.dtype.kind in "iu" and type(marks).__name__ == "AutoLocator":
        marks.set_params(integer=True)
    n = means.n.transpose(x).values
    single = values.sizes["seed"] > 1 and (seeds or n.max() < FEW)
    low = high = None
    if single:
        dot = "." if few else None
        for run in values.transpose("seed", x).values:
            (thin,) = ax.plot(
                at, run, color=shade, alpha=0.35, linewidth=0.5, marker=dot, markersize=2.5
            )
            notes(ax).append(Drawn("run", label, thin))
    elif values.sizes["seed"] > 1:
        kept = values.where(np.isfinite(values))
        low = np.fmax(means.mean - 2 * means.error, kept.min("seed")).values
        high = np.fmin(means.mean + 2 * means.error, kept.max("seed")).values
        shadow = ax.fill_between(at, low, high, color=shade, alpha=0.2, linewidth=0)
        notes(ax).append(Drawn("shadow", label, shadow))
    note = Drawn("runs" if single else "mean", label, line, low, high, _least_and_most(n))
    of = values.sizes["seed"]
    notes(ax).append(note._replace(lost=lost, of=of, seeds=of, counts=n))
    mark_points(ax, line, n, of)


def theory(
    ax: Axes, x: Any, y: Any, label: str, *, color: int | None = None, says: str = ""
) -> None:
    """Draw a curve of the theory as a dashed line.

    Args:
        ax: The panel to draw into.
        x: The values along the horizontal axis; unused for a constant y.
        y: The values of the curve, or a number for a line across the panel.
        label: The label of the line in the legend.
        color: The index of the color of the runs that it belongs to; None draws in black.
        says: The description of the line in the caption, by default its label.

    Example:
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> plot.theory(axes[0, 0], [0, 1], [1.0, 0.5], "gradient flow")
        >>> plot.caption(figure)
        'Dashed: gradient flow.'
    """
    _ruled(ax, x, y, label, "theory", {"color": color, "says": says or label})


def reference(
    ax: Axes, x: Any, y: Any, label: str = "", *, color: int | None = None, says: str = ""
) -> None:
    """Draw a dotted line to compare with that is not a theory, such as equality or chance.

    Args:
        ax: The panel to draw into.
        x: The values along the horizontal axis; unused for a constant y.
        y: The values of the curve, or a number for a line across the panel.
        label: The label of the line in the legend.
        color: The index of the color; None draws in black.
        says: The description of the line in the caption, by default its label.

    Example:
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> plot.reference(axes[0, 0], None, 0.5, "chance")
        >>> plot.caption(figure)
        'Dotted: chance.'
    """
    _ruled(ax, x, y, label, "reference", {"color": color, "says": says or label})


def _ruled(ax: Axes, x: Any, y: Any, label: str, kind: str, how: dict[str, Any]) -> None:
    style: dict[str, Any] = {
        "linestyle": "--" if kind == "theory" else ":",
        "color": "black" if how["color"] is None else COLORS[how["color"] % len(COLORS)],
        "linewidth": 1.0,
        "label": label or None,
    }
    if np.ndim(y) == 0:
        line = ax.axhline(float(y), **style)
    else:
        (line,) = ax.plot(np.asarray(x), np.asarray(y), **style)
    notes(ax).append(Drawn(kind, how["says"], line))


def heat(
    ax: Axes,
    values: xr.DataArray,
    x: str,
    y: str,
    *,
    label: str = "",
    digits: int = 2,
    span: Any = (None, None),
) -> None:
    """Draw a phase diagram with one cell per pair of axis values.

    Values are averaged over `seed` if they have this dimension. Cells show their number where there
    is room. Each cell is hatched in proportion to the runs without a value that its mean leaves
    out, and shows how many are left. A cell without a value is hatched whole.

    Args:
        ax: The panel to draw into.
        values: An array over x, y and, optionally, "seed". Values that are computed from means
            carry the number of runs behind each by `counted`.
        x: The dimension along the horizontal axis.
        y: The dimension along the vertical axis.
        label: The label of the color bar.
        digits: The number of decimals in the cells.
        span: The values at which the colors begin and end; the color bar ends at the data.

    Example:
        >>> import xarray as xr
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> coords = {"a": [1, 2], "b": [3, 4]}
        >>> plot.heat(axes[0, 0], xr.DataArray([[0.1, 0.2], [0.3, 0.4]], coords), "a", "b")
        >>> [row["value"] for row in plot.numbers(figure)]
        [0.1, 0.3, 0.2, 0.4]
    """
    if "seed" in values.dims:
        values = counted(average(values).mean, values)
    table = values.transpose(y, x)
    over = values.coords.get(BEHIND)
    seeds = 1 if over is None else int(values.coords[OF_SEEDS])
    rows, columns = table.shape
    picture = ax.pcolormesh(
        np.arange(columns + 1),
        np.arange(rows + 1),
        table.values,
        cmap="cividis",
        vmin=span[0],
        vmax=span[1],
    )
    empty = ~np.isfinite(table.values)
    counts = np.where(empty, 0, 1 if over is None else over.transpose(y, x).values)
    mark_cells(ax, counts, seeds)
    text_of = lambda v: f"{v:.{digits}f}" if abs(v) < MANY else f"{v:.{digits + 1}g}"
    texts = np.array([[text_of(v) for v in row] for row in table.values.tolist()], object)
    write_cells(ax, picture, texts, counts, seeds, cell_room(ax, rows, columns))
    ax.set_xlim(0, columns)
    ax.set_ylim(0, rows)
    names = [[v if isinstance(v, str) else f"{v:g}" for v in table[d].values] for d in (x, y)]
    wide = max(map(len, names[0])) * LETTER * SMALL > 0.95 * (room(ax)[0] - 1.2) / columns
    slant: Any = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if wide else {}
    ax.set_xticks(np.arange(columns) + 0.5, names[0], **slant)
    ax.set_yticks(np.arange(rows) + 0.5, names[1])
    ax.grid(False)
    color_bar(ax, picture, label)
    note = Drawn("cells", label, picture, names[0], names[1])
    note = note._replace(lost=int(empty.sum()), of=table.size)
    if over is not None:
        note = note._replace(n=_least_and_most(counts), seeds=seeds, counts=counts)
    notes(ax).append(note)


def _least_and_most(counts: np.ndarray) -> tuple[int, int]:
    """Return the least and the largest positive count, or (0, 0)."""
    positive = counts[counts > 0]
    return (int(positive.min()), int(positive.max())) if positive.size else (0, 0)


def bars(
    ax: Axes,
    at: np.ndarray,
    values: xr.DataArray,
    width: float,
    label: str = "",
    *,
    color: int = 0,
) -> None:
    """Draw bars of the means over `seed`.

    Each bar is hatched in proportion to the runs without a value that its mean leaves out, and
    shows how many are left.

    Args:
        ax: The panel to draw into.
        at: The horizontal places of the bars.
        values: An array over "seed" and one other dimension, of which each value has a bar.
        width: The width of a bar, in units of the axis.
        label: The label of the bars in the legend.
        color: The index of the color.

    Example:
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> values = xr.DataArray(np.ones((4, 2)), dims=("seed", "method"))
        >>> plot.bars(axes[0, 0], np.arange(2), values, 0.8)
        >>> plot.caption(figure)
        'Bars: means over n = 4 seeds.'
    """
    means, seeds = average(values), values.sizes["seed"]
    shade = COLORS[color % len(COLORS)]
    drawn = ax.bar(at, means.mean.values, width, color=shade, label=label or None)
    n = means.n.values
    note = Drawn("bars", label, drawn, n=_least_and_most(n), seeds=seeds, counts=n)
    notes(ax).append(note)
    mark_bars(ax, drawn, n, seeds)


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
    return (width - 1.2) / columns, (height - 0.7) / rows


def color_bar(ax: Axes, picture: Any, label: str = "") -> None:
    """Add the color bar of a picture, which ends at its data.

    An arrow shows that values lie beyond the ends of the colors.

    Args:
        ax: The panel of the picture.
        picture: The result of `pcolormesh`, `scatter` or `imshow`.
        label: The label of the color bar.

    Example:
        >>> import numpy as np
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> plot.color_bar(axes[0, 0], axes[0, 0].pcolormesh(np.eye(2)), "share")
        >>> len(figure.axes)
        2
    """
    values = np.ma.masked_invalid(picture.get_array()).compressed()
    low, high = picture.get_clim()
    over = "".join("-+"[k] for k, v in enumerate((low, high)) if len(values) and (
        values.min() < v if k == 0 else values.max() > v)
    )  # fmt: skip
    extend: Any = {"": "neither", "-": "min", "+": "max", "-+": "both"}[over]
    drawn = ax.figure.colorbar(picture, ax=ax, extend=extend)
    drawn.set_label(broken(label, room(ax)[1] - 0.85, LETTER * TEXT), size=TEXT)
    drawn.ax.tick_params(labelsize=SMALL, width=0.6)
    drawn.outline.set_linewidth(0.6)
    if len(values) and values.min() < values.max():
        drawn.ax.set_ylim(max(low, values.min()), min(high, values.max()))


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


def slope_label(values: xr.DataArray, x: str) -> str:
    """Return the fitted exponent of a power law as text, with two standard errors over seeds.

    Args:
        values: An array over "seed" and x; only x at which all values are positive count.
        x: The dimension of the power law.

    Returns:
        A label such as "slope −0.49 ± 0.02", or "no slope" for fewer than two points.

    Example:
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxtheory import plot
        >>> n = np.array([10.0, 100.0, 1000.0])
        >>> values = xr.DataArray([n**-0.5, 2 * n**-0.5], dims=("seed", "n"))
        >>> plot.slope_label(values.assign_coords(n=n), "n")
        'slope −0.500 ± 0.000'
    """
    kept = values.where((values > 0) & np.isfinite(values)).dropna(x, how="any")
    if kept.sizes[x] < 2:
        return "no slope"
    exponent = average(slope(kept, x))
    error = 2 * float(exponent.error)
    digits = 3 if error < 0.005 else 2
    text = f"slope {float(exponent.mean):.{digits}f}".replace("-", "−")
    return text + (f" ± {error:.{digits}f}" if np.isfinite(error) else "")


def finish(
    ax: Axes, x: str, y: str, title: str = "", *, legend: bool = True, **scales: str
) -> None:
    """Set the axis labels, the title, the scales and the legend of a panel.

    Args:
        ax: The panel.
        x: The label of the horizontal axis, with its unit if there is one.
        y: The label of the vertical axis, with its unit if there is one.
        title: The title of the panel.
        legend: False leaves out the legend.
        **scales: The scales of the axes, such as xscale="log" or yscale="log".

    Example:
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> plot.finish(axes[0, 0], "step", "loss", yscale="log")
        >>> axes[0, 0].get_yscale()
        'log'
    """
    width, height = room(ax)
    ax.set_xlabel(broken(x, width - 0.5, LETTER * TEXT))
    ax.set_ylabel(broken(y, height - 0.85, LETTER * TEXT))
    ax.set_title(broken(title, width - 0.3, LETTER * HEADING), fontsize=HEADING)
    for name, scale in scales.items():
        getattr(ax, f"set_{name}")(scale)
        if scale == "log":
            _plain_numbers(getattr(ax, f"{name[0]}axis"))
    if legend and ax.get_legend_handles_labels()[0]:
        import matplotlib

        with matplotlib.rc_context(STYLE):
            ax.legend()


def _plain_numbers(axis: Any) -> None:
    """Label a logarithmic axis with 0.2 in place of 2 x 10^-1 if all its numbers are short."""
    from matplotlib.ticker import LogFormatterSciNotation

    class Plain(LogFormatterSciNotation):
        def __call__(self, x: float, pos: Any = None) -> str:
            low, high = sorted(axis.get_view_interval())
            text: str = super().__call__(x, pos)
            return f"{x:g}" if text and low > 5e-4 and high < 5e4 else text

    axis.set_major_formatter(Plain())
    axis.set_minor_formatter(Plain(labelOnlyBase=False, minor_thresholds=(1, 0.4)))


def ticks(axis: Any, values: Any, labels: Any = None) -> None:
    """Set the ticks of an axis at these values alone.

    Args:
        axis: A matplotlib axis, ax.xaxis or ax.yaxis.
        values: The places of the ticks.
        labels: Their labels, by default the values.

    Example:
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> plot.ticks(axes[0, 0].xaxis, [1, 10])
        >>> [label.get_text() for label in axes[0, 0].get_xticklabels()]
        ['1', '10']
    """
    shown = [f"{v:g}" for v in values] if labels is None else [str(v) for v in labels]
    axis.set_ticks(list(values), shown)
    axis.set_ticks([], minor=True)


def legend_below(figure: Figure, *axes: Axes, titles: Sequence[str] = ()) -> None:
    """Draw one legend below all panels, with each label once.

    Args:
        figure: The figure.
        *axes: The panels whose lines the legend lists.
        titles: Two titles, one for each of two panels, draw two legends side by side, for panels
            whose colors have different meanings.

    Example:
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels(2)
        >>> plot.reference(axes[0, 0], None, 0.5, "chance")
        >>> plot.legend_below(figure, axes[0, 0])
        >>> len(figure.legends)
        1
    """
    groups = list(zip(axes, strict=True)) if titles else [axes]
    sides = ("left", "right") if titles else ("center",)
    places: list[Any] = [f"outside lower {side}" for side in sides]
    import matplotlib

    heights = []
    for group, place, title in zip(groups, places, titles or ("",), strict=True):
        handle_of: dict[str, Any] = {}
        for ax in group:
            handles, labels = ax.get_legend_handles_labels()
            handle_of = dict(zip(labels, handles, strict=True)) | handle_of
        longest = max((len(without_markup(label)) for label in handle_of), default=1)
        width = longest * LETTER * SMALL + 0.45
        columns = int(figure.get_figwidth() / len(groups) / width)
        with matplotlib.rc_context(STYLE):
            legend = figure.legend(
                *(list(handle_of.values()), list(handle_of)),
                loc=place,
                ncols=min(len(handle_of), max(1, columns)) or 1,
                title=title or None,
            )
        heights.append(legend.get_tightbbox().height / figure.dpi)
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + max(heights))
