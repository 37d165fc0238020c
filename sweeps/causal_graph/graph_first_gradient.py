"""Is the first gradient of A1 that of the information of two tokens, or of their overlap?

The gradient at A1 = 0 and A2 = I / 2 on chains, against the information and the overlap.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, derived, printed

from . import ALPHA, GRADIENT, PLAIN, QUICK, SMALL, THEORY, P, T, lag

ABSTRACT = f"{GRADIENT}, abstract"
LENGTHS, SPREADS = [8, 16, 32, 64], [0.1, 0.5, 2.0]
MIDDLE = 0.5


def at_start(values: xr.DataArray) -> xr.DataArray:
    """Before the first step."""
    return values.isel(step=0, drop=True)


def second_lag(data: xr.Dataset) -> xr.DataArray:
    """The descent direction at lag 2, over that at the parent."""
    slopes = at_start(data.slopes)
    return lag(slopes, 2) / lag(slopes, 1)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Gradient, overlap and information by lag, and both correlations against T.

    By lag, each is its difference from its mean over lags 1 to 7, over that difference at the
    parent.
    """
    figure, ((lags, correlations),) = plot.panels(2)
    one = data.sel({ALPHA: MIDDLE}).isel({T: 1}).isel(step=0)
    names = {
        "slopes": "gradient",
        "overlap_lags": "overlap G",
        "information_lags": "information χ²",
    }
    for i, (name, label) in enumerate(names.items()):
        shown = one[name].isel(lag=slice(1, 8)).assign_coords(lag=np.arange(1, 8))
        shown = shown - shown.mean("lag")
        plot.series(lags, shown / shown.isel(lag=0, drop=True), "lag", label, color=i)
    plot.reference(lags, None, 0.0)
    length = f"T = {data[T].values[1]}, α = {MIDDLE:g}"
    plot.finish(lags, "lag i − j", "minus the mean, over lag 1", length)
    for color, spread in zip(plot.shades(data.sizes[ALPHA]), data[ALPHA].values, strict=True):
        row = data.sel({ALPHA: spread})
        plot.series(
            correlations, at_start(row.gradient_overlap), T, f"G, α = {spread:g}", color=color
        )
        information = at_start(row.gradient_information).mean("seed")
        plot.reference(
            correlations, row[T].values, information.values, f"χ², α = {spread:g}", color=color
        )
    plot.finish(correlations, "length T", "correlation with the gradient", xscale="log")
    plot.ticks(correlations.xaxis, data[T].values)
    return figure


FIGURE = Figure(
    name="graph_first_gradient",
    source=f"{GRADIENT}, the first gradient",
    finding=Finding(
        "The first gradient is largest at the parent, follows the overlap G, and is negative at lag 2",
        rests_on=("CG-5", "CG-7", "CG-8"),
    ),
    theory=THEORY,
    config=SMALL.replace(**{P: 2000}),
    sweep=PLAIN
    | {
        "vary": {T: LENGTHS, ALPHA: SPREADS},
        "algorithm": "two_stage",
        "steps": 1,
        "record": [0],
        "buckets": "exact",
    },
    quick=QUICK | {"vary": {T: [8, 12], ALPHA: [MIDDLE, 2.0]}, "seeds": 8, "buckets": "pad"},
    draw=draw,
    claims=(
        Claim(
            "CG-5",
            origin=printed(ABSTRACT),
            statement="“the largest entries of this gradient correspond to edges in the latent causal graph”: in each row of each run the descent direction is largest at the parent, for T = 8 to 64 and α = 0.1 to 0.5.",
            measure=Measure(
                "share of rows whose first descent is at the parent, each T, α ≤ 0.5",
                lambda data: at_start(data.gradient_selected).sel({ALPHA: slice(None, MIDDLE)}),
            ),
            bound=at_least(1.0),
            q=1,
            why="A step along this gradient moves each row towards its parent.",
        ),
        Claim(
            "CG-7",
            origin=derived("derived: the first gradient of long prompts"),
            statement="Over j < i the first gradient of A1 has a correlation of at least 0.9 with the overlap G, for T = 8 to 64 and α = 0.1 to 0.5.",
            measure=Measure(
                "correlation of first descent of A1 and overlap G, each T and α ≤ 0.5",
                lambda data: at_start(data.gradient_overlap).sel({ALPHA: slice(None, MIDDLE)}),
            ),
            bound=at_least(0.9),
            panel=1,
            why="G has the power λ^(d+1) in the place of λ^(2d), and equals χ² at the parent alone.",
        ),
        Claim(
            "CG-8",
            origin=derived("derived: odd powers cancel"),
            statement="At lag 2 the first descent direction of A1 is negative, though the information is positive there: its mean over tokens, divided by that at the parent, for T = 8 to 64 and α = 0.5.",
            measure=Measure(
                "first descent of A1 at lag 2 over that at the parent, α = 0.5, each T",
                lambda data: second_lag(data).sel({ALPHA: MIDDLE}),
            ),
            bound=at_most(-0.05),
            why="The grandparent has information on the token, and the first step moves attention away from it.",
        ),
    ),
)
