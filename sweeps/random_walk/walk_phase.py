"""For which K and p does attention select the parent, and which token else?"""

from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, holds, plot, refuted

from . import (
    FULL,
    ON_CIRCLE6,
    QUICK,
    THEOREM,
    K,
    N,
    P,
    end,
    last,
    optimal,
    optimum,
    right,
    share,
)


def commonest_stray(data: xr.Dataset) -> xr.DataArray:
    """The lag that most of the runs select which miss the parent; 1 where none does."""

    def mode(lags: np.ndarray) -> float:
        values, counts = np.unique(lags[lags != 1], return_counts=True)
        return float(values[np.argmax(counts)]) if len(values) else 1.0

    return xr.apply_ufunc(mode, last(data.selected_lag), input_core_dims=[["seed"]], vectorize=True)


def selected(judge: Any, id: str, source: str, case: str, least: float, at: dict) -> Claim:
    """A claim that the parent is selected in a share of the runs of some K and p."""
    text = (
        f"“Under certain conditions”, read as {case}: the parent is selected by t = 50 "
        f"({100 * least:.0f} % of the runs)."
    )
    return judge(id, "reading", source, text, **share(least, lambda data: right(data).sel(at)))


def draw(data: xr.Dataset) -> plot.Drawing:
    """By K and p: the share of seeds that select the parent, the lag that the others select, the
    accuracy lost.
    """
    title = f"Where attention selects the parent, by states K and probability p ({end(data)})"
    figure, axes = plot.panels(3, title=title, width=3.3, height=3.0, across=2)
    accuracy = last(data.accuracy)
    lost = plot.counted((optimum(data) - accuracy.mean("seed")).clip(0), accuracy)
    tables = (
        (right(data).astype(float), "share of seeds that select the parent (lag 1)", 2, (0, 1)),
        (commonest_stray(data), "lag of most of the other seeds (1: none)", 0, (1, 7)),
        (lost, "max(p, 1 − p) − accuracy", 3, (0, 0.25)),
    )
    for ax, (table, label, digits, span) in zip(axes[0], tables, strict=True):
        plot.heat(ax, table, K, P, label=label, digits=digits, span=span)
        plot.finish(ax, "states on the circle, K", "probability of a step clockwise, p")
    return figure


FIGURE = Figure(
    name="walk_phase",
    source=f"{THEOREM}: the parent is selected for any 0 < p < 1",
    **ON_CIRCLE6,
    sweep=FULL
    | {
        "zip": {K: [3, 4, 5, 6, 8, 12, 20], N: [97] * 6 + [101]},
        "vary": {P: [0.05, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98]},
    },
    quick=QUICK | {"zip": {K: [6, 20], N: [97, 101]}, "vary": {P: [0.5, 0.8]}},
    draw=draw,
    # shares measured on key 100, 16 seeds: K = 6 .94 to 1 for .05 <= p <= .95; K = 20 1 at p = .5,
    # .69 at .7, .25 at .8; K = 4 0 at p = .5
    claims=(
        selected(
            holds,
            "RW-20",
            THEOREM,
            "K = 6, N = 97, .05 <= p <= .95",
            0.88,
            {K: 6, P: slice(None, 0.95)},
        ),
        selected(holds, "RW-21", THEOREM, "K = 20, N = 101, p = 1/2", 0.9, {K: 20, P: 0.5}),
        selected(
            refuted,
            "RW-22",
            f"{THEOREM}: any 0 < p < 1",
            "K = 20, N = 101, p = .7",
            0.95,
            {K: 20, P: 0.7},
        ),
        holds(
            "RW-23",
            "derived",
            "derived",
            "K = 4, p = 1/2: the accuracy is 1/2 though attention selects another token, for "
            "every odd lag tells as much.",
            **share(0.8, lambda data: (~right(data) & optimal(data)).sel({K: 4, P: 0.5})),
        ),
    ),
)
