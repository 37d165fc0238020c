"""Does V take the direction of the transition matrix, or of its square root, as p varies?"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_least,
    between,
    derived,
    interpretation,
    last,
    printed,
)

from . import OF_V, ON_CIRCLE6, QUICK, TALK, THEOREM, P, V, end, optimal, predicted, right

SHOWN = {
    "value_ratio": r"$v(1)/v(-1)$, entries of V",
    V: OF_V,
    "kl": "KL(law || output), nats",
}
LAWS = {  # text and color; the theory of the runs has theirs
    "theorem": ("theorem", 1),
    "sqrt_law": ("sqrt law, t = ∞", 2),
    "population": ("theory, this t", 0),
}


def odds_exponent(data: xr.Dataset) -> xr.DataArray:
    """log(v(1) / v(-1)) / log(p / (1 - p)), mean over the p whose run selects the parent.

    It is 1/2 under the sqrt law, 1 for V ~ Pi^T.
    """
    ratio = last(data.value_ratio).where(right(data) & (data[P] != 0.5))
    return (np.log(ratio) / np.log(data[P] / (1 - data[P]))).mean()


def draw(data: xr.Dataset) -> plot.Drawing:
    """V at the last step against p, with both laws.

    Runs that select another token are left out and counted.
    """
    lost = int((~right(data)).sum())
    figure, axes = plot.panels(len(SHOWN))
    for ax, (name, label) in zip(axes[0], SHOWN.items(), strict=True):
        values = last(data[name]).where(right(data))
        plot.series(ax, values, P, end(data))
        for law, (text, color) in LAWS.items():
            if f"predicted_{name}_{law}" in data:
                predicted(ax, last(data[f"predicted_{name}_{law}"]), P, text, color)
        scale = "log" if name == "value_ratio" else "linear"
        plot.finish(ax, "probability of a step clockwise, p", label, yscale=scale, legend=False)
    plot.legend_below(figure, *axes[0])
    if lost:
        plot.remark(
            figure, f"{lost} of {right(data).size} runs select another token and are left out."
        )
    return figure


FIGURE = Figure(
    name="walk_direction",
    source=f"{THEOREM}: V/|V| -> Pi^T/|Pi^T|",
    finding=Finding(
        "V takes the direction of √Πᵀ, an odds exponent near 1/2, not that of Πᵀ, where the parent is selected (K = 6)",
        rests_on=("RW-11", "RW-12"),
    ),
    **ON_CIRCLE6,
    sweep={
        "vary": {P: [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95]},
        "seeds": 8,
        "steps": 500,
        "record": [0, 50, 500],
        "dtype": "float32",
    },
    quick=QUICK | {"vary": {P: [0.1, 0.3, 0.5, 0.9]}, "record": [0, 10, 50]},
    draw=draw,
    claims=(
        Claim(
            "RW-11",
            origin=printed(TALK, "theorem"),
            statement="“The value matrix converges to the true transition matrix in direction”: v(1)/v(-1) = (p/(1-p))^a with a = 1 (mean over eight p, where the parent is selected).",
            measure=Measure(
                "exponent of v(1)/v(−1) in p/(1−p), mean over p with parent selected", odds_exponent
            ),
            bound=between(0.9, 1.1),
            law=1,
            expect="fails",
            why="If it held, the transition matrix could be read off the trained weights.",
        ),
        Claim(
            "RW-12",
            origin=derived(),
            statement="V takes the direction of sqrt(Pi^T): v(1)/v(-1) = (p/(1-p))^a with a = 1/2 (mean over eight p, where the parent is selected).",
            measure=Measure(
                "exponent of v(1)/v(−1) in p/(1−p), mean over p with parent selected", odds_exponent
            ),
            bound=between(0.45, 0.55),
            law=0.5,
            why="It corrects the theorem: squares of the trained entries give the transition matrix.",
        ),
        Claim(
            "RW-14",
            origin=interpretation(TALK, "corollary"),
            statement="For 0 < p < 1, “The trained transformer achieves optimal prediction accuracy”, max(p, 1 - p), read as: K = 6, three quarters of nine p from 0.05 to 0.95 (1000 sequences each).",
            measure=Measure(
                "share of nine p from 0.05 to 0.95 with accuracy max(p, 1 − p), K = 6",
                lambda data: optimal(data).mean(),
            ),
            bound=at_least(0.75),
            why="Accuracy asks only for the largest entry, so it survives the wrong direction of V.",
        ),
    ),
)
