"""Does the relevant diagonal of (7) go on growing as sqrt(log T)?"""

import numpy as np
import xarray as xr

from jaxtheory import Figure, holds, plot, refuted
from jaxtheory.theories.low_rank import S1

from . import BOTH, PAPER, Measure, only, panels, pick, reading, runs


def diagonal(data: xr.Dataset) -> xr.DataArray:
    """The relevant diagonal of W_Q and W_K, per setting and number of steps."""
    P = data.projections.sel(projection=["WQ", "WK"])
    return xr.concat([P.isel(left=k, pattern=k) for k in (0, 1)], "relevant").mean("relevant")


def further(setting: str) -> Measure:
    """The diagonal after 240 steps over that after 120."""
    return lambda data: (
        diagonal(data.sel(setting=setting, steps=240))
        / diagonal(data.sel(setting=setting, steps=120))
    )


def draw(data: xr.Dataset) -> plot.Drawing:
    """The relevant diagonal against the number of steps, with sqrt(log T) through the second."""
    figure, axes = panels(data, data.sizes["setting"], "Growth of (7)")
    T = data.steps.values
    for ax, setting in zip(axes, data.setting.values, strict=True):
        for colour, matrix in enumerate(("WQ", "WK")):
            values = diagonal(data.sel(setting=setting)).sel(projection=matrix)
            plot.series(ax, values, "steps", matrix, colour=colour)
            law = float(values.mean("seed").isel(steps=1)) * np.sqrt(np.log(T) / np.log(T[1]))
            plot.theory(ax, T, law, "" if colour else r"$\propto \sqrt{\log T}$", colour=colour)
        plot.finish(ax, "steps T", r"$\mu^\top \Delta W \mu$, relevant", str(setting), xscale="log")
    return figure


FIGURE = Figure(
    name="rank_growth",
    source=f"{PAPER}, (7) along training",
    theory=only("projections"),
    config=S1,
    sweep=runs(240, zip=BOTH, vary={"steps": [60, 120, 240]}, record={"loss": [0, 60, 120, 240]}),
    quick={
        "zip": pick(BOTH, 0),
        "vary": {"steps": [60, 120]},
        "seeds": 2,
        "record": {"loss": [0, 60, 120]},
    },
    draw=draw,
    claims=(
        refuted(
            "LR-44",
            *reading("(7)"),
            "P1: the relevant diagonal of W_Q, W_K goes on growing as sqrt(log T), from T = 120 "
            "to 240 by 1.5 % or more (law: 7 %).",
            further("P1"),
            at_least=1.015,
        ),
        holds("LR-88", *reading("(7)"), "S1: it does.", further("S1"), at_least=1.015),
    ),
)
