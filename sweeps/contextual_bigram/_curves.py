"""Curves in t, marks of all tasks, and titles."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import Figure, plot
from jaxtheory.claims import crossing

from . import right, right_sign

CURVES = {
    "attention_distance": r"distance $\|A - Q\|_\mu$",
    "attention_cosine": "cosine of A and Q",
    "relative_excess_loss": "excess loss / at the start",
    "attention_residual": r"off the line, $\|\Delta_A\|_\mu$",
    "value_cosine_centered": "cosine of V and P, centered",
}
ALPHAS = {"attention_alignment": r"$\alpha_A$", "value_alignment": r"$\alpha_V$"}
LEVEL = 0.1  # alpha_V at the end of stage one
LOGARITHMIC = ("relative_excess_loss", "attention_residual")


def at_end(data: xr.Dataset, values: xr.DataArray | None = None) -> xr.DataArray:
    """The step at the end of stage one, where alpha_V reaches LEVEL, or values there.

    NaN in runs that do not get there or have the wrong sign.
    """
    return crossing(data.value_alignment, LEVEL, values).where(right_sign(data))


def at(figure: Figure, data: xr.Dataset) -> str:
    """N, T and B of a figure in full, nothing in its quick form."""
    c: Any = figure.config
    return (
        f" (N = {c.num_states.cap}, T = {c.length.cap}, B = {c.batch_size.cap})"
        if data.sizes["seed"] >= 8
        else ""
    )


def tasks(data: xr.Dataset) -> str:
    """The number of tasks and the number that are left out, in words."""
    valid = right(data)
    valid = valid.all([d for d in valid.dims if d != "seed"])
    return (
        f"{valid.size} tasks ({int((~valid).sum())} of {valid.size} tasks left out: wrong sign or "
        "z < 2)"
    )


def draw_runs(axes: Any, data: xr.Dataset, names: Iterable[str], *, log: bool = True) -> None:
    """A panel per curve, a color per kind of run."""
    for ax, name in zip(axes, names, strict=False):
        for color, run in enumerate(data.run.values):
            values = data[name].sel(run=run)
            plot.series(ax, values, "step", str(run), color=color, markers=False)
        scale = "log" if log and name in LOGARITHMIC else "linear"
        plot.finish(ax, "step t", (CURVES | ALPHAS)[name], yscale=scale, legend=False)


def draw_tasks(ax: Any, at: float, values: xr.DataArray, color: int, label: str = "") -> None:
    """The values of all tasks side by side in their order, and their mean."""
    ordered = np.sort(values.values[np.isfinite(values.values)])
    places = at + np.linspace(-0.3, 0.3, len(ordered)) * (len(ordered) > 1)
    style = {"color": plot.COLORS[color], "alpha": 0.35, "markersize": 2.5, "linestyle": "none"}
    ax.plot(places, ordered, marker=plot.MARKERS[color], **style)
    plot.dots(ax, [at], values.expand_dims(place=[0]), label, color=color)


def power(size: int) -> str:
    """A batch size as a power of two."""
    return f"$2^{{{np.log2(size):.0f}}}$"
