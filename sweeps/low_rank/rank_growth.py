"""Does the relevant diagonal of (7) grow as sqrt(log T), and does the rest fall as 1/T?

The step size is the one that T belongs to.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, exponent, interpretation
from jaxtheory.theories.low_rank import S1

from . import PAPER, only, panels, pick, runs, worst
from .rank_projections import parts

# T is a function of eta: so many steps as gradient flow takes for a fixed time, eta T = 120 and 360
TIMES, NAMES = [120, 240, 480], ("S1", "P1")
CELLS: dict[str, list] = {
    "cell": [f"{name}, T = {T}" for name in NAMES for T in TIMES],
    "output": ["shared"] * 3 + ["per_token"] * 3,
    "learning_rate": [120 / T for T in TIMES] + [360 / T for T in TIMES],
    "steps": TIMES * 2,
}


def over_T(values: xr.DataArray, setting: str) -> xr.DataArray:
    """The cells of a setting over T."""
    some = values.sel(cell=[cell for cell in values.cell.values if str(cell).startswith(setting)])
    return some.assign_coords(cell=some.steps.values).rename(cell="T")


def diagonal(data: xr.Dataset, setting: str) -> xr.DataArray:
    """The relevant diagonal of W_Q and W_K over T in a setting."""
    blocks = parts(data.projections.sel(projection=["WQ", "WK"]))
    return over_T(blocks.relevant_diagonal, setting)


def further(data: xr.Dataset) -> xr.DataArray:
    """The diagonal at the largest T over that at the smallest."""
    diagonals = (diagonal(data, name) for name in NAMES)
    return xr.concat([x.isel(T=-1) / x.isel(T=0, drop=True) for x in diagonals], "setting")


def fall(data: xr.Dataset) -> xr.DataArray:
    """The exponents of T in the mean sizes of the entries beside the relevant diagonal."""
    sizes = parts(abs(data.projections))
    blocks = (sizes.relevant_cross, sizes.irrelevant_rows)
    return worst(*(exponent(over_T(x, name), "T") for x in blocks for name in NAMES))


def draw(data: xr.Dataset) -> plot.Drawing:
    """The relevant diagonal and the cross terms over those at the least T, with their laws."""
    names = [n for n in NAMES if any(str(c).startswith(n) for c in data.cell.values)]
    figure, (growing, falling) = panels(2, "Blocks of (7) against the number of steps, ηT fixed")
    cross = parts(abs(data.projections)).relevant_cross
    for color, name in enumerate(names):
        for k, matrix in enumerate(("WQ", "WK")):
            for ax, values in ((growing, diagonal(data, name)), (falling, over_T(cross, name))):
                some = values.sel(projection=matrix)
                label = f"{name}, {matrix}"
                plot.series(ax, some / some.isel(T=0, drop=True), "T", label, color=2 * color + k)
    T = diagonal(data, names[0])["T"].values
    plot.theory(growing, T, np.sqrt(np.log(T) / np.log(T[0])), "", says="the laws")
    plot.theory(falling, T, T[0] / T, "", says="the laws")
    for ax, block, law in (
        (growing, "relevant diagonal", r"$\sqrt{\log T}$"),
        (falling, "relevant cross terms", "1/T"),
    ):
        label = f"{block} / at T = {T[0]}"
        plot.finish(ax, "steps T = const / η", label, f"dashed: {law}", xscale="log", legend=False)
        plot.ticks(ax.xaxis, T)
    plot.legend_below(figure, growing)
    return figure


FIGURE = Figure(
    name="rank_growth",
    source=f"{PAPER}, (7) along training",
    finding=Finding(
        "At fixed ηT the relevant diagonal need not grow as √(log T), nor cross terms fall as 1/T, for T = 120 to 480",
        rests_on=("LR-44", "LR-109"),
    ),
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
            origin=interpretation(PAPER, "(7), first inequality"),
            statement="(7), a relevant diagonal of Omega(sqrt(log T)) with eta and T changed together, read as: from T = 120 to 480 at equal eta T it grows by at least 12 % (law: 14 %), for W_Q and W_K in S1 and P1.",
            measure=Measure(
                "growth of the relevant diagonal, T 120 → 480, W_Q, W_K, S1, P1", further
            ),
            bound=at_least(1.12),
            panel=0,
            expect="fails",
            why="Growth without limit would mean that attention becomes a hard choice in long training.",
        ),
        Claim(
            "LR-109",
            origin=interpretation(PAPER, "(7) and (9), second inequalities, over T"),
            statement="(7) and (9), cross terms of O(1/(MT)), read as: irrelevant rows and the other relevant one of W_Q, W_K and W_V fall with T at equal eta T in mean size, with an exponent of at most -0.75, in S1 and P1.",
            measure=Measure(
                "exponent in T of mean cross terms of W_Q, W_K and W_V, S1 and P1", fall
            ),
            bound=at_most(-0.75),
            expect="fails",
            why="With 1/T the update would become exactly rank 2 in long training.",
        ),
    ),
)
