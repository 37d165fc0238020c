"""One picture of a finished sweep, with the predictions of the theory.

A metric is drawn against the step and against one axis, or as a heat map over two axes.
"""

import itertools
import textwrap
from typing import Any

import numpy as np
import xarray as xr

from jaxtheory.engine.results.statistics import average
from jaxtheory.engine.results.summary import at_end, axes_of, curve, curves, final, label
from jaxtheory.plotting import plot
from jaxtheory.texts.errors import InputError, suggest

_LINES = 7  # largest number of values of an axis that are drawn as lines
_STYLES = ("--", "-.", (0, (8, 2)), (0, (2, 2)), (0, (6, 2, 1, 2, 1, 2)))  # of theory curves


def chosen(metrics: list[str], metric: str | None) -> str:
    """Return the metric to draw, by default the first; raise InputError for an unknown one."""
    if not metrics:
        raise InputError("--plot: the theory has no scalar metric to draw")
    if metric is None:
        return metrics[0]
    if metric not in metrics:
        raise InputError(f"--plot: unknown metric {metric!r}; {suggest(metric, metrics)}")
    return metric


def picture(data: xr.Dataset, metric: str) -> Any:
    """Draw the figure of a metric.

    Axes with a single value do not count. Of more than two axes the first two are drawn, at the
    first value of the others.
    """
    axes = axes_of(data)
    wide = [axis for axis in axes if data.sizes[axis] > 1]
    fixed = {axis: 0 for axis in axes if axis not in wide[:2]}
    at = [f"{axis} = {label(data[axis].values[0])}" for axis in fixed if axis in wide]
    shown = data.isel({axis: [0] for axis in fixed})
    name = f"{data.attrs.get('theory', 'sweep')}: {metric}"
    meaning = textwrap.shorten(str(data[metric].attrs.get("long_name", "")), 80, placeholder=" …")
    title = ", ".join([name, *at]) + (f"\n{meaning}" if meaning not in ("", metric) else "")
    drawing = _heats if len(wide) >= 2 else _lines
    figure = drawing(shown, metric, wide[:2], title)
    if lost := plot.diverged(data):
        plot.remark(figure, lost)
    return figure


def _lines(data: xr.Dataset, metric: str, wide: list[str], title: str) -> Any:
    """Draw a line per value of the axis against step, and the last record against the axis."""
    flat = {axis: 0 for axis in axes_of(data) if axis not in wide}
    data = data.isel(flat, drop=True)
    axis = wide[0] if wide else ""
    number = bool(axis) and data[axis].dtype.kind in "if"
    has_steps = data.sizes["step"] > 1
    figure, panels = plot.panels(max(1, has_steps + number), title=title)
    if has_steps or not number:
        _against_step(panels[0, 0], data, metric, axis)
    if number:
        _against_axis(panels[0, -1], data, metric, axis, legend=not has_steps)
    return figure


def _against_step(ax: Any, data: xr.Dataset, metric: str, axis: str) -> None:
    """Draw the metric along training, a line per value of the axis, at most _LINES of them."""
    n = data.sizes[axis] if axis else 1
    slices = [data.isel({axis: i}) if axis else data for i in _spread(n)]
    for color, one in enumerate(slices):
        text = f"{symbol(data, axis)} = {label(one[axis].values[()])}" if axis else metric
        plot.series(ax, one[metric].transpose("seed", "step"), "step", text, color=color)
    for place, one in enumerate(slices):
        predicted = {name: curve(one, metric, name) for name in curves(data, metric)}
        _theory(ax, predicted, "step", named=place == 0)
    title = "" if len(slices) == n else f"{len(slices)} of {n} values of {axis}"
    plot.finish(ax, "step", metric, title, **_scale("y", data[metric].values))


