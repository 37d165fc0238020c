"""Summary of a finished sweep in a few rows.

It has the last value of each scalar metric over seeds, its difference to the theory's prediction,
and the number of diverged runs.
"""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.engine.results.statistics import average

_ROWS, _COLUMNS = 12, 5
_PREDICTED = "predicted_"
_ROUNDINGS = 8  # of a metric and its curve, up to which they are equal


class Summary(NamedTuple):
    """A table of strings with one row per point of the axes.

    A column `a - b` is metric a less its predicted curve b, "equal" up to rounding. A mean over
    fewer runs than there are seeds is followed by the number of runs. points: number of points, of
    which the rows show some. left_out: metrics without a column. behind: range of the numbers of
    runs behind the means.
    """

    axes: list[str]
    columns: list[str]
    rows: list[list[str]]
    points: int
    left_out: list[str]
    behind: str


def summary(data: xr.Dataset, rows: int = _ROWS, columns: int | None = None) -> Summary:
    """Summarize a sweep as mean ± standard error over the runs that did not diverge.

    Values are those of the last record. A single point gets up to `_ROWS` columns, several points
    up to `_COLUMNS`.
    """
    axes = axes_of(data)
    points = int(np.prod([data.sizes[axis] for axis in axes], dtype=int))
    most = columns or (_ROWS if points == 1 else _COLUMNS)
    table: dict[str, np.ndarray] = {}
    shown = []
    for name in metrics(data):
        gaps = _gaps(data, name)
        if table and len(table) + 1 + len(gaps) > most:
            break
        shown.append(name)
        table[_title(data, name)] = _texts(final(data, name), axes, "0")
        table |= {column: _texts(gap, axes, "equal") for column, gap in gaps.items()}
    lost = data["diverged_at"] >= 0
    if bool(lost.any()) and "seed" in lost.dims:
        counts = lost.sum("seed").transpose(*axes).values.ravel()
        table["diverged"] = np.array([f"{n} of {data.sizes['seed']}" for n in counts])
    places = np.unique(np.linspace(0, points - 1, min(points, rows)).round().astype(int))
    labels = [np.array([label(x) for x in data[axis].values]) for axis in axes]
    grid = [line.ravel() for line in np.meshgrid(*labels, indexing="ij")]
    return Summary(
        axes,
        list(table),
        [[str(column[i]) for column in (*grid, *table.values())] for i in places],
        points,
        [name for name in metrics(data) if name not in shown],
        _behind([final(data, name) for name in shown]),
    )


def _behind(values: list[xr.DataArray]) -> str:
    """Number of runs behind the means, such as `4`, or `1 to 4 of 4` if some runs have no value."""
    seeds = max((array.sizes["seed"] for array in values), default=1)
    counts = np.array([n for array in values for n in average(array).n.values.ravel()] or [seeds])
    low, high = counts[counts > 0].min(initial=seeds), counts.max(initial=0)
    return str(seeds) if low == high == seeds else f"{low} to {high} of {seeds}"


def axes_of(data: xr.Dataset) -> list[str]:
    """Return the names of the axes of a sweep, or of a search for boundaries."""
    runs = data["diverged_at" if "diverged_at" in data else "boundary"]
    return [str(dim) for dim in runs.dims if dim != "seed"]


def metrics(data: xr.Dataset) -> list[str]:
    """Return the scalar metrics, with the dimensions axes, seed and step; the loss is first."""
    dims = {*axes_of(data), "seed", "step"}
    names = [n for n in map(str, data.data_vars) if not n.startswith(_PREDICTED)]
    return sorted((n for n in names if set(data[n].dims) == dims), key=lambda n: n != "loss")


def curves(data: xr.Dataset, metric: str) -> list[str]:
    """Return the labels of the predicted curves of a metric, "" for a curve without a label."""
    prefix, names = _PREDICTED + metric, metrics(data)
    labels = []
    for name in map(str, data.data_vars):
        whose = [m for m in names if f"{name}_".startswith(f"{_PREDICTED}{m}_")]
        if whose and max(whose, key=len) == metric:
            labels.append(name.removeprefix(prefix).removeprefix("_"))
    return labels


