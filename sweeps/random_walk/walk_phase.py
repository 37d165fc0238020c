"""For which K and p does attention select the parent, and which token else?"""

import numpy as np
import xarray as xr

from jaxtheory import Figure, holds, plot, refuted
from jaxtheory.theories.random_walk import CIRCLE6

from . import PAPER, QUICK, TALK, THEORY, K, N, P, last, optimum, right, share


def commonest_stray(data: xr.Dataset) -> xr.DataArray:
    """The lag that most of the runs select which miss the parent; 1 where none does."""

    def mode(lags: np.ndarray) -> float:
        """The commonest lag but 1."""
        values, counts = np.unique(lags[lags != 1], return_counts=True)
        return float(values[np.argmax(counts)]) if len(values) else 1.0

    return xr.apply_ufunc(mode, last(data.selected_lag), input_core_dims=[["seed"]], vectorize=True)


def draw(data: xr.Dataset) -> plot.Drawing:
    """By K and p: the share of seeds that select the parent, the lag that the others select, the
    accuracy lost.
    """
    figure, axes = plot.panels(3, width=4.4, height=3.8)
    lost = optimum(data) - last(data.accuracy).mean("seed")
    plot.heat(
        axes[0, 0],
        right(data).mean("seed"),
        K,
        P,
        label="share of seeds that select the parent (lag 1)",
        span=(0, 1),
    )
    plot.heat(
        axes[0, 1],
        commonest_stray(data),
        K,
        P,
        label="lag of most of the other seeds (1: none)",
        digits=0,
        span=(1, 7),
    )
    plot.heat(
        axes[0, 2], lost.clip(0), K, P, label="max(p, 1 − p) − accuracy", digits=3, span=(0, 0.25)
    )
    title = f"t = {int(data.step[-1])}, {data.sizes['seed']} seeds"
    for ax in axes[0]:
        plot.finish(ax, "states on the circle, K", "probability of a step clockwise, p", title)
    return figure


FIGURE = Figure(
    name="walk_phase",
    source=f"{TALK}, theorem: the parent is selected for any 0 < p < 1",
    theory=THEORY,
    config=CIRCLE6,
    sweep={
        "zip": {K: [3, 4, 5, 6, 8, 12, 20], N: [97] * 6 + [101]},
        "vary": {P: [0.05, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98]},
        "seeds": 16,
        "steps": 50,
        "record": [0, 50],
        "buckets": "pad",
        "dtype": "float32",
    },
    quick=QUICK | {"zip": {K: [6, 20], N: [97, 101]}, "vary": {P: [0.5, 0.8]}},
    draw=draw,
    # shares measured on key 100, 16 seeds: K = 6 .94 to 1 for .05 <= p <= .95; K = 20 1 at p = .5,
    # .69 at .7, .25 at .8; K = 4 0 at p = .5
    claims=(
        holds(
            "RW-20",
            "reading",
            f"{TALK}, theorem",
            "K = 6, N = 97, .05 <= p <= .95: the parent is selected (90 % of the runs).",
            lambda data: right(data).sel({K: 6, P: slice(None, 0.95)}),
            **share(0.9),
        ),
        holds(
            "RW-21",
            "reading",
            f"{TALK}, theorem",
            "K = 20, N = 101, p = 1/2: the parent is selected (90 % of the runs).",
            lambda data: right(data).sel({K: 20, P: 0.5}),
            **share(0.9),
        ),
        refuted(
            "RW-22",
            "reading",
            f"{TALK}, theorem: any 0 < p < 1",
            "K = 20, N = 101, p = .7: the parent is selected (95 % of the runs).",
            lambda data: right(data).sel({K: 20, P: 0.7}),
            **share(0.95),
        ),
        holds(
            "RW-23",
            "derived",
            f"{PAPER}, condition K > 4",
            "K = 4, p = 1/2: the accuracy is 1/2 though attention selects another token, for "
            "every odd lag tells as much.",
            lambda data: (~right(data) & (abs(last(data.accuracy) - 0.5) < 1e-5)).sel(
                {K: 4, P: 0.5}
            ),
            **share(0.8),
        ),
    ),
)
