"""Do the errors of V and of the output fall as t^(-1/2)?"""

from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import Figure, holds, plot, refuted, statistics

from . import COROLLARY, OF_V, ON_CIRCLE6, QUICK, THEOREM, B, P, V, predicted, right

SHOWN = {
    f"{V}_sqrt": r"direction error of V against $\sqrt{\Pi^\top}$",
    V: OF_V,
    "output_error": "direction error of f against the law",
}
# t = 50..300, within which 10000 sequences are still far from their sampling floor
WINDOW = slice(50, 300)


def as_root(name: str, p: float) -> dict[str, Any]:
    """Measure and bound of falling as t^(-1/2): a metric's exponent at the largest sample, over the
    runs that select the parent.
    """
    runs = lambda data: data[name].where(right(data)).sel({P: p, "step": WINDOW}).isel({B: -1})
    return {"measure": lambda data: statistics.slope(runs(data), "step"), "between": (-0.55, -0.45)}


def draw(data: xr.Dataset) -> plot.Drawing:
    """Three errors in t for two p, solid for the largest sample; dashed: infinitely many sequences,
    and t^(-1/2).
    """
    figure, axes = plot.panels(len(SHOWN), width=3.8, height=3.2)
    late = data.isel(step=data.step.values >= 3).where(right(data))
    for ax, (name, label) in zip(axes[0], SHOWN.items(), strict=True):
        for i, (p, size) in enumerate((p, size) for p in data[P].values for size in data[B].values):
            plot.series(
                ax, late[name].sel({P: p, B: size}), "step", f"p = {p:g}, B = {size}", colour=i
            )
        if name == V:
            for i, p in enumerate(data[P].values, 4):
                curve = late[f"predicted_{V}_population"].sel({P: p}).isel({B: -1})
                predicted(ax, curve, "step", f"p = {p:g}, B = ∞", i)
        else:
            t, start = late.step.values, late[name].sel({P: 0.5}).isel({B: -1, "step": 0}).mean()
            plot.theory(ax, t, float(start) * np.sqrt(t[0] / t), r"$t^{-1/2}$")
        plot.finish(ax, "step t", label, xscale="log", yscale="log")
        ticks = [t for t in (3, 10, 30, 100, 300) if t <= late.step[-1]]
        ax.set_xticks(ticks, [str(t) for t in ticks])
        ax.tick_params(axis="x", which="minor", labelbottom=False)
    return figure


FIGURE = Figure(
    name="walk_rate",
    source=f"{THEOREM} and corollary: O(1/sqrt T)",
    **ON_CIRCLE6,
    sweep={
        "vary": {P: [0.5, 0.7], B: [1000, 10000]},
        "seeds": 8,
        "steps": 300,
        "record": [0, 1, 2, 3, 5, 10, 20, 50, 70, 100, 140, 200, 300],
        "buckets": "exact",
        "dtype": "float32",
    },
    quick=QUICK
    | {"vary": {P: [0.5, 0.7], B: [1000]}, "seeds": 4, "record": [0, 1, 2, 3, 5, 10, 20, 50]},
    draw=draw,
    # measured at B = 10000, 4 seeds: -.493 (p = .5 and .7, sqrt law), -.148 (p = .7, Pi), -.499 and
    # -.149 (outputs); B = 20000: -.500
    claims=(
        holds(
            "RW-15",
            "printed",
            THEOREM,
            "p = 1/2: the direction error of V falls as t^(-1/2).",
            **as_root(V, 0.5),
        ),
        holds(
            "RW-16",
            "derived",
            "derived",
            "p = .7: against sqrt(Pi^T) it falls as t^(-1/2), too.",
            **as_root(f"{V}_sqrt", 0.7),
        ),
        refuted(
            "RW-17",
            "printed",
            THEOREM,
            "p = .7: against Pi^T it falls as t^(-1/2).",
            **as_root(V, 0.7),
        ),
        holds(
            "RW-18",
            "reading",
            COROLLARY,
            "p = 1/2: the output's direction error falls as t^(-1/2), the law normalised as the "
            "output is.",
            **as_root("output_error", 0.5),
        ),
        refuted(
            "RW-19",
            "reading",
            COROLLARY,
            "p = .7: the output's direction error falls as t^(-1/2).",
            **as_root("output_error", 0.7),
        ),
    ),
)
