"""For which K and p does attention select the parent, and which token else?"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, interpretation, last

from . import FULL, ON_CIRCLE6, QUICK, TALK, THEOREM, K, N, P, end, right


def commonest_stray(data: xr.Dataset) -> xr.DataArray:
    """The lag that most of the runs select which miss the parent; 1 where none does."""

    def mode(lags: np.ndarray) -> float:
        values, counts = np.unique(lags[lags != 1], return_counts=True)
        return float(values[np.argmax(counts)]) if len(values) else 1.0

    return xr.apply_ufunc(mode, last(data.selected_lag), input_core_dims=[["seed"]], vectorize=True)


def draw(data: xr.Dataset) -> plot.Drawing:
    """By K and p: the share of seeds that select the parent, and the lag that others select."""
    figure, ((shares, strays),) = plot.panels(2, title=end(data), width=3.6, height=3.2)
    selected = right(data).astype(float)
    plot.heat(shares, selected, K, P, label="share of seeds that select the parent", vmin=0, vmax=1)
    edges = [1, 2, 3, 4, 1000]
    label = "lag that most of the other seeds select"
    plot.heat(strays, commonest_stray(data), K, P, label=label, digits=0, norm=edges)
    bar = strays.collections[0].colorbar
    bar.set_ticks([1.5, 2.5, 3.5, 500], labels=["no other", "2", "3", "more"])
    for ax in (shares, strays):
        plot.finish(ax, "states on the circle, K", "probability of a step clockwise, p")
    return figure


FIGURE = Figure(
    name="walk_phase",
    source=f"{THEOREM}: the parent is selected for any 0 < p < 1",
    finding=Finding(
        "At K = 20 attention misses the parent at over a quarter of nine p from 0.05 to 0.98",
        rests_on=("RW-22",),
    ),
    **ON_CIRCLE6,
    sweep=FULL
    | {
        "zip": {K: [3, 4, 5, 6, 8, 12, 20], N: [97] * 6 + [101]},
        "vary": {P: [0.05, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98]},
    },
    quick=QUICK | {"zip": {K: [6, 20], N: [97, 101]}, "vary": {P: [0.5, 0.8]}},
    draw=draw,
    # share for K = 20 on key 100, 16 seeds: 1 at p = 0.5, 0.69 at 0.7, 0.25 at 0.8
    claims=(
        Claim(
            "RW-20",
            origin=interpretation(TALK, "theorem"),
            statement="“Under certain conditions”, read as K = 6, N = 97: the parent is selected by t = 50 at three quarters of eight p from 0.05 to 0.95.",
            measure=Measure(
                "share of eight p from 0.05 to 0.95 with the parent selected, K = 6",
                lambda data: right(data).sel({K: 6, P: slice(None, 0.95)}).mean(),
            ),
            bound=at_least(0.75),
            why="Selection does not need a fair coin, and a small circle allows nearly every p.",
        ),
        Claim(
            "RW-22",
            origin=interpretation(TALK, "theorem: any 0 < p < 1"),
            statement="“0 < p < 1”, read as nine p from 0.05 to 0.98 on the talk's circle K = 20, N = 101: the parent is selected by t = 50 at three quarters of them.",
            measure=Measure(
                "share of nine p from 0.05 to 0.98 with the parent selected, K = 20",
                lambda data: right(data).sel({K: 20}).mean(),
            ),
            bound=at_least(0.75),
            expect="fails",
            why="On a large circle a biased walk makes lag 3 or 5 as informative on average as the parent.",
        ),
    ),
)
