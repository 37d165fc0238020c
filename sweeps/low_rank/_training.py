"""What the figures along training share: the gain of attention, and the time to fit with its
exponent.
"""

import numpy as np
import xarray as xr

from jaxtheory import plot, statistics

from . import last, lines, ticks

ENDS = {name: [0, 160] for name in ("loss", "relevant_attention", "relevant_query_attention")}


def gain(data: xr.Dataset) -> xr.DataArray:
    """The attention of relevant queries on relevant tokens, end minus start."""
    return last(data.relevant_query_attention) - data.relevant_query_attention.isel(
        step=0, drop=True
    )


def title(data: xr.Dataset) -> str:
    """The number of seeds, and the loss, which is small in every cell."""
    return (
        f"{data.sizes['seed']} seeds, test loss at most "
        f"{float(last(data.loss).mean('seed').max()):.2g}"
    )


def alpha(data: xr.Dataset) -> xr.DataArray:
    """alpha*, by the number of relevant tokens."""
    return data.predicted_relevant_attention_uniform.isel(step=0, seed=0, drop=True)


def fitted(data: xr.Dataset, level: float = 0.1) -> xr.DataArray:
    """The first time at which the test loss falls below a level, between records by
    straight lines.
    """
    step = data.step.values.astype(float)

    def crossing(loss: np.ndarray) -> float:
        """In one run."""
        low = np.flatnonzero(loss < level)
        if not low.size or low[0] == 0:
            return np.nan
        j = low[0]
        return float(
            step[j - 1] + (loss[j - 1] - level) / (loss[j - 1] - loss[j]) * (step[j] - step[j - 1])
        )

    return xr.apply_ufunc(crossing, data.loss, input_core_dims=[["step"]], vectorize=True)


def exponent(values: xr.DataArray, x: xr.DataArray) -> xr.DataArray:
    """The exponent of x in the mean over seeds; NaN where a run never gets there."""
    return statistics.slope(
        values.mean("seed", skipna=False).assign_coords({x.dims[0]: x.values}), str(x.dims[0])
    )


def draw_time(
    data: xr.Dataset, x: str, values: np.ndarray, label: str, printed: float, measured: float
) -> plot.Drawing:
    """The loss in t, and the time to .1 against x with two power laws through the middle."""
    figure, axes = plot.panels(
        2,
        title=f"Steps until the test loss is below .1 (S1), {data.sizes['seed']} seeds",
        width=4.0,
    )
    data = data.assign_coords({x: values})
    lines(axes[0, 0], data.loss, "step", x, label + " = {:.2g}", markers=False)
    plot.finish(axes[0, 0], "step t", "test hinge loss")
    plot.series(axes[0, 1], fitted(data), x, "measured")
    middle, at = (
        float(fitted(data).mean("seed").isel({x: len(values) // 2})),
        values[len(values) // 2],
    )
    plot.theory(
        axes[0, 1],
        values,
        middle * (values / at) ** printed,
        f"exponent {printed:g}, as printed",
        colour=1,
    )
    plot.theory(
        axes[0, 1], values, middle * (values / at) ** measured, f"exponent {measured:g}", colour=2
    )
    plot.finish(axes[0, 1], label, "steps", xscale="log", yscale="log")
    ticks(axes[0, 1], values, [f"{v:.2g}" for v in values])
    return figure
