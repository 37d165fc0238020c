"""Does the relevant diagonal of (7) grow as sqrt(log T), with the step size that T belongs to?"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_least, between, derived, interpretation
from jaxtheory.theories.low_rank import S1

from . import PAPER, Measure, only, panels, pick, runs

# T is a function of eta: so many steps as gradient flow takes for a fixed time, eta T = 120 and 360
TIMES = [120, 240, 480]
CELLS: dict[str, list] = {
    "cell": [f"{name}, T = {T}" for name in ("S1", "P1") for T in TIMES],
    "output": ["shared"] * 3 + ["per_token"] * 3,
    "learning_rate": [120 / T for T in TIMES] + [360 / T for T in TIMES],
    "steps": TIMES * 2,
}


def diagonal(data: xr.Dataset, setting: str) -> xr.DataArray:
    """The relevant diagonal of W_Q and W_K over T in a setting."""
    P = data.projections.sel(projection=["WQ", "WK"])
    mean = xr.concat([P.isel(left=k, pattern=k) for k in (0, 1)], "relevant").mean("relevant")
    some = mean.sel(cell=[cell for cell in data.cell.values if str(cell).startswith(setting)])
    return some.assign_coords(cell=some.steps.values).rename(cell="T")


def further(*settings: str) -> Measure:
    """The mean diagonal at the largest T over that at the smallest."""

    def measure(data: xr.Dataset) -> xr.DataArray:
        found = [diagonal(data, name) for name in settings]
        return xr.concat([x.isel(T=-1) / x.isel(T=0).mean("seed") for x in found], "setting")

    return measure


def draw(data: xr.Dataset) -> plot.Drawing:
    """The relevant diagonal against the number of steps, with sqrt(log T) through the first."""
    names = [n for n in ("S1", "P1") if any(str(c).startswith(n) for c in data.cell.values)]
    figure, axes = panels(
        len(names), "Relevant diagonal of (7) against the number of steps, ηT fixed"
    )
    for ax, name in zip(axes, names, strict=True):
        values = diagonal(data, name)
        T = values["T"].values
        for color, matrix in enumerate(("WQ", "WK")):
            some = values.sel(projection=matrix)
            plot.series(ax, some, "T", matrix, color=color)
            law = float(some.mean("seed")[0]) * np.sqrt(np.log(T) / np.log(T[0]))
            plot.theory(ax, T, law, "" if color else r"$\propto \sqrt{\log T}$", color=color)
        plot.finish(
            ax,
            "steps T = const / η",
            r"$\mu^\top \Delta W \mu$, relevant",
            name,
            legend=False,
            xscale="log",
        )
        plot.ticks(ax.xaxis, T)
    plot.legend_below(figure, axes[0])
    return figure


FIGURE = Figure(
    name="rank_growth",
    source=f"{PAPER}, (7) along training",
    theory=only("projections"),
    config=S1,
    sweep=runs(480, zip=CELLS, record={"loss": [0, *TIMES]}),
    quick={
        "zip": pick(CELLS, 0, 1),
        "seeds": 2,
        "steps": 240,
        "record": {"loss": [0, 120, 240]},
    },
    draw=draw,
    claims=(
        Claim(
            "LR-44",
            origin=interpretation(PAPER, "(7)"),
            statement="(7), a relevant diagonal of Omega(sqrt(log T)) with eta and T changed together, read as: from T = 120 to 480 at equal eta T it grows by at least 12 % (law: 14 %), in S1 or P1.",
            measure=further("S1", "P1"),
            bound=at_least(1.12),
            where="somewhere",
            expect="fails",
        ),
        Claim(
            "LR-88",
            origin=derived(),
            statement="In S1 the relevant diagonal is that of gradient flow: from T = 120 to 480 it changes by -5 to 10 %.",
            measure=further("S1"),
            bound=between(0.95, 1.1),
        ),
    ),
)
