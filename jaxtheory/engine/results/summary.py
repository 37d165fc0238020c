"""A finished sweep in a few rows: the last value of each scalar metric over seeds, its gap to what
the theory predicts, and how many runs diverged.
"""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.engine.results.statistics import average

_ROWS, _COLUMNS = 12, 5
_PREDICTED = "predicted_"


class Summary(NamedTuple):
    """Rows of texts under their columns, one row per point of the axes; of how many points; and
    the names of the metrics that have no column. A column `a - b` is the gap of metric a to its
    predicted curve b. A mean over fewer runs than there are seeds says over how many; `_behind` is
    the range of these numbers in words.
    """

    axes: list[str]
    columns: list[str]
    rows: list[list[str]]
    points: int
    left_out: list[str]
    behind: str


def summary(data: xr.Dataset, rows: int = _ROWS, columns: int | None = None) -> Summary:
    """mean ± standard error over the runs that did not diverge, at the last record; of a single
    point in up to ROWS columns, else in up to COLUMNS.
    """
    axes = axes_of(data)
    points = int(np.prod([data.sizes[axis] for axis in axes], dtype=int))
    most = columns or (_ROWS if points == 1 else _COLUMNS)
    found: dict[str, np.ndarray] = {}
    shown = []
    for name in metrics(data):
        wanted = {_title(data, name): final(data, name), **_gaps(data, name)}
        if found and len(found) + len(wanted) > most:
            break
        shown.append(name)
        found |= {column: _texts(values, axes) for column, values in wanted.items()}
    lost = data["diverged_at"] >= 0
    if bool(lost.any()) and "seed" in lost.dims:
        counts = lost.sum("seed").transpose(*axes).values.ravel()
        found["diverged"] = np.array([f"{n} of {data.sizes['seed']}" for n in counts])
    some = np.unique(np.linspace(0, points - 1, min(points, rows)).round().astype(int))
    labels = [np.array([label(x) for x in data[axis].values]) for axis in axes]
    grid = [line.ravel() for line in np.meshgrid(*labels, indexing="ij")]
    return Summary(
        axes,
        list(found),
        [[str(column[i]) for column in (*grid, *found.values())] for i in some],
        points,
        [name for name in metrics(data) if name not in shown],
        _behind([final(data, name) for name in shown]),
    )


def _behind(values: list[xr.DataArray]) -> str:
    """How many seeds are behind the means of some values: `4`, or `1 to 4 of 4` where runs have no
    value.
    """
    seeds = max((each.sizes["seed"] for each in values), default=1)
    counts = np.array([n for each in values for n in average(each).n.values.ravel()] or [seeds])
    low, high = counts[counts > 0].min(initial=seeds), counts.max(initial=0)
    return str(seeds) if low == high == seeds else f"{low} to {high} of {seeds}"


def axes_of(data: xr.Dataset) -> list[str]:
    """The axes of the sweep."""
    return [str(dim) for dim in data["diverged_at"].dims if dim != "seed"]


def metrics(data: xr.Dataset) -> list[str]:
    """The scalar metrics, those with the axes, seed and step alone; the loss first."""
    dims = {*axes_of(data), "seed", "step"}
    names = [n for n in map(str, data.data_vars) if not n.startswith(_PREDICTED)]
    return sorted((n for n in names if set(data[n].dims) == dims), key=lambda n: n != "loss")


def curves(data: xr.Dataset, metric: str) -> list[str]:
    """The labels of the predicted curves of a metric; "" of one without."""
    own, others = _PREDICTED + metric, metrics(data)
    found = []
    for name in map(str, data.data_vars):
        whose = [m for m in others if f"{name}_".startswith(f"{_PREDICTED}{m}_")]
        if whose and max(whose, key=len) == metric:
            found.append(name.removeprefix(own).removeprefix("_"))
    return found


def curve(data: xr.Dataset, metric: str, named: str) -> xr.DataArray:
    """A predicted curve by its metric and label."""
    return data[f"{_PREDICTED}{metric}" + (f"_{named}" if named else "")]


def final(data: xr.Dataset, metric: str) -> xr.DataArray:
    """A metric at the last record of each run; NaN where it diverged."""
    return at_end(data, data[metric], metric).where(data["diverged_at"] < 0)


def at_end(data: xr.Dataset, values: xr.DataArray, metric: str) -> xr.DataArray:
    """Values at the last step at which a metric was recorded, of each point where `steps` is an
    axis.
    """
    last = _recorded(data, metric)
    if "steps" not in data.coords:
        return values.sel(step=last[-1])
    ends = [last[last <= n][-1] if (last <= n).any() else last[0] for n in data["steps"].values]
    picked: xr.DataArray = values.sel(step=data["steps"].copy(data=ends)).drop_vars("step")
    return picked


def _recorded(data: xr.Dataset, metric: str) -> np.ndarray:
    """The steps at which some run has a value of a metric; all where none has."""
    values = data[metric]
    seen = values.notnull().any([dim for dim in values.dims if dim != "step"]).values
    steps: np.ndarray = data["step"].values
    return steps[seen] if seen.any() else steps


def _title(data: xr.Dataset, metric: str) -> str:
    """The metric, with its step where that is not the last one of the dataset."""
    last = _recorded(data, metric)[-1]
    return metric if last == data["step"].values[-1] else f"{metric} (step {last})"


def _gaps(data: xr.Dataset, metric: str) -> dict[str, xr.DataArray]:
    """The last values of a metric less those of its predicted curves, where they say something."""
    found = {}
    for named in curves(data, metric):
        predicted = at_end(data, curve(data, metric, named), metric)
        if set(predicted.dims) <= {*axes_of(data), "seed"} and bool(predicted.notnull().any()):
            found[f"{metric} - {named or 'predicted'}"] = final(data, metric) - predicted
    return found


def _texts(values: xr.DataArray, axes: list[str]) -> np.ndarray:
    """mean ± standard error over seeds of each point, in the order of the axes."""
    over = average(values)
    each = (x.transpose(*axes).values.ravel() for x in (over.mean, over.error, over.n))
    seeds = values.sizes["seed"]
    return np.array(
        [
            _estimate(mean, error) + (f" (n = {n} of {seeds})" if 0 < n < seeds else "")
            for mean, error, n in zip(*each, strict=True)
        ]
    )


def _estimate(mean: float, error: float) -> str:
    """`mean ± error`, both to the first digit of the error; the mean alone of one run, nothing of
    none.
    """
    if np.isnan(mean):
        return ""
    if np.isnan(error):
        return f"{mean:.4g}"
    if not 1e-6 <= error < 1:
        return f"{mean:.4g} ± {error:.1g}"
    digits = -int(np.floor(np.log10(error)))
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def label(value: Any) -> str:
    """A value of an axis."""
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
