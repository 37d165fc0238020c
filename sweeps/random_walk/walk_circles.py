"""What do attention and value matrix learn on the circle of the talk and on a smaller one?

The circle of the talk has K = 20, N = 101, the smaller one K = 6, N = 97.
"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, derived, interpretation, printed

from . import FULL, ON_CIRCLE6, QUICK, TALK, K, N, P, optimal

SHOWN = {
    "parent_attention": "attention on the parent",
    "accuracy": "accuracy",
}


def draw(data: xr.Dataset) -> plot.Drawing:
    """A row per circle, a panel per metric, a color per p; dashed: the limits of the accuracy."""
    figure, axes = plot.panels(len(SHOWN), data.sizes["circle"])
    for row, circle in zip(axes, data.circle.values, strict=True):
        for ax, (name, label) in zip(row, SHOWN.items(), strict=True):
            for color, p in enumerate(data[P].values):
                runs = data.sel({"circle": circle, P: p})
                plot.series(ax, runs[name], "step", f"p = {p:g}", color=color, markers=False)
                if name == "accuracy":
                    limit = float(runs.predicted_accuracy.max())
                    plot.theory(ax, 0, limit, "", color=color, says="limit")
            ax.set_ylim(-0.03, 1.05 if name == "parent_attention" else 0.6)
            plot.finish(ax, "step t", label, str(circle), legend=False)
    plot.legend_below(figure, axes[0, 0])
    return figure


FIGURE = Figure(
    name="walk_circles",
    source=f"{TALK}, experiments at p = 1/2 and p = 1",
    finding=Finding(
        "From t = 4 the parent gets ≥ 0.999 of attention at p = 1/2, but at p = 1 with N = rK + 1 attention is uniform",
        rests_on=("RW-2", "RW-8"),
    ),
    **ON_CIRCLE6,
    sweep=FULL
    | {
        "zip": {"circle": ["K=6, N=97", "K=20, N=101"], K: [6, 20], N: [97, 101]},
        "vary": {P: [0.5, 1.0]},
        "record": 1,
    },
    quick=QUICK | {"record": [*range(11), *range(14, 51, 4)]},
    draw=draw,
    claims=(
        Claim(
            "RW-1",
            origin=printed(TALK, "corollary"),
            statement="At p = 1/2, “The trained transformer achieves optimal prediction accuracy”, 1/2, on both circles (1000 sequences each).",
            measure=Measure(
                "accuracy optimal at p = 1/2, t = 50, each circle (1: yes)",
                lambda data: optimal(data).sel({P: 0.5}),
            ),
            bound=at_least(1),
            why="It is the talk's own experiment, and the least that training must give.",
        ),
        Claim(
            "RW-2",
            origin=interpretation(TALK, "theorem"),
            statement="At p = 1/2, “Softmax attention selects the “direct parent” token”, read as at least 0.999 of the attention from t = 4 on, on both circles (1000 sequences each).",
            measure=Measure(
                "attention on the parent, p = 1/2, each circle and t from 4 to 50",
                lambda data: data.parent_attention.sel({P: 0.5, "step": slice(4, None)}),
            ),
            bound=at_least(0.999),
            diverged="violates",
            why="The trained layer can be interpreted because its attention is nearly one-hot after a few steps.",
        ),
        Claim(
            "RW-8",
            origin=derived("derived: the theorem's symmetry holds on every sample"),
            statement="At p = 1 and N = rK + 1 the failure does not need infinitely many sequences: on every sample all tokens keep the same attention, within 1e-12 at each step.",
            measure=Measure(
                "max − min of attention over tokens, p = 1, each circle, at every step",
                lambda data: data.attention_spread.sel({P: 1.0}),
            ),
            bound=at_most(1e-12),
            q=1,
            diverged="violates",
            why="Sampling noise could break the symmetry of the failing run, and it does not.",
        ),
    ),
)
