"""What do attention and value matrix learn on the circles of the talk (K = 20, N = 101) and of the
paper (K = 6, N = 97)?
"""

import xarray as xr

from jaxtheory import Figure, holds, plot

from . import (
    COROLLARY,
    FULL,
    OF_V,
    ON_CIRCLE6,
    PAPER,
    QUICK,
    TALK,
    THEOREM,
    K,
    Measure,
    N,
    P,
    V,
    last,
    optimal,
    predicted,
    right,
    share,
)

K6, K20 = f"{PAPER}, K = 6", f"{TALK}, K = 20"
SHOWN = {
    "loss": "loss L",
    "accuracy": "accuracy",
    "parent_attention": "attention on the parent",
    V: OF_V,
    "kl": "KL(law || output), nats",
}


def at_half(name: str, circle: int) -> Measure:
    """A metric of one circle at the end and p = 1/2, where the parent is selected (K = 6: all but 1
    in 100 runs).
    """
    return lambda data: last(data[name]).where(right(data)).sel({P: 0.5}).isel(circle=circle)


def draw(data: xr.Dataset) -> plot.Drawing:
    """A row per circle, a panel per metric, a colour per p; dashed: infinitely many sequences, and
    the limits of the accuracy.
    """
    figure, axes = plot.panels(len(SHOWN), data.sizes["circle"], width=3.0, height=2.6)
    for row, circle in enumerate(data.circle.values):
        for ax, (name, label) in zip(axes[row], SHOWN.items(), strict=True):
            for i, p in enumerate(data[P].values):
                runs = data.sel({"circle": circle, P: p})
                plot.series(ax, runs[name], "step", f"p = {p:g}", colour=i, markers=False)
                if name == "accuracy":
                    plot.theory(
                        ax, 0, float(runs.predicted_accuracy.max()), "theory" if i else "", colour=i
                    )
                curve = runs.get(f"predicted_{name}_population")
                if curve is not None and curve.notnull().any():
                    predicted(ax, curve, "step", "B = ∞, theory", i)
            plot.finish(ax, "step t", label, str(circle))
    return figure


FIGURE = Figure(
    name="walk_circles",
    source=f"{TALK}, experiments at p = 1/2 and p = 1; {PAPER}, figures for K = 6, N = 97",
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
        holds(
            "RW-1",
            "printed",
            COROLLARY,
            "p = 1/2: the accuracy is 1/2 (90 % of the runs).",
            **share(0.9, lambda data: optimal(data).sel({P: 0.5})),
        ),
        holds(
            "RW-2",
            "reading",
            THEOREM,
            "p = 1/2: from t = 4 on the parent holds at least .999 of the attention (90 % of the "
            "runs).",
            **share(
                0.9,
                lambda data: (
                    data.parent_attention.sel({P: 0.5, "step": slice(4, None)}).min("step") >= 0.999
                ),
            ),
        ),
        *(
            holds(id, "reading", source, f"p = 1/2, t = 50: {text}", measure, between=span)
            for id, source, measure, span, text in (
                ("RW-3", K6, at_half(V, 0), (0.17, 0.20), "V is .17 to .20 from its direction."),
                ("RW-4", K20, at_half(V, 1), (0.11, 0.16), "V is .11 to .16 from its direction."),
                ("RW-5", K6, at_half("loss", 0), (-1.0702, -1.0602), "the loss is -1.065."),
                ("RW-6", K6, at_half("kl", 0), (0.20, 0.25), "KL is .20 to .25, not yet near 0."),
            )
        ),
        holds(
            "RW-7",
            "printed",
            f"{TALK}, p = 1",
            "p = 1: the accuracy stays that of a random guess (K times the accuracy is 1).",
            # the share of one label among 1000 test sequences: K accuracy is 1 up to sqrt((K - 1) /
            # 1000) a run
            lambda data: last(data.accuracy.sel({P: 1.0})) * data[K],
            where="together",
            between=(0.85, 1.15),
        ),
        holds(
            "RW-8",
            "printed",
            f"{TALK}, p = 1",
            "p = 1: attention stays uniform over the tokens on a finite sample, too.",
            **share(1.0, lambda data: data.attention_spread.sel({P: 1.0}).max("step") < 1e-12),
        ),
    ),
)
