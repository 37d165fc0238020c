"""Drawing for figures: one style at printed size, means with bands over seeds, theory dashed, and
a caption that says what was drawn.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from cycler import cycler

from jaxtheory.engine.results.statistics import BEHIND, OF_SEEDS, average
from jaxtheory.engine.results.statistics import counted as counted
from jaxtheory.engine.results.statistics import share as share
from jaxtheory.engine.results.statistics import slope as slope
from jaxtheory.plotting.captions import Drawn, bare, broken, notes
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

COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#8C6D46",
)  # Okabe and Ito, safe for color-blind readers; brown for their black, which is theory's
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
WIDTH = 6.7  # inches, 17 cm: the text of a page
FEW = 5  # seeds; with fewer, single runs are drawn and no band
TEXT, HEADING, TITLE, SMALL = 7.0, 7.5, 9.0, 6.5  # points, at printed size
MANY = 1e5  # from which on a number in a cell is written with a power of ten
LETTER = 0.56 / 72  # inches: the width of a letter, per point
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
    "axes.prop_cycle": cycler(color=COLOURS),
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
    """A figure with a row-major array of axes [rows, columns] in the common style, at most 17 cm
    wide; on paper a row has `across` panels at most (two of four, else three). width, height: of a
    panel in inches, where there is room.
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
    """Inches of a panel with its labels: width, height."""
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
    """Mean over `seed` against the dimension x, with a band of two standard errors, cut to the
    range of the runs; with seeds=True, or fewer than 5 of them, a thin line per seed instead.

    Runs that are NaN throughout are left out; the caption says how many. Points whose mean leaves
    out runs have open marks, with the number that is left.
    """
    values = values.squeeze(drop=True) if values.ndim > 2 else values
    if "seed" not in values.dims:
        values = values.expand_dims("seed")
    lost = int(values.isnull().all([d for d in values.dims if d != "seed"]).sum())
    found, at = average(values), values[x].values
    few = len(at) <= 20 if markers is None else markers
    shade = COLOURS[color % len(COLOURS)]
    (line,) = ax.plot(
        at,
        found.mean.transpose(x).values,
        color=shade,
        marker=MARKERS[color % len(MARKERS)] if few else None,
        markersize=3.2,
        label=label or None,
    )
    marks: Any = ax.xaxis.get_major_locator()
    if at.dtype.kind in "iu" and type(marks).__name__ == "AutoLocator":
        marks.set_params(integer=True)
    n = found.n.transpose(x).values
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
        low = np.fmax(found.mean - 2 * found.error, kept.min("seed")).values
        high = np.fmin(found.mean + 2 * found.error, kept.max("seed")).values
        shadow = ax.fill_between(at, low, high, color=shade, alpha=0.2, linewidth=0)
        notes(ax).append(Drawn("shadow", label, shadow))
    note = Drawn("runs" if single else "mean", label, line, low, high, _least_and_most(n))
    of = values.sizes["seed"]
    notes(ax).append(note._replace(lost=lost, of=of, seeds=of, counts=n))
    mark_points(ax, line, n, of)


def theory(
    ax: Axes, x: Any, y: Any, label: str, *, color: int | None = None, says: str = ""
) -> None:
    """A theory's curve, dashed and black (color: that of the runs it belongs to, where there are
    several); a constant y spans the panel. says: what it is, for the caption, if not the label.
    """
    _ruled(ax, x, y, label, "theory", {"color": color, "says": says or label})


def reference(
    ax: Axes, x: Any, y: Any, label: str = "", *, color: int | None = None, says: str = ""
) -> None:
    """A line to compare with that is no theory (equality, another method), dotted; as `theory`."""
    _ruled(ax, x, y, label, "reference", {"color": color, "says": says or label})