def curve(data: xr.Dataset, metric: str, named: str) -> xr.DataArray:
    """Return the predicted curve of a metric with this label."""
    return data[f"{_PREDICTED}{metric}" + (f"_{named}" if named else "")]


def final(data: xr.Dataset, metric: str) -> xr.DataArray:
    """Return a metric at the last record of each run, NaN if the run diverged."""
    return at_end(data, data[metric], metric).where(data["diverged_at"] < 0)


def at_end(data: xr.Dataset, values: xr.DataArray, metric: str) -> xr.DataArray:
    """Return values at the last step at which a metric was recorded.

    If `steps` is an axis, this is the last such step of each point. For a run that a stop rule
    ended it is the step at which it stopped.
    """
    last = _recorded(data, metric)
    if "stopped_at" in data and bool((data["stopped_at"] >= 0).any()):
        ended = data["stopped_at"]
        places = np.maximum(np.searchsorted(last, ended.values, side="right") - 1, 0)
        at = ended.copy(data=last[places])
        stopped = values.sel(step=at).drop_vars("step")
        final_values = at_end(data.drop_vars("stopped_at"), values, metric)
        return xr.where(ended >= 0, stopped, final_values.drop_vars("step", errors="ignore"))
    if "steps" not in data.coords:
        return values.sel(step=last[-1])
    ends = [last[last <= n][-1] if (last <= n).any() else last[0] for n in data["steps"].values]
    picked: xr.DataArray = values.sel(step=data["steps"].copy(data=ends)).drop_vars("step")
    return picked


def _recorded(data: xr.Dataset, metric: str) -> np.ndarray:
    """Steps at which some run has a value of a metric; all steps if no run has one."""
    values = data[metric]
    has_value = values.notnull().any([dim for dim in values.dims if dim != "step"]).values
    steps: np.ndarray = data["step"].values
    return steps[has_value] if has_value.any() else steps


def _title(data: xr.Dataset, metric: str) -> str:
    """Name of a metric, with its last step if that is not the last one of the dataset."""
    last = _recorded(data, metric)[-1]
    return metric if last == data["step"].values[-1] else f"{metric} (step {last})"


def _gaps(data: xr.Dataset, metric: str) -> dict[str, xr.DataArray]:
    """Last values of a metric less those of its predicted curves, unless these are all NaN."""
    gaps = {}
    for named in curves(data, metric):
        predicted = at_end(data, curve(data, metric, named), metric)
        if set(predicted.dims) <= {*axes_of(data), "seed"} and bool(predicted.notnull().any()):
            gaps[f"{metric} - {named or 'predicted'}"] = _gap(final(data, metric), predicted)
    return gaps


def _gap(last: xr.DataArray, predicted: xr.DataArray) -> xr.DataArray:
    """Return a difference, 0 where it is one of rounding."""
    gap = last - predicted
    rounding = _ROUNDINGS * np.finfo(last.dtype).eps * np.maximum(abs(last), abs(predicted))
    return gap.where(~(abs(gap) <= rounding), 0)


def _texts(values: xr.DataArray, axes: list[str], same: str) -> np.ndarray:
    """Mean ± standard error over seeds of each point, in the order of the axes; `same` for 0."""
    over = average(values)
    columns = (x.transpose(*axes).values.ravel() for x in (over.mean, over.error, over.n))
    seeds = values.sizes["seed"]
    return np.array(
        [
            _estimate(mean, error, same) + (f" (n = {n} of {seeds})" if 0 < n < seeds else "")
            for mean, error, n in zip(*columns, strict=True)
        ]
    )


def _estimate(mean: float, error: float, same: str) -> str:
    """Format `mean ± error`, rounded to the first digit of the error.

    For one run it is the mean alone, for none it is empty, and `same` if all of them are 0.
    """
    if np.isnan(mean):
        return ""
    if mean == 0 and not error > 0:
        return same
    if np.isnan(error):
        return f"{mean:.4g}"
    if not 1e-6 <= error < 1:
        return f"{mean:.4g} ± {error:.1g}"
    digits = -int(np.floor(np.log10(error)))
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def label(value: Any) -> str:
    """Format a value of an axis."""
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
