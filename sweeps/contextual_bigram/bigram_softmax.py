"""Does softmax attention learn the task, and how fast may it go?"""

import numpy as np
import xarray as xr

from jaxtheory import Figure, plot, undecided

from . import (
    PAPER,
    QUICK,
    SGD,
    THEORY,
    Config,
    derived,
    end,
    median,
    ratio,
    reading,
    right,
    runs,
)
from ._curves import at, draw_runs, tasks

LINEAR, SOFT, FASTER, TFOLD = (
    "linear, proximal",
    "softmax, κ = 1",
    "softmax, κ = 4",
    "softmax, κ = T",
)
CONTEXT = 200


def draw(data: xr.Dataset) -> plot.Drawing:
    """Excess loss, cosines and |A - Q| in t; a thin line per task."""
    figure, axes = plot.panels(
        4, title=f"Softmax attention{at(FIGURE, data)}, {tasks(data)}", width=3.4
    )
    names = (
        "relative_excess_loss",
        "attention_cosine",
        "attention_distance",
        "value_cosine_centered",
    )
    draw_runs(axes[0], data.where(right(data)), names, seeds=True)
    plot.reference(axes[0, 1], None, np.sqrt(0.5), says=r"$\sqrt{1/2}$")
    plot.legend_below(figure, axes[0, 0])
    return figure


FIGURE = Figure(
    name="bigram_softmax",
    source=f"{PAPER}, section 5.2",
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
        **runs(12, 1500, every=75),
    },
    quick=QUICK
    | {"zip": {"run": [SOFT, TFOLD], "algorithm": ["softmax"] * 2, "softmax_rate": [1.0, 128.0]}},
    draw=draw,
    claims=(
        median(
            *reading(
                "CB-29",
                "section 5.2",
                "“qualitatively similar behaviors”, read as: softmax attention at kappa = 1 ends "
                "with a cosine of A and Q of at least .95, median.",
            ),
            end("attention_cosine", SOFT),
            at_least=0.95,
        ),
        median(
            *reading(
                "CB-30",
                "section 5.2",
                "The same, read as: with at most .03 of the excess loss, median.",
            ),
            end("relative_excess_loss", SOFT),  # measured .010, and .004 to .053
            at_most=0.03,
        ),
        median(
            *derived(
                "CB-31",
                "derived",
                "At the rate kappa = T that matches the linear model's first steps it collapses: a "
                "cosine of at most .75, median.",
            ),
            end("attention_cosine", TFOLD),
            at_most=0.75,
        ),
        undecided(  # not measured on keys from 100 on
            *reading(
                "CB-32",
                "section 5.2",
                "“roughly ignore those positions with a small attention weight”, read as: off the "
                "support the entries of A spread at most half as far as those of linear SGD.",
            ),
            ratio("off_support_std", SOFT, SGD),
            statistic="each",
            at_most=0.5,
        ),
    ),
)
