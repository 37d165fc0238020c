"""Do the errors of V and of the output fall as t^(-1/2)?"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_most,
    between,
    derived,
    exponent,
    last,
    printed,
)

from . import ON_CIRCLE6, QUICK, TALK, THEOREM, B, Function, P, V, predicted, right

GAP, LIMIT = "output_gap", "predicted_output_gap_sqrt_law"
SHOWN = {
    f"{V}_sqrt": r"direction error of V against $\sqrt{\Pi^\top}$",
    "output_error": "direction error of f against the law",
    GAP: r"$|f/|f| - \Pi^\top x_{N-1}|$, as printed",
}
# t = 50..300, within which 10000 sequences are still far from their sampling floor
WINDOW = slice(50, 300)


def runs(data: xr.Dataset, name: str) -> xr.DataArray:
    """A metric at the largest sample over the window, of the runs that select the parent."""
    return data[name].where(right(data)).sel(step=WINDOW).isel({B: -1})


def falls(name: str) -> Function:
    """The exponent of t of a metric, for each p."""
    return lambda data: exponent(runs(data, name), "step")


def excess(data: xr.Dataset) -> xr.DataArray:
    """The gap of the output at the end over its limit under the sqrt law, less 1."""
    return last(runs(data, GAP) / runs(data, LIMIT)) - 1


def draw(data: xr.Dataset) -> plot.Drawing:
    """Errors of V and of the output in t for two p, each law in the color of its runs."""
    figure, axes = plot.panels(len(SHOWN))
    late = data.where(right(data)).isel({B: -1, "step": data.step.values >= 3})
    t = late.step.values
    for ax, (name, label) in zip(axes[0], SHOWN.items(), strict=True):
        for color, p in enumerate(data[P].values):
            runs = late[name].sel({P: p})
            plot.series(ax, runs, "step", f"p = {p:g}", color=color)
            if name == GAP:
                predicted(ax, late[LIMIT].sel({P: p}), "step", "", color)
        if name != GAP:
            start = float(late[name].sel({P: 0.5}).isel(step=0).mean())
            plot.theory(ax, t, start * np.sqrt(t[0] / t), r"$t^{-1/2}$")
        plot.finish(ax, "step t", label, xscale="log", yscale="log")
        plot.ticks(ax.xaxis, [tick for tick in (3, 10, 30, 100, 300) if tick <= t[-1]])
    plot.remark(figure, "Last panel, dashed: the square root law at t = ∞.")
    return figure


FIGURE = Figure(
    name="walk_rate",
    source=f"{THEOREM} and corollary: O(1/sqrt T)",
    finding=Finding(
        "V's direction error to √Πᵀ falls as t^(−1/2), but the output gap |f/|f| − Πᵀx| does not (p = 1/2 and 0.7)",
        rests_on=("RW-16", "RW-6"),
    ),
    **ON_CIRCLE6,
    sweep={
        "vary": {P: [0.5, 0.7], B: [10000]},
        "seeds": 10,
        "steps": 300,
        "record": [0, 1, 2, 3, 5, 10, 20, 50, 70, 100, 140, 200, 300],
        "buckets": "exact",
        "dtype": "float32",
    },
    quick=QUICK
    | {"vary": {P: [0.5, 0.7], B: [1000]}, "seeds": 4, "record": [0, 1, 2, 3, 5, 10, 20, 50]},
    draw=draw,
    # measured on key 100, 10 seeds: V against the root -0.491 (p = 0.5), -0.493 (0.7); outputs -0.499
    # and -0.149; the output's gap as printed -0.050, 0.021 above its limit at t = 300
    claims=(
        Claim(
            "RW-16",
            origin=derived(),
            statement="The direction error of V relative to sqrt(Pi^T) falls as t^(-1/2) at p = 1/2, where the root has the direction of Pi^T, and at p = 0.7.",
            measure=Measure(
                "exponent in t of V's direction error to √Πᵀ, t = 50 to 300, each p",
                falls(f"{V}_sqrt"),
            ),
            bound=between(-0.55, -0.45),
            why="The theorem's rate O(1/sqrt T) is right once the limit is corrected, and it is not faster.",
        ),
        Claim(
            "RW-6",
            origin=printed(TALK, "corollary"),
            statement="“The transformer converges to the optimal predictor”, | f/|f| - Pi^T x_{N-1} | = o(1/sqrt T): its exponent is at most -0.45 at p = 1/2 and 0.7.",
            measure=Measure(
                "exponent in t of the gap |f/|f| − Πᵀx|, t = 50 to 300, each p", falls(GAP)
            ),
            bound=at_most(-0.45),
            expect="fails",
            why="The corollary compares a vector of norm 1 with one of norm below 1, so the gap cannot vanish.",
        ),
        Claim(
            "RW-35",
            origin=derived(),
            statement="The output gap | f/|f| - Pi^T x_{N-1} | tends to | (sqrt p, sqrt(1-p)) - (p, 1-p) |, which is 0.293 at p = 1/2, because |Pi^T x_{N-1}| is below 1: at t = 300 it is 0 to 5 % above this limit (p = 1/2 and 0.7).",
            measure=Measure(
                "output gap |f/|f| − Πᵀx| over its limit, minus 1, t = 300, each p", excess
            ),
            bound=between(0.0, 0.05),
            why="It says what the trained layer puts out instead of the transition probabilities.",
        ),
        Claim(
            "RW-18",
            origin=derived("the corollary, repaired: Pi^T x normalized, O for o"),
            statement="At p = 1/2, | f/|f| - Pi^T x_{N-1}/|Pi^T x_{N-1}| | falls as t^(-1/2).",
            measure=Measure(
                "exponent in t of |f/|f| − Πᵀx/|Πᵀx||, t = 50 to 300, p = 1/2",
                lambda data: falls("output_error")(data.sel({P: 0.5})),
            ),
            bound=between(-0.55, -0.45),
            law=-0.5,
            why="It is the corollary in a form that is true, and it holds for the fair walk alone.",
        ),
    ),
)
