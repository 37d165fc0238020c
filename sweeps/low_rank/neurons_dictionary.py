"""Does corollary 1 hold over the number M of patterns?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_most, exponent, interpretation
from jaxtheory.theories.low_rank import S1

from . import PAPER, only, panels, pick, runs

DICTIONARIES = {
    **{word: [10, 20, 40] for word in ("num_patterns", "dimension", "query_dim", "value_dim")},
    "num_relevant": [5, 9, 18],
    "num_confusion": [1, 3, 6],
}


def power(data: xr.Dataset) -> xr.DataArray:
    """The exponent of M in the loss without the smallest 0.35 of the neurons, 1e-6 at least."""
    loss = data.pruned_loss.sel(order="small", rate=0.35)
    return exponent(loss.clip(1e-6), "num_patterns")  # all margins may be 1 or more


def draw(data: xr.Dataset) -> plot.Drawing:
    """Loss by the share pruned, small first and large first, for each M; 1/M dashed."""
    figure, axes = panels(2, "Pruning small neurons with M patterns (S1)", width=4.0)
    for ax, order in zip(axes, ("small", "large"), strict=True):
        for color, M in enumerate(data.num_patterns.values):
            values = data.pruned_loss.sel(num_patterns=M, order=order)
            plot.series(ax, values, "rate", f"M = {M}", color=color, markers=False)
            if order == "small":
                plot.theory(ax, None, 1 / M, "1/M" if color == 0 else "", color=color)
        plot.finish(ax, f"share pruned, {order} first", "test hinge loss", legend=order == "small")
    axes[0].set(xlim=(0, 0.6), ylim=(0, 0.2))
    return figure


FIGURE = Figure(
    name="neurons_dictionary",
    source=f"{PAPER}, corollary 1 over M",
    finding=Finding(
        "Without the smallest 35 % of neurons the loss does not fall as 1/M over M = 10 to 40 patterns",
        rests_on=("LR-60",),
    ),
    theory=only("pruned_loss"),
    config=S1,
    sweep=runs(120, zip=DICTIONARIES, buckets="exact"),
    quick={"zip": pick(DICTIONARIES, 0), "seeds": 2},
    draw=draw,
    claims=(
        Claim(
            "LR-60",
            origin=interpretation(PAPER, "(14)"),
            statement="(14), a loss of O(1/M), read as: the loss without the smallest 0.35 of the neurons falls with M, with an exponent of at most -0.75.",
            measure=Measure(
                "exponent in M of the loss without the smallest 0.35 of the neurons", power
            ),
            bound=at_most(-0.75),
            expect="fails",
            why="More patterns make the promise of free pruning worse, not better.",
        ),
    ),
)
