"""Does softmax attention learn the task, and how fast may it go?"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, between, derived, interpretation

from . import PAPER, QUICK, SGD, THEORY, Config, end, ratio, right, runs
from ._curves import ALPHAS, CURVES, at, draw_runs, tasks

LINEAR, SOFT, FASTER, TFOLD = (
    "linear, proximal",
    "softmax, κ = 1",
    "softmax, κ = 4",
    "softmax, κ = T",
)
CONTEXT = 200


def first(data: xr.Dataset, share: float) -> xr.DataArray:
    """The first recorded step with at most this share of the excess loss; infinite if none."""
    low = data.relative_excess_loss <= share
    return data.step.isel(step=low.argmax("step")).drop_vars("step").where(low.any("step"), np.inf)


def acceleration(data: xr.Dataset) -> xr.DataArray:
    """The rate of the excess loss from 0.9 to 0.1 over that from 1 to 0.9; 0 without an end."""
    runs = data.sel(run=[LINEAR, SGD, SOFT])
    slow, fast = first(runs, 0.9), first(runs, 0.1) - first(runs, 0.9)
    return (8 * slow / fast).where(fast < np.inf, 0).where(right(runs))


def early_ratio(data: xr.Dataset) -> xr.DataArray:
    """Metrics of softmax attention at kappa = T over those of linear SGD, for 20 steps."""
    names = ["attention_alignment", "value_alignment", "attention_residual"]
    early = data[names].sel(step=[5, 10, 15, 20]).where(right(data)).to_array("metric")
    return early.sel(run=TFOLD, drop=True) / early.sel(run=SGD, drop=True)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Early metrics at kappa = T over those of SGD; cosine and excess loss in t."""
    figure, axes = plot.panels(
        3, title=f"Softmax attention{at(FIGURE, data)}, {tasks(data)}", width=3.4
    )
    if {SGD, TFOLD} <= {*data.run.values}:
        early = early_ratio(data).dropna("seed", how="all")
        for color, name in enumerate(early.metric.values):
            label = (CURVES | ALPHAS)[name].removeprefix("off the line, ")
            plot.series(axes[0, 0], early.sel(metric=name), "step", label, color=color)
    plot.finish(axes[0, 0], "step t", "softmax, κ = T / SGD")
    names = ("attention_cosine", "relative_excess_loss")
    draw_runs(axes[0, 1:], data.where(right(data)), names)
    plot.reference(axes[0, 1], None, np.sqrt(0.5), says=r"$\sqrt{1/2}$")
    plot.legend_below(figure, axes[0, 1])
    return figure


FIGURE = Figure(
    name="bigram_softmax",
    source=f"{PAPER}, section 5.2",
    finding=Finding(
        "At rate κ = T softmax attention tracks linear SGD within 20 % for 20 steps, but ends on one of two positions",
        rests_on=("CB-84", "CB-31"),
    ),
    theory=THEORY,
    config=Config(length=CONTEXT),
    sweep={
        "zip": {
            "run": [LINEAR, SGD, SOFT, FASTER, TFOLD],
            "algorithm": ["proximal", "sgd", "softmax", "softmax", "softmax"],
            "softmax_rate": [1.0, 1.0, 1.0, 4.0, float(CONTEXT)],
            "switch_step": [400, 400, 1000, 1000, 1000],
            "late_learning_rate": [0.01, 0.01, 0.005, 0.005, 0.005],
        },
        **runs(12, 1500, every=25),
        "record": [*range(0, 50, 5), *range(50, 1501, 25)],
    },
    quick=QUICK
    | {"zip": {"run": [SOFT, TFOLD], "algorithm": ["softmax"] * 2, "softmax_rate": [1.0, 128.0]}},
    draw=draw,
    claims=(
        Claim(
            "CB-29",
            origin=interpretation(PAPER, "section 5.2"),
            statement="“there will be a sample-intensive initial stage, and after the model and the target have a nontrivial correlation, proximal gradient descent/SGD will become much more sample efficient”, read as: at equal samples a step, the excess loss falls at least 4 times as fast from 0.9 to 0.1 of its start as before, for prox, SGD and softmax.",
            measure=Measure(
                "speed of excess loss, 0.9 to 0.1 over 1 to 0.9, prox, SGD, softmax", acceleration
            ),
            bound=at_least(4.0),
            why="The theory is on linear attention, and counts for transformers only if softmax goes through the same stages.",
        ),
        Claim(
            "CB-84",
            origin=interpretation(PAPER, "section 5.2"),
            statement="“Near initialization”, “our linear model and softmax transformers are approximately equivalent up to a change in learning rates”, read as: with kappa = T on the same batches, alpha_A, alpha_V and |Delta_A| of softmax attention are those of linear SGD within 20 % for 20 steps.",
            measure=Measure(
                "α_A, α_V, |Δ_A| of softmax, κ = T, over those of SGD, t = 5 to 20", early_ratio
            ),
            bound=between(0.8, 1.2),
            panel=0,
            why="It says at which rate a softmax experiment repeats the linear one, and CB-31 for how long.",
        ),
        Claim(
            "CB-31",
            origin=derived("derived: the limit of the rate that section 5.2 equates"),
            statement="If the rate kappa = T is kept, softmax attention collapses to one of the Q = 2 attended positions: the cosine of A and Q ends at sqrt(1/2) within 0.02.",
            measure=Measure(
                "cosine of A and Q at the end, softmax, κ = T", end("attention_cosine", TFOLD)
            ),
            bound=between(np.sqrt(0.5) - 0.02, np.sqrt(0.5) + 0.02),
            law=np.sqrt(0.5),
            panel=1,
            why="The equivalence near the start must not be used to choose the rate of a whole run.",
        ),
        Claim(
            "CB-32",
            origin=interpretation(PAPER, "section 5.2"),
            statement="“roughly ignore those positions with a small attention weight to stabilize the gradients”, read as: off the support, the entries of A spread at most a hundredth as far as those of linear SGD.",
            measure=Measure(
                "spread of A off the support at the end, softmax (κ = 1) over SGD",
                ratio("off_support_std", SOFT, SGD),
            ),
            bound=at_most(0.01),
            why="Softmax then does for free what the l1 term has to do in linear attention.",
        ),
    ),
)
