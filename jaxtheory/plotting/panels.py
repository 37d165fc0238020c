"""Panels of a figure in one style at printed size: their sizes, labels, ticks and legends."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from cycler import cycler

from jaxtheory.plotting.annotation import sizes
from jaxtheory.plotting.annotation.beside import LEGENDS
from jaxtheory.plotting.annotation.captions import broken, without_markup
from jaxtheory.plotting.annotation.grid import add_panels, layout, share
from jaxtheory.plotting.annotation.sizes import HEADING as HEADING
from jaxtheory.plotting.annotation.sizes import LETTER as LETTER
from jaxtheory.plotting.annotation.sizes import SMALL as SMALL
from jaxtheory.plotting.annotation.sizes import TEXT as TEXT
from jaxtheory.plotting.annotation.sizes import TITLE as TITLE
from jaxtheory.plotting.annotation.sizes import points
from jaxtheory.plotting.annotation.zeros import set_log
from jaxtheory.texts.errors import InputError

if TYPE_CHECKING:  # matplotlib is imported when something is drawn, see `panels`
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:
    Axes = Figure = Any

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
_ORDERED, _LIGHTEST = "viridis", 0.82  # beyond, yellow is hard to see on white
WIDTH = 6.7  # inches, 17 cm: the width of the text on a page
FEW = 5  # seeds; with fewer, single runs are drawn and no band
MANY = 1e5  # a number in a cell is written with a power of ten from here on
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
    figure_width: float | None = None,
) -> tuple[Figure, np.ndarray]:
    """Make a figure with panels in the common style.

    Args:
        columns: The number of columns of the array of axes.
        rows: The number of rows of the array of axes.
        title: The title of the figure.
        width: The width of a panel in inches, where there is room.
        height: The height of a panel in inches, where there is room.
        across: The largest number of panels side by side on paper; 0 means two for four columns,
            else three. Further columns continue below; the last line is as wide as the others. With
            several rows, rows and columns change places on paper instead, if they fit so.
        figure_width: The width of the figure in inches, with all labels and color bars; None: what
            the panels need, between 4.4 and 6.7 (17 cm).

    Returns:
        The matplotlib figure, and its axes as an object array [rows, columns].

    Raises:
        InputError: `figure_width` is not a width of at least 1 inch.

    Example:
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels(2, title="two panels")
        >>> axes.shape
        (1, 2)
    """
    import matplotlib
    from matplotlib.figure import Figure

    across = sizes.across(columns * rows, across or (2 if columns == 4 else 3))
    paper = sizes.paper()
    inches = paper.width if paper else figure_width
    side_by_side, lines, _ = layout(columns, rows, across)
    width *= side_by_side
    inches = min(WIDTH, max(width, 4.4)) if inches is None else _inches("figure_width", inches)
    tall = min(max(height * inches / width, 2.0), 2.6, 9 / lines)
    with matplotlib.rc_context(sizes.scaled(STYLE)):
        figure = Figure(figsize=(inches, tall * lines), layout="constrained")
        axes = np.asarray(add_panels(figure, columns, rows, across), object)
    for ax in axes:
        ax.tick_params(which="both", labelsize=points(SMALL), width=0.6)
        if paper is None or paper.grid:
            ax.grid(True, alpha=0.25, linewidth=0.5)
    if title:
        write_title(figure, title)
    return figure, axes.reshape(rows, columns)


def shades(count: int) -> list[Any]:
    """Return the colors of an ordered axis, from dark to light, for `color` of the functions here.

    Args:
        count: The number of entries.

    Returns:
        The colors.

    Example:
        >>> from jaxtheory import plot
        >>> plot.shades(2)
        ['#440154', '#86d549']
    """
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(color) for color in colormaps[_ORDERED](np.linspace(0, _LIGHTEST, count))]


def look(color: int | str) -> dict[str, Any]:
    """Return the color and the marker of an index, or a color of `shades` with a round marker."""
    if isinstance(color, str):
        return {"color": color, "marker": "o"}
    return {"color": COLORS[color % len(COLORS)], "marker": MARKERS[color % len(MARKERS)]}


def write_title(figure: Any, title: str) -> None:
    """Write the title of a figure, in lines that it has room for."""
    width, size = figure.get_size_inches()[0], points(TITLE)
    figure.suptitle(broken(title, width, LETTER * size), fontsize=size)


def _inches(name: str, width: Any) -> float:
    """A width. Raises InputError unless it is a number of at least 1 inch."""
    if isinstance(width, bool) or not isinstance(width, int | float) or not 1 <= width < np.inf:
        raise InputError(f"{name} = {width!r}: must be a number of inches in [1, inf)")
    return float(width)


def placed(ax: Axes | None, width: float | None) -> Axes:
    """Return a panel of this width in inches, with its labels and color bar.

    Without a panel a figure is made for it. Otherwise the width of its figure is changed, so that
    all of its columns have this width.
    """
    if ax is None:
        return panels(figure_width=width)[1][0, 0]
    if width is not None:
        figure: Any = ax.figure
        columns = 1 / share(ax)[0]
        figure.set_size_inches(_inches("width", width) * columns, figure.get_figheight())
    return ax


def figure_of(ax: Axes) -> Figure:
    """Return the figure of a panel."""
    figure: Any = ax.get_figure(root=True)
    return figure


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
    figure: Any = ax.figure
    width, height = figure.get_size_inches()
    of_width, of_height = share(ax)
    return float(width) * of_width, float(height) * of_height


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
        **scales: The scales of the axes, such as xscale="log" or yscale="log". An axis whose data
            have no positive number stays linear. A logarithmic axis has no place for points at 0 or
            below; the caption counts them.

    Example:
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> plot.finish(axes[0, 0], "step", "loss", yscale="log")
        >>> axes[0, 0].get_yscale()
        'log'
    """
    width, height = room(ax)
    ax.set_xlabel(broken(x, width - 0.5, LETTER * points(TEXT)))
    ax.set_ylabel(broken(y, height - 0.85, LETTER * points(TEXT)))
    ax.set_title(broken(title, width - 0.3, LETTER * points(HEADING)), fontsize=points(HEADING))
    for name, scale in scales.items():
        if scale == "log" and ax.has_data() and np.isinf(getattr(ax.dataLim, f"minpos{name[0]}")):
            continue
        if scale == "log":
            set_log(ax, name[0])
            plain_numbers(getattr(ax, f"{name[0]}axis"))
        else:
            getattr(ax, f"set_{name}")(scale)
    if legend and ax.get_legend_handles_labels()[0]:
        import matplotlib

        with matplotlib.rc_context(sizes.scaled(STYLE)):
            ax.legend()


def plain_numbers(axis: Any) -> None:
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
            whose colors have different meanings. `add_caption` leaves them as they are.

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
        width = longest * LETTER * points(SMALL) + 0.45
        columns = max(1, int(figure.get_figwidth() / len(groups) / width))
        rows = -(-len(handle_of) // columns)
        with matplotlib.rc_context(sizes.scaled(STYLE)):
            legend: Any = figure.legend(
                *(list(handle_of.values()), list(handle_of)),
                loc=place,
                ncols=-(-len(handle_of) // max(rows, 1)) or 1,
                title=title or None,
            )
        if not titles:  # names beside curves have none
            figure.__dict__.setdefault(LEGENDS, []).append((legend, group))
        heights.append(legend.get_tightbbox().height / figure.dpi)
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + max(heights))
