"""Does the staircase come from low rank, or from separate keys and queries?

The separate form with D = 8, N = 32 and nine heads of rank R, on infinitely many prompts.
"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, derived

from . import EXACT, ON_POPULATION, QUICK, SIGMA, THEORY, D, H, N, R, curves, drops, often

CONFIG = ON_POPULATION.replace(**{D: 8, N: 32, H: 9, SIGMA: 0.02})


def draw(data: xr.Dataset) -> plot.Drawing:
    """The loss of each run by rank, and the number of drops against the rank."""
    figure, axes = plot.panels(data.sizes[R] + 1, across=3)
    for i, r in enumerate(data[R].values):
        curves(axes[0, i], data.loss.sel({R: r}).isel(step=slice(1, None)), i)
        plot.finish(axes[0, i], "step t", "loss L", f"R = {r}", xscale="log", legend=False)
    plot.series(axes[0, -1], drops(data.loss), R, "drops")
    plot.finish(axes[0, -1], "rank R", "drops of a run", "D = 8", legend=False)
    return figure


FIGURE = Figure(
    name="regression_ranks",
    source="derived: rank of keys and queries",
    finding=Finding(
        "With separate keys and queries of full rank (D = 8) the loss drops at least twice, less often than at rank 1",
        rests_on=("IR-12", "IR-13"),
    ),
    theory=THEORY,
    config=CONFIG,
    sweep=EXACT
    | {"vary": {R: [1, 2, 4, 6, 8]}, "seeds": 16, "steps": 40000, "record": often(20, 40000, 500)},
    quick=QUICK | {"vary": {R: [1, 8]}, "seeds": 8},
    draw=draw,
    claims=(
        Claim(
            "IR-12",
            origin=derived("measured: full rank"),
            statement="Full rank R = D = 8 makes no merged form of the separate one: each run still drops at least twice.",
            measure=Measure(
                "drops of the loss (peaks of its rate of fall), rank R = D = 8",
                lambda data: drops(data.loss).sel({R: 8}),
            ),
            bound=at_least(2),
            q=1,
            panel=-1,
            why="Keys and queries of full rank keep a staircase, of fewer steps.",
        ),
        Claim(
            "IR-13",
            origin=derived("measured: components learned together"),
            statement="Heads of rank R = 8 drop less often than those of R = 1 within 40000 steps (D = 8): the difference of the numbers of drops.",
            measure=Measure(
                "drops of the loss with rank R = 1 less those with R = 8",
                lambda data: drops(data.loss).sel({R: 1}) - drops(data.loss).sel({R: 8}),
            ),
            bound=at_least(0.5),  # keys 100, 101: 2.1, 2.3 on average
            why="Runs of R = 1 have not all ended by then, so the difference is at least this.",
        ),
    ),
)
