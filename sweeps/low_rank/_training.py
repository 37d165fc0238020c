"""Shared parts of the figures along training: the gain of attention, and the time to fit."""

import numpy as np
import xarray as xr

from jaxtheory import plot
from jaxtheory.claims import last

from . import law, panels

ENDS = {name: [0, 160] for name in ("loss", "relevant_attention", "relevant_query_attention")}


def gain(data: xr.Dataset) -> xr.DataArray:
    """The attention of relevant queries on relevant tokens, end minus start."""
    return last(data.relevant_query_attention) - data.relevant_query_attention.isel(
        step=0, drop=True
    )


def title(data: xr.Dataset) -> str:
    """The loss, which is small in every cell, as a caption has it."""
    most = float(last(data.loss).mean("seed").max())
    return f"Test loss at most {most:.2g}"


def alpha(data: xr.Dataset) -> xr.DataArray:
    """alpha*, by the number of relevant tokens."""
    return law(data, "relevant_attention_uniform")


def fitted(data: xr.Dataset, level: float = 0.1) -> xr.DataArray:
    """The first time at which the test loss falls below a level.

    Between records it is interpolated by straight lines.
    """
    step = data.step.values.astype(float)

    def crossing(loss: np.ndarray) -> float:
        """The crossing in one run."""
        j = int(np.argmax(loss < level))
        if j == 0:  # at once, or never
            return np.nan
        share = (loss[j - 1] - level) / (loss[j - 1] - loss[j])
        return float(step[j - 1] + share * (step[j] - step[j - 1]))

    return xr.apply_ufunc(crossing, data.loss, input_core_dims=[["step"]], vectorize=True)


def draw_time(
    data: xr.Dataset, x: str, values: np.ndarray, label: str, printed: float, measured: float
) -> plot.Drawing:
    """The loss in t, and the time to 0.1 against x with two power laws through the middle."""
    figure, (curves, scaling) = panels(2, "Steps until the test loss is below 0.1 (S1)", width=4.0)
    data = data.assign_coords({x: values})
    for color, value in zip(plot.shades(len(values)), values, strict=True):
        one = data.loss.sel({x: value})
        plot.series(curves, one, "step", f"{label} = {value:.2g}", color=color, markers=False)
    plot.finish(curves, "step t", "test hinge loss")
    times, middle = fitted(data), len(values) // 2
    plot.series(scaling, times, x, "measured")
    for color, power, note in ((1, printed, ", as printed"), (0, measured, "")):
        curve = float(times.mean("seed")[middle]) * (values / values[middle]) ** power
        text = f"{label}^{{{power:g}}}"
        plot.theory(scaling, values, curve, f"${text}${note}", color=color)
    plot.finish(scaling, label, "steps", xscale="log", yscale="log")
    plot.ticks(scaling.xaxis, values, [f"{v:.2g}" for v in values])
    return figure
