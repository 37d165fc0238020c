"""Does V take the direction of the transition matrix, or of its square root, as p varies?"""

import numpy as np
import xarray as xr

from jaxtheory import Figure, holds, plot, refuted

from . import (
    COROLLARY,
    OF_V,
    ON_CIRCLE6,
    QUICK,
    THEOREM,
    P,
    V,
    end,
    last,
    optimal,
    predicted,
    right,
    share,
)

SHOWN = {
    "value_ratio": r"$v(1)/v(-1)$, entries of V",
    V: OF_V,
    "kl": "KL(law || output), nats",
}
TO_PI = (
    "“The value matrix converges to the true transition matrix in direction”: v(1)/v(-1) = "
    "(p/(1-p))^a with a = 1."
)
TO_ROOT = "V takes the direction of sqrt(Pi^T), entry by entry: a = 1/2."
LAWS = {"theorem": "theorem", "sqrt_law": "sqrt law, t = ∞", "population": "theory, this t"}


def odds_exponent(data: xr.Dataset) -> xr.DataArray:
    """Slope of log(v(1) / v(-1)) against log(p / (1 - p)), runs that select the parent: 1/2 under
    the sqrt law, 1 for V ~ Pi^T.
    """
    ratio = last(data.value_ratio).where(right(data)).where(data[P] != 0.5, drop=True)
    ratio = xr.where(ratio[P] < 0.5, 1 / ratio, ratio)
    return np.log(ratio) / abs(np.log(ratio[P] / (1 - ratio[P])))


def draw(data: xr.Dataset) -> plot.Drawing:
    """V at the last step against p, with both laws; runs that select another token are left out and
    counted.
    """
    lost = int((~right(data)).sum())
    title = "V takes the direction of the square root, not that of the transition matrix"
    figure, axes = plot.panels(len(SHOWN), title=title)
    for ax, (name, label) in zip(axes[0], SHOWN.items(), strict=True):
        values = last(data[name]).where(right(data))
        plot.series(ax, values, P, end(data))
        for color, (law, text) in enumerate(LAWS.items(), 1):
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
        *(
            judge(id, origin, source, text, odds_exponent, where="together", between=span)
            for judge, id, origin, source, span, text in (
                (refuted, "RW-11", "printed", THEOREM, (0.9, 1.1), TO_PI),
                (holds, "RW-12", "derived", "derived", (0.45, 0.55), TO_ROOT),
            )
        ),
        holds(
            "RW-13",
            "reading",
            THEOREM,
            "K = 6, .05 <= p <= .95: “Softmax attention selects the “direct parent” token”, read "
            "as at least .999 of the attention (85 % of the runs).",
            **share(0.85, lambda data: last(data.parent_attention) >= 0.999),
        ),
        holds(
            "RW-14",
            "printed",
            COROLLARY,
            "“The trained transformer achieves optimal prediction accuracy”, max(p, 1 - p): every "
            "run in which the parent is selected.",
            **share(1.0, lambda data: optimal(data).astype(float).where(right(data))),
        ),
    ),
)
