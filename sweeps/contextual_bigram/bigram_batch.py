"""Which batches are so small that SGD, and proximal steps, diverge?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, interpretation, last, share

from . import BOTH, PAPER, QUICK, THEORY, B, Config, runs


def diverged(data: xr.Dataset) -> xr.DataArray:
    """1 where a run ends with more loss than it began with, or none that is finite."""
    return share(~(last(data.relative_excess_loss) <= 1))


def draw(data: xr.Dataset) -> plot.Drawing:
    """The share of diverged runs against B."""
    figure, ((ax,),) = plot.panels(1, width=4.2, height=3.2)
    for color, run in enumerate(data.run.values):
        plot.series(ax, diverged(data).sel(run=run), B, str(run), color=color)
    plot.finish(ax, "batch size B", "share of diverged runs", xscale="log")
    return figure


FIGURE = Figure(
    name="bigram_batch",
    source=f"{PAPER}, appendix I",
    finding=Finding(
        "At batch size 1, SGD and proximal steps both end with more loss than at the start (T = 200, η₁ = 0.05)",
        rests_on=("CB-66",),
    ),
    theory=THEORY,
    config=Config(length=200, learning_rate=0.05, late_learning_rate=0.03, switch_step=100),
    sweep={"zip": BOTH, "vary": {B: [1, 8, 64]}, **runs(12, 200, every=100)},
    quick=QUICK | {"zip": BOTH, "vary": {B: [64]}},
    draw=draw,
    claims=(
        Claim(
            "CB-66",
            origin=interpretation(PAPER, "appendix I"),
            statement="“smaller batch size will lead to divergence for both SGD and regularized GD”, read as: at B = 1, runs of both end with more loss than they began with.",
            measure=Measure(
                "ends with more loss than at the start, B = 1, proximal, SGD (1: yes)",
                lambda data: diverged(data).sel({B: 1}),
            ),
            bound=at_least(1),
            why="Neither the prox nor SGD can be run at any batch size, which limits every comparison of the two.",
        ),
    ),
)
