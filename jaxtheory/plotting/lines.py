"""Lines and bars: means over seeds with their bands, and curves to compare them with."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from jaxtheory.engine.results.labeled import takes_labeled
from jaxtheory.engine.results.statistics import average
from jaxtheory.plotting.annotation.captions import Drawn, notes
from jaxtheory.plotting.annotation.marks import least_and_most, mark_bars, mark_points
from jaxtheory.plotting.colors import color_bar, colored_by, normalized
from jaxtheory.plotting.entries import select
from jaxtheory.plotting.panels import COLORS, FEW, Axes, Figure, figure_of, look, placed, shades
from jaxtheory.texts.errors import InputError

_GRAY = "#444444"
_SPACING, _SHIFT = 0.3, 0.07  # of a panel's diagonal, between marks along a line of many points


@takes_labeled
def series(
    ax: Axes,
    values: xr.DataArray,
    x: str,
    label: str = "",
    *,
    color: int | str = 0,
    seeds: bool = False,
    markers: bool | None = None,
    at: Mapping[str, Any] | None = None,
) -> None:
    """Draw the mean over `seed` against a dimension, with a band of two standard errors.

    The band is cut to the range of the runs. Runs that are NaN throughout are left out, and the
    caption says how many they are. Points whose mean leaves out a tenth of the runs behind others
    have open marks with the number of runs that are left. `lines` draws a line for each entry of a
    further dimension.

    Args:
        ax: The panel to draw into.
        values: An array over x and, optionally, "seed". Dimensions of length 1 are dropped.
        x: The dimension along the horizontal axis.
        label: The label of the line in the legend.
        color: The index of the color and the marker, or one of `shades`.
        seeds: True draws a thin line per seed in place of the band, as for fewer than 5 seeds.
        markers: True draws marks at all points, False at a few places along the line, so that
            lines differ without colors; None at all of at most 20 points.
        at: The entry of each further dimension, for instance {"pruner": "wanda"}.

    Raises:
        InputError: The values have a further dimension.

    Example:
        >>> import xarray as xr
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> values = xr.DataArray([[3.0, 2.0, 1.0]] * 6, dims=("seed", "step"))
        >>> plot.series(axes[0, 0], values.assign_coords(step=[0, 1, 2]), "step", "loss")
        >>> plot.caption(figure).partition(";")[0]
        'Lines: means over n = 6 seeds'
    """
    values = _of_seeds(values, (x,), at)
    single = values.sizes["seed"] > 1 and (seeds or bool(average(values).n.max() < FEW))
    style = look(color)
    shade = style["color"]
    has_marks = _has_marks(values, x, markers)
    finite = bool(np.isfinite(average(values).mean).any())
    if not has_marks and finite:  # matplotlib cannot space marks along a line without a point
        shift = 1 + color % 4 if isinstance(color, int) else 1
        style["markevery"] = (_SHIFT * shift, _SPACING)
    line, note = _mean(ax, values, x, label, style)
    places = values[x].values
    if single:
        dot = "." if has_marks else None
        for run in values.transpose("seed", x).values:
            (thin,) = ax.plot(
                places, run, color=shade, alpha=0.35, linewidth=0.5, marker=dot, markersize=2.5
            )
            notes(ax).append(Drawn("run", label, thin))
        note = note._replace(kind="runs")
    elif values.sizes["seed"] > 1:
        low, high = _band(values)
        shadow = ax.fill_between(places, low, high, color=shade, alpha=0.2, linewidth=0)
        notes(ax).append(Drawn("shadow", label, shadow))
        note = note._replace(low=low, high=high)
    notes(ax).append(note)
    mark_points(ax, line, note.counts, note.seeds)


def _band(values: xr.DataArray) -> tuple[Any, Any]:
    """Two standard errors to either side of the mean, cut to the range of the runs."""
    means, runs = average(values), values.where(np.isfinite(values))
    lower: Any = np.fmax(means.mean - 2 * means.error, runs.min("seed"))
    upper: Any = np.fmin(means.mean + 2 * means.error, runs.max("seed"))
    return lower.values, upper.values


def _of_seeds(values: xr.DataArray, dims: tuple[str, ...], at: Any) -> xr.DataArray:
    """Values over these dimensions and "seed"."""
    values = select(values, dims, at)
    return values if "seed" in values.dims else values.expand_dims("seed")


def _has_marks(values: xr.DataArray, x: str, markers: bool | None) -> bool:
    return values.sizes[x] <= 20 if markers is None else markers


def _mean(
    ax: Axes, values: xr.DataArray, x: str, label: str, style: dict[str, Any]
) -> tuple[Any, Drawn]:
    """Draw the mean over seeds as a line; return it and the note that belongs to it."""
    places, means = values[x].values, average(values)
    (line,) = ax.plot(
        places, means.mean.transpose(x).values, markersize=3.2, label=label or None, **style
    )
    marks: Any = ax.xaxis.get_major_locator()
    if places.dtype.kind in "iu" and type(marks).__name__ == "AutoLocator":
        marks.set_params(integer=True)
    lost = int(values.isnull().all([d for d in values.dims if d != "seed"]).sum())
    n, seeds = means.n.transpose(x).values, values.sizes["seed"]
    note = Drawn(
        "mean", label, line, n=least_and_most(n), lost=lost, total=seeds, seeds=seeds, counts=n
    )
    return line, note


@takes_labeled
def lines(
    ax: Axes | None,
    values: xr.DataArray,
    x: str,
    along: str,
    *,
    at: Mapping[str, Any] | None = None,
    label: str = "",
    norm: Any = None,
    vmin: float | None = None,
    vmax: float | None = None,
    width: float | None = None,
) -> Figure:
    """Draw a line for each entry of a dimension: an axis of a sweep, or one of a metric.

    Up to 7 entries are drawn as `series` does, with a legend entry each; numbers in the colors of
    `shades`. More numbers than that, or numbers with a `norm`, give lines in the colors of a color
    bar, without bands.

    Args:
        ax: The panel to draw into; None makes a figure.
        values: An array over x, along and, optionally, "seed".
        x: The dimension along the horizontal axis.
        along: The dimension that has a line for each entry.
        at: The entry of each further dimension, for instance {"pruner": "wanda"}. A list of entries
            of `along` draws these alone.
        label: The label of the color bar, by default the symbol or the name of `along`.
        norm: The scale of the colors: "linear", "log", or a matplotlib Normalize.
        vmin: The number at which the colors begin.
        vmax: The number at which the colors end.
        width: The width of the panel in inches, with its labels and the color bar; None leaves the
            figure as it is. The figure gets this width for each of its columns.

    Returns:
        The figure.

    Raises:
        InputError: The values have a further dimension, there are too many entries for a legend
            that are not numbers, or a logarithmic scale has numbers that are not positive.

    Example:
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxtheory import plot
        >>> coords = {"step": [0, 1], "pruner": ["magnitude", "wanda"]}
        >>> values = xr.DataArray(np.ones((6, 2, 2)), coords, dims=("seed", "step", "pruner"))
        >>> figure = plot.lines(None, values, "step", "pruner", width=3.3)
        >>> figure.axes[0].get_legend_handles_labels()[1]
        ['magnitude', 'wanda']
    """
    values = _of_seeds(values, (x, along), at)
    entries = values[along].values
    numbers = entries.dtype.kind in "iuf"
    name = str(values[along].attrs.get("symbol", along))
    colored = len(entries) > len(COLORS) or (norm, vmin, vmax) != (None, None, None)
    if colored and not numbers:
        raise InputError(
            f"{along} has {len(entries)} entries that are not numbers, and a legend tells "
            f"{len(COLORS)} apart; choose some with at={{{along!r}: [...]}}, without norm"
        )
    curves = [values.isel({along: k}, drop=True) for k in range(len(entries))]
    if not colored:
        ax = placed(ax, width)
        colors: Any = shades(len(entries)) if numbers else range(len(entries))
        for color, entry, one in zip(colors, entries, curves, strict=True):
            series(ax, one, x, f"{name} = {entry:g}" if numbers else str(entry), color=color)
        return figure_of(ax)
    scale = normalized(norm, entries, vmin, vmax)
    ax = placed(ax, width)
    picture = colored_by(scale, entries)
    for entry, one in zip(entries, curves, strict=True):
        marker = "o" if _has_marks(one, x, None) else None
        style: Any = {"color": picture.to_rgba(float(entry)), "marker": marker}
        line, note = _mean(ax, one, x, "", style)
        notes(ax).append(note._replace(label=f"{name} = {entry:g}"))
        mark_points(ax, line, note.counts, note.seeds)
    color_bar(ax, picture, label or name)
    return figure_of(ax)


def theory(
    ax: Axes, x: Any, y: Any, label: str, *, color: int | str | None = None, says: str = ""
) -> None:
    """Draw a curve of the theory as a dashed line.

    Args:
        ax: The panel to draw into.
        x: The values along the horizontal axis; unused for a constant y.
        y: The values of the curve, or a number for a line across the panel.
        label: The label of the line in the legend.
        color: The color of the runs that it belongs to, as there; None draws in black.
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
    ax: Axes, x: Any, y: Any, label: str = "", *, color: int | str | None = None, says: str = ""
) -> None:
    """Draw a dotted line to compare with that is not a theory, such as equality or chance.

    Args:
        ax: The panel to draw into.
        x: The values along the horizontal axis; unused for a constant y.
        y: The values of the curve, or a number for a line across the panel.
        label: The label of the line in the legend.
        color: The index of the color, or one of `shades`; None draws in black.
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
        "color": "black" if how["color"] is None else look(how["color"])["color"],
        "linewidth": 1.0,
        "label": label or None,
    }
    if np.ndim(y) == 0:
        line = ax.axhline(float(y), **style)
    else:
        (line,) = ax.plot(np.asarray(x), np.asarray(y), **style)
    notes(ax).append(Drawn(kind, how["says"], line))


@takes_labeled
def medians(
    ax: Axes, values: xr.DataArray, x: str, label: str = "", *, color: int | str = 0
) -> None:
    """Draw the median over `seed` against a dimension, with a band of the middle half of the runs.

    Args:
        ax: The panel to draw into.
        values: An array over x and "seed".
        x: The dimension along the horizontal axis.
        label: The label of the line in the legend.
        color: The index of the color and the marker, or one of `shades`.

    Example:
        >>> import xarray as xr
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> values = xr.DataArray([[3.0, 2.0, 1.0]] * 6, dims=("seed", "step"))
        >>> plot.medians(axes[0, 0], values.assign_coords(step=[0, 1, 2]), "step")
        >>> plot.caption(figure)
        'Lines: medians over n = 6 seeds; bands: the middle half of the runs.'
    """
    values = values.transpose("seed", x)
    low, middle, high = np.nanquantile(values.values, [0.25, 0.5, 0.75], axis=0)
    style = look(color)
    (line,) = ax.plot(values[x].values, middle, markersize=3.2, label=label or None, **style)
    shadow = ax.fill_between(
        values[x].values, low, high, color=style["color"], alpha=0.2, linewidth=0
    )
    counts, seeds = np.isfinite(values.values).sum(0), values.sizes["seed"]
    note = Drawn("median", label, line, low, high, least_and_most(counts), seeds=seeds)
    notes(ax).extend([note._replace(counts=counts), Drawn("shadow", label, shadow)])


@takes_labeled
def dots(ax: Axes, at: Any, values: xr.DataArray, label: str = "", *, color: int | str = 0) -> None:
    """Draw dots at the means over `seed`, with bars of two standard errors.

    The bars are cut to the range of the runs.

    Args:
        ax: The panel to draw into.
        at: The horizontal places of the dots.
        values: An array over "seed" and one other dimension, of which each value has a dot.
        label: The label of the dots in the legend.
        color: The index of the color and the marker, or one of `shades`.

    Example:
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> values = xr.DataArray(np.ones((4, 2)), dims=("seed", "method"))
        >>> plot.dots(axes[0, 0], np.arange(2), values)
        >>> plot.caption(figure).partition(";")[0]
        'Dots: means over n = 4 seeds'
    """
    style, (low, high) = look(color), _band(values)
    (across,) = (str(dim) for dim in values.dims if dim != "seed")
    named = [name for name, coordinate in values.coords.items() if across in coordinate.dims]
    placed_values = values.drop_vars(named).assign_coords({across: np.asarray(at)})
    line, note = _mean(ax, placed_values, across, label, style | {"linestyle": ""})
    shadow = ax.vlines(np.asarray(at), low, high, color=style["color"], linewidth=1.0)
    notes(ax).extend([note._replace(kind="dots", low=low, high=high), Drawn("shadow", "", shadow)])
    mark_points(ax, line, note.counts, note.seeds)


@takes_labeled
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
    note = Drawn("bars", label, drawn, n=least_and_most(n), seeds=seeds, counts=n)
    notes(ax).append(note)
    mark_bars(ax, drawn, n, seeds)


def law(ax: Axes, fitted: Any) -> str:
    """Draw a fitted power law as a thin gray line over its range, with the band of its exponents.

    A law through values that bend is dotted, and has no band.

    Args:
        ax: The panel to draw into.
        fitted: The result of `claims.fitted_law`.

    Returns:
        Its label, for the values that it was fitted to, which `series` draws.

    Example:
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxtheory import claims, plot
        >>> n = np.array([10.0, 100.0, 1000.0])
        >>> runs = n**-0.5 * np.random.default_rng(0).lognormal(0, 0.02, (8, 3))
        >>> values = xr.DataArray(runs, {"n": n}, ("seed", "n"))
        >>> figure, axes = plot.panels()
        >>> label = plot.law(axes[0, 0], claims.fitted_law(values, "n"))
        >>> plot.series(axes[0, 0], values, "n", f"runs, {label}")
        >>> axes[0, 0].get_legend_handles_labels()[1]
        ['runs, exponent −0.50 [−0.51, −0.49]']
    """
    if len(fitted.x):
        kind, dots = ("bent", ":") if fitted.straight is False else ("law", "-")
        (line,) = ax.plot(
            fitted.x, fitted.y, color=_GRAY, linestyle=dots, linewidth=0.7, zorder=1.9
        )
        notes(ax).append(Drawn(kind, fitted.label, line, low=fitted.low, high=fitted.high))
    if np.isfinite(fitted.low).any():
        style: Any = {"color": _GRAY, "alpha": 0.3, "linewidth": 0, "zorder": 1.8}
        band = ax.fill_between(fitted.x, fitted.low, fitted.high, **style)
        notes(ax).append(Drawn("shadow", "", band))
    label: str = fitted.label
    return label
