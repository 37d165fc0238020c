"""Do the samples of stage two grow with the length of the contexts, and what enters the prox?

With simulated noise, so that B is free. A step's noise per entry is about 0.07 / sqrt(B): above
lambda = 1e-3 at B = 1024, a thirtieth of it at B = 2^22.
"""

from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_least,
    at_most,
    between,
    derived,
    exponent,
    fitted_law,
    interpretation,
)

from . import EXACT, PAPER, QUICK, SGD, THEORY, B, Config, Function, T, end, right, runs
from ._curves import CURVES, power

WEAK, STRONG = "λ = 1e-5", "λ = 1e-3"
BEFORE = ", before the prox"
SMALL, LARGE = 1024, 2**22
SWITCH = 160  # the first step with a prox


def growth(run: str) -> Function:
    """The exponent of |Delta_A| in T at the end, per task."""
    return lambda data: exponent(end("attention_residual", run)(data), T)


def entries(run: str) -> Function:
    """The largest share, over steps with a prox, of the entries below -lambda before it."""
    return lambda data: (
        data.below_lambda.sel(run=run + BEFORE, step=slice(SWITCH, None), drop=True)
        .max("step")
        .where(right(data).sel(run=run + BEFORE, drop=True))
    )


def at(size: int, measure: Function) -> Function:
    """The same measure at one batch size."""
    return lambda data: measure(data).sel({B: size})


def draw(data: xr.Dataset) -> plot.Drawing:
    """|Delta_A| against T, and the share of entries below -lambda before the prox."""
    sizes = np.unique(data[B].values[[0, -1]])
    figure, axes = plot.panels(
        len(sizes) + 1,
        width=3.8,
        height=3.2,
    )
    for ax, size in zip(axes[0], sizes, strict=False):
        for color, run in enumerate(r for r in data.run.values if BEFORE not in r):
            values = end("attention_residual", run)(data).sel({B: size})
            plot.series(ax, values, T, str(run), color=color)
            plot.law(ax, fitted_law(values, T))
        label = CURVES["attention_residual"]
        plot.finish(
            ax, "length T", label, f"B = {power(size)}", legend=False, xscale="log", yscale="log"
        )
        plot.ticks(ax.xaxis, data[T].values)
    for color, run in enumerate(r for r in data.run.values if BEFORE in r):
        low = end("below_lambda", run)(data).isel({T: -1})
        plot.series(axes[0, -1], low, B, str(run).removesuffix(BEFORE), color=color + 1)
    axes[0, -1].set_ylim(-0.02, None)
    label = "share of entries below -λ"
    plot.finish(axes[0, -1], "batch size B", label, "before the prox", xscale="log", legend=False)
    plot.legend_below(figure, axes[0, 0])
    return figure


RUNS: dict[str, Any] = {
    "run": [SGD, WEAK, STRONG, WEAK + BEFORE, STRONG + BEFORE],
    "algorithm": ["noise"] * 3 + ["noise_entry"] * 2,
    "l1": [0.0, 1e-5, 1e-3, 1e-5, 1e-3],
}
FIGURE = Figure(
    name="bigram_stage_two",
    source=f"{PAPER}, theorem 3.1, section 3.3 and lemma E.4",
    finding=Finding(
        "The attention noise ‖Δ_A‖ grows with T about as √T under SGD, with an exponent ≤ 0.3 at λ = 10⁻³, B = 2²²",
        rests_on=("CB-58", "CB-59"),
    ),
    theory=THEORY,
    config=Config(learning_rate=0.05, late_learning_rate=0.03, switch_step=SWITCH),
    sweep={
        "zip": RUNS,
        "vary": {B: [SMALL, LARGE], T: [64, 104, 176, 304, 512]},
        **runs(12, 400, every=200),
    },
    quick=QUICK | EXACT | {"zip": {k: v[1:3] for k, v in RUNS.items()}},
    draw=draw,
    claims=(
        Claim(
            "CB-58",
            origin=interpretation(PAPER, "section 3.3"),
            statement="“the variance of the mini-batch gradients scales with” T, read as: the |Delta_A| of SGD grows with T with an exponent of 0.35 to 0.65, at every B.",
            measure=Measure(
                "exponent in T of |Δ_A| at the end, SGD, B = 1024 and 2^22", growth(SGD)
            ),
            bound=between(0.35, 0.65),
            why="It is the reason for the l1 term: without it stage two would cost as many samples as stage one.",
        ),
        Claim(
            "CB-59",
            origin=interpretation(PAPER, "theorem 3.1"),
            statement="“followed by a more sample-efficient stage”, read as: with lambda above the noise of a step (B = 2^22), |Delta_A| grows with T with an exponent of at most 0.3.",
            measure=Measure(
                "exponent in T of |Δ_A| at the end, λ = 1e-3, B = 2^22", at(LARGE, growth(STRONG))
            ),
            bound=at_most(0.3),
            why="The theorem's second sample size does not contain T, and this is where that can be seen.",
        ),
        Claim(
            "CB-60",
            origin=derived("derived: positive noise passes the prox"),
            statement="With the source's lambda = 1e-5, below the noise of a step (B = 1024), |Delta_A| grows with T with an exponent of at least 0.1.",
            measure=Measure(
                "exponent in T of |Δ_A| at the end, λ = 1e-5, B = 1024", at(SMALL, growth(WEAK))
            ),
            bound=at_least(0.1),
            why="In the source's own experiments the l1 term is too weak for the theorem's second stage.",
        ),
        Claim(
            "CB-61",
            origin=interpretation(PAPER, "section 2.3"),
            statement="“we will later show that no” entry “can ever become smaller than” -lambda before the prox, read as of runs with lambda far above the noise of a step (lambda = 1e-3, B = 2^22): no entry is, at any recorded step with a prox, in each run.",
            measure=Measure(
                "max share of entries < −λ before the prox, λ = 1e-3, B = 2^22, each T",
                at(LARGE, entries(STRONG)),
            ),
            bound=at_most(0.0),
            q=1,
            panel=-1,
            why="The two cases of equation (6) are a prox only if this is true.",
        ),
        Claim(
            "CB-62",
            origin=derived("derived: lambda below the noise of a step"),
            statement="At the lambda = 1e-5 of the experiments (B = 1024), at least a fifth of the entries of A become smaller than -lambda before the prox.",
            measure=Measure(
                "share of entries < −λ before the last prox, λ = 1e-5, B = 1024, each T",
                at(SMALL, end("below_lambda", WEAK + BEFORE)),
            ),
            bound=at_least(0.2),
            panel=-1,
            why="The experiments' update is then not the prox of the l1 term but a cut at zero.",
        ),
    ),
)
