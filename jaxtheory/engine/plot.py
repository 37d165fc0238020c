"""Drawing for figures: one style, means with bands over seeds, theory as dashed lines, and the
number of excluded runs always shown.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from cycler import cycler

from jaxtheory.engine.statistics import average
from jaxtheory.engine.statistics import share as share
from jaxtheory.engine.statistics import slope as slope

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
    "#000000",
)  # Okabe and Ito: safe for colour-blind readers
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.5,
    "axes.prop_cycle": cycler(color=COLOURS),
}


def panels(
    columns: int = 1, rows: int = 1, *, title: str = "", width: float = 3.6, height: float = 2.8
) -> tuple[Figure, np.ndarray]:
    """A figure with a row-major array of axes [rows, columns] in the common style."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
    if title:
        figure.suptitle(title, fontsize=10)
    return figure, axes


def series(
    ax: Axes,
    values: xr.DataArray,
    x: str,
    label: str = "",
    *,
    colour: int = 0,
    seeds: bool = False,
    markers: bool | None = None,
) -> None:
    """Mean over `seed` against the dimension x, with a band of two standard errors (seeds=True: a
    thin line per seed instead).

    Runs that are NaN throughout are left out; the legend then says how many.
    """
    values = values.squeeze(drop=True) if values.ndim > 2 else values
    if "seed" not in values.dims:
        values = values.expand_dims("seed")
    lost = int(values.isnull().all([d for d in values.dims if d != "seed"]).sum())
    found = average(values)
    at = values[x].values
    few = len(at) <= 20 if markers is None else markers
    text = label + (f" ({lost} of {values.sizes['seed']} excluded)" if lost else "")
    style: dict[str, Any] = {
        "color": COLOURS[colour % len(COLOURS)],
        "marker": MARKERS[colour % len(MARKERS)] if few else None,
        "markersize": 4,
    }
    ax.plot(at, found.mean.transpose(x).values, label=text or None, **style)
    if seeds:
        for seed in range(values.sizes["seed"]):
            ax.plot(
                at, values.isel(seed=seed).values, color=style["color"], alpha=0.25, linewidth=0.6
            )
    elif values.sizes["seed"] > 1:
        low, high = found.mean - 2 * found.error, found.mean + 2 * found.error
        ax.fill_between(at, low.values, high.values, color=style["color"], alpha=0.2, linewidth=0)


def theory(ax: Axes, x: Any, y: Any, label: str, *, colour: int | None = None) -> None:
    """A theory's curve, dashed; a constant y spans the panel."""
    shade = "#333333" if colour is None else COLOURS[colour % len(COLOURS)]
    if np.ndim(y) == 0:
        ax.axhline(float(y), linestyle="--", color=shade, linewidth=1.2, label=label)
    else:
        ax.plot(
            np.asarray(x), np.asarray(y), linestyle="--", color=shade, linewidth=1.2, label=label
        )


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
    """A phase diagram: one cell per pair of axis values, written with its number; NaN cells stay
    blank.
    """
    table = values.transpose(y, x)
    picture = ax.pcolormesh(
        np.arange(table.sizes[x] + 1),
        np.arange(table.sizes[y] + 1),
        table.values,
        cmap="cividis",
        vmin=span[0],
        vmax=span[1],
    )
    low, high = picture.get_clim()
    for i in range(table.sizes[y]):
        for j in range(table.sizes[x]):
            value = float(table.values[i, j])
            if np.isfinite(value):
                dark = (value - low) < 0.55 * (high - low)
                ax.text(
                    j + 0.5,
                    i + 0.5,
                    f"{value:.{digits}f}",
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="white" if dark else "black",
                )
    ax.set_xticks(
        np.arange(table.sizes[x]) + 0.5,
        [f"{v:g}" if not isinstance(v, str) else v for v in table[x].values],
    )
    ax.set_yticks(
        np.arange(table.sizes[y]) + 0.5,
        [f"{v:g}" if not isinstance(v, str) else v for v in table[y].values],
    )
    ax.grid(False)
    ax.figure.colorbar(picture, ax=ax, label=label)


def finish(
    ax: Axes, x: str, y: str, title: str = "", *, legend: bool = True, **scales: str
) -> None:
    """Axis labels (with units where there are any), title, legend; scales: xscale="log",
    yscale="log".
    """
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.set_title(title)
    for name, scale in scales.items():
        getattr(ax, f"set_{name}")(scale)
    if legend and ax.get_legend_handles_labels()[0]:
        import matplotlib

        with matplotlib.rc_context(STYLE):
            ax.legend()


def ticks(axis: Any, values: Any, labels: Any = None) -> None:
    """Marks of an axis (ax.xaxis, ax.yaxis) at these values alone, with these labels."""
    shown = [f"{v:g}" for v in values] if labels is None else [str(v) for v in labels]
    axis.set_ticks(list(values), shown)
    axis.set_ticks([], minor=True)


def legend_below(figure: Figure, ax: Axes) -> None:
    """One legend for all panels, that of `ax`, below them."""
    columns = max(1, int(figure.get_figwidth() / 1.75))
    import matplotlib

    with matplotlib.rc_context(STYLE):
        figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=columns)