def _against_axis(ax: Any, data: xr.Dataset, metric: str, axis: str, legend: bool) -> None:
    """Draw the metric at the last record against the axis."""
    last = final(data, metric)
    plot.series(ax, last.transpose("seed", axis), axis, metric)
    ends = {n: at_end(data, curve(data, metric, n), metric) for n in curves(data, metric)}
    _theory(ax, ends, axis)
    scales: Any = {**_scale("x", data[axis].values, spaced=True), **_scale("y", last.values)}
    plot.finish(
        ax, _axis_label(data, axis), f"{metric} at the last record", legend=legend, **scales
    )


def _theory(ax: Any, predictions: dict[str, xr.DataArray], x: str, named: bool = True) -> None:
    """Draw the theory's curves against x that have values, each in a different style."""
    for style, (name, values) in zip(itertools.cycle(_STYLES), predictions.items(), strict=False):
        predicted = _over_seeds(values)
        if predicted.dims == (x,) and bool(predicted.notnull().any()):
            text = f"theory {name}".strip()
            plot.theory(ax, predicted[x].values, predicted.values, text * named, says=text)
            ax.lines[-1].set_linestyle(style)


def _axis_label(data: xr.Dataset, axis: str) -> str:
    """Return the label of an axis, with name, symbol and unit."""
    unit, sign = data[axis].attrs.get("units", "1"), symbol(data, axis)
    return axis + f" ({sign})" * (sign != axis) + f" [{unit}]" * (unit != "1")


def _heats(data: xr.Dataset, metric: str, wide: list[str], title: str) -> Any:
    """Draw the mean over seeds of the last record over two axes, and each prediction beside it."""
    flat = {axis: 0 for axis in axes_of(data) if axis not in wide}
    data = data.isel(flat, drop=True)
    maps = {"simulation": final(data, metric)}
    for name in curves(data, metric):
        predicted = _over_seeds(at_end(data, curve(data, metric, name), metric))
        if set(predicted.dims) == set(wide) and bool(predicted.notnull().any()):
            maps[f"theory {name}".strip()] = predicted
    x, y = wide[1], wide[0]
    width = max(3.6, 0.5 * data.sizes[x] + 1.2)
    height = max(2.8, 0.3 * data.sizes[y] + 1)
    figure, panels = plot.panels(len(maps), title=title, width=width, height=height)
    means = [average(values).mean if "seed" in values.dims else values for values in maps.values()]
    numbers = np.concatenate([mean.values.ravel() for mean in means])
    finite = numbers[np.isfinite(numbers)]
    low, high = (finite.min(), finite.max()) if finite.size and np.ptp(finite) else (None, None)
    for ax, (name, values) in zip(panels[0], maps.items(), strict=True):
        plot.heat(ax, values, x, y, label=metric, vmin=low, vmax=high)
        plot.finish(ax, _axis_label(data, x), _axis_label(data, y), name, legend=False)
    return figure


def _over_seeds(values: xr.DataArray) -> xr.DataArray:
    """Average over seeds, as a prediction may depend on the problem of a seed."""
    return values.mean("seed") if "seed" in values.dims else values


def _spread(n: int) -> list[int]:
    """Return up to _LINES evenly spread indices out of n, including both ends."""
    return sorted({round(place) for place in np.linspace(0, n - 1, min(n, _LINES))})


def symbol(data: xr.Dataset, axis: str) -> str:
    """Return the symbol of an axis, or its name."""
    return str(data[axis].attrs.get("symbol", axis))


def _scale(which: str, values: np.ndarray, spaced: bool = False) -> dict[str, Any]:
    """Choose a logarithmic scale for positive numbers that span more than two decades.

    spaced: for the values of an axis, choose it if their ratios are more even than their gaps.
    """
    finite = np.unique(values[np.isfinite(values)])
    if not finite.size or finite[0] <= 0:
        return {}
    if spaced:
        logarithmic = finite.size > 2 and _uneven(np.log(finite)) < _uneven(finite)
    else:
        logarithmic = finite[-1] > 100 * finite[0]
    return {f"{which}scale": "log"} if logarithmic else {}


def _uneven(points: np.ndarray) -> float:
    """Return the standard deviation of the gaps between neighbors over their mean, rounded."""
    gaps = np.diff(points)
    return round(float(np.std(gaps) / np.mean(gaps)), 6)
