"""What do attention and value matrix learn on the circles of the talk (K = 20, N = 101) and of the
paper (K = 6, N = 97)?
"""

from collections.abc import Callable

import numpy as np
import xarray as xr

from jaxtheory import Figure, holds, plot
from jaxtheory.theories.random_walk import CIRCLE6

from . import PAPER, QUICK, TALK, THEORY, K, N, P, V, last, right, share

SHOWN = {
    "loss": "loss L",
    "accuracy": "accuracy",
    "parent_attention": "attention on the parent",
    V: r"direction error of V against $\Pi^\top$",
    "kl": "KL(law || output), nats",
}


def at_half(name: str, circle: int) -> Callable[[xr.Dataset], xr.DataArray]:
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
                curve = runs.get(f"predicted_{name}_population", xr.DataArray(np.nan)).squeeze()
                if curve.notnull().any():
                    plot.theory(
                        ax, data.step.values, curve.isel(seed=0).values, "B = ∞, theory", colour=i
                    )
            plot.finish(ax, "step t", label, str(circle))
    return figure


FIGURE = Figure(
    name="walk_circles",
    source=f"{TALK}, experiments at p = 1/2 and p = 1; {PAPER}, figures for K = 6, N = 97",
    theory=THEORY,
    config=CIRCLE6,
    sweep={
        "zip": {"circle": ["K=6, N=97", "K=20, N=101"], K: [6, 20], N: [97, 101]},
        "vary": {P: [0.5, 1.0]},
        "seeds": 16,
        "steps": 50,
        "record": 1,
        "buckets": "pad",
        "dtype": "float32",
    },
    quick=QUICK | {"record": [*range(11), *range(14, 51, 4)]},
    draw=draw,
    claims=(
        holds(
            "RW-1",
            "printed",
            f"{TALK}, corollary",
            "p = 1/2: the accuracy is 1/2 (90 % of the runs).",
            lambda data: abs(last(data.accuracy.sel({P: 0.5})) - 0.5) < 1e-5,
            **share(0.9),
        ),
        holds(
            "RW-2",
            "reading",
            f"{TALK}, theorem",
            "p = 1/2: from t = 4 on the parent holds at least .999 of the attention (90 % of the "
            "runs).",
            lambda data: (
                data.parent_attention.sel({P: 0.5, "step": slice(4, None)}).min("step") >= 0.999
            ),
            **share(0.9),
        ),
        holds(
            "RW-3",
            "reading",
            f"{PAPER}, K = 6",
            "p = 1/2, t = 50: V is .17 to .20 from its direction.",
            at_half(V, 0),
            between=(0.17, 0.20),
        ),
        holds(
            "RW-4",
            "reading",
            f"{TALK}, K = 20",
            "p = 1/2, t = 50: V is .11 to .16 from its direction.",
            at_half(V, 1),
            between=(0.11, 0.16),
        ),
        holds(
            "RW-5",
            "reading",
            f"{PAPER}, K = 6",
            "p = 1/2, t = 50: the loss is -1.065.",
            at_half("loss", 0),
            between=(-1.0702, -1.0602),
        ),
        holds(
            "RW-6",
            "reading",
            f"{PAPER}, K = 6",
            "p = 1/2, t = 50: KL is .20 to .25, not yet near 0.",
            at_half("kl", 0),
            between=(0.20, 0.25),
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
            lambda data: data.attention_spread.sel({P: 1.0}).max("step") < 1e-12,
            **share(1.0),
        ),
    ),
)