def _ruled(ax: Axes, x: Any, y: Any, label: str, kind: str, how: dict[str, Any]) -> None:
    style: dict[str, Any] = {
        "linestyle": "--" if kind == "theory" else ":",
        "color": "black" if how["color"] is None else COLOURS[how["color"] % len(COLOURS)],
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
    """A phase diagram: one cell per pair of axis values, written with its number where there is
    room, averaged over `seed` if it has one. Each cell is hatched in proportion to the runs that
    its mean leaves out, as they have no value, with the number that is left; one without a value
    is hatched whole.

    span: where the colors begin and end; the color bar ends at the data. Values that are made of
    means say by `counted` how many runs are behind each.
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
    word = lambda v: f"{v:.{digits}f}" if abs(v) < MANY else f"{v:.{digits + 1}g}"
    words = np.array([[word(v) for v in row] for row in table.values.tolist()], object)
    write_cells(ax, picture, words, counts, seeds, cell_room(ax, rows, columns))
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
    """Of the numbers of runs behind means, where there is one."""
    some = counts[counts > 0]
    return (int(some.min()), int(some.max())) if some.size else (0, 0)


def bars(
    ax: Axes,
    at: np.ndarray,
    values: xr.DataArray,
    width: float,
    label: str = "",
    *,
    color: int = 0,
) -> None:
    """Bars of the means over `seed` of values [seed, another dimension], at these places, each
    hatched in proportion to the runs that its mean leaves out, with the number that is left.
    """
    found, seeds = average(values), values.sizes["seed"]
    shade = COLOURS[color % len(COLOURS)]
    drawn = ax.bar(at, found.mean.values, width, color=shade, label=label or None)
    n = found.n.values
    note = Drawn("bars", label, drawn, n=_least_and_most(n), seeds=seeds, counts=n)
    notes(ax).append(note)
    mark_bars(ax, drawn, n, seeds)


def cell_room(ax: Axes, rows: int, columns: int) -> tuple[float, float]:
    """Inches of a cell of a panel: width, height."""
    width, height = room(ax)
    return (width - 1.2) / columns, (height - 0.7) / rows


def color_bar(ax: Axes, picture: Any, label: str = "") -> None:
    """The color bar of a picture, which ends at its data; an arrow where the colors end first."""
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
    """The line around the cells of a `heat` where `inside` holds, dashed as theory is, or solid
    where it was measured. says: what it is, for the caption.
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
    """The fitted exponent of values [seed, x] in x and two standard errors over the seeds, in
    words: "slope −0.49 ± 0.02".
    """
    kept = values.where((values > 0) & np.isfinite(values)).dropna(x, how="any")
    if kept.sizes[x] < 2:
        return "no slope"
    found = average(slope(kept, x))
    error = 2 * float(found.error)
    digits = 3 if error < 0.005 else 2
    text = f"slope {float(found.mean):.{digits}f}".replace("-", "−")
    return text + (f" ± {error:.{digits}f}" if np.isfinite(error) else "")


def finish(
    ax: Axes, x: str, y: str, title: str = "", *, legend: bool = True, **scales: str
) -> None:
    """Axis labels (with units where there are any), title, legend; scales: xscale="log",
    yscale="log".
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
    """Marks of a logarithmic axis as 0.2, not as 2 x 10^-1, where all of them are short."""
    from matplotlib.ticker import LogFormatterSciNotation

    class Plain(LogFormatterSciNotation):
        def __call__(self, x: float, pos: Any = None) -> str:
            low, high = sorted(axis.get_view_interval())
            text: str = super().__call__(x, pos)
            return f"{x:g}" if text and low > 5e-4 and high < 5e4 else text

    axis.set_major_formatter(Plain())
    axis.set_minor_formatter(Plain(labelOnlyBase=False, minor_thresholds=(1, 0.4)))


def ticks(axis: Any, values: Any, labels: Any = None) -> None:
    """Marks of an axis (ax.xaxis, ax.yaxis) at these values alone, with these labels."""
    shown = [f"{v:g}" for v in values] if labels is None else [str(v) for v in labels]
    axis.set_ticks(list(values), shown)
    axis.set_ticks([], minor=True)


def legend_below(figure: Figure, *axes: Axes, titles: Sequence[str] = ()) -> None:
    """One legend for all panels, that of these axes, below them; each label once. Two titles make
    it two legends side by side, for panels whose colors mean different things.
    """
    groups = list(zip(axes, strict=True)) if titles else [axes]
    sides = ("left", "right") if titles else ("center",)
    places: list[Any] = [f"outside lower {side}" for side in sides]
    import matplotlib

    heights = []
    for group, place, title in zip(groups, places, titles or ("",), strict=True):
        found: dict[str, Any] = {}
        for ax in group:
            handles, labels = ax.get_legend_handles_labels()
            found = dict(zip(labels, handles, strict=True)) | found
        width = max((len(bare(label)) for label in found), default=1) * LETTER * SMALL + 0.45
        columns = int(figure.get_figwidth() / len(groups) / width)
        with matplotlib.rc_context(STYLE):
            legend = figure.legend(
                *(list(found.values()), list(found)),
                loc=place,
                ncols=min(len(found), max(1, columns)) or 1,
                title=title or None,
            )
        heights.append(legend.get_tightbbox().height / figure.dpi)
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + max(heights))
