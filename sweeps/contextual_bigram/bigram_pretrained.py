"""How does training go on after one step from a pre-trained V, against training from the trivial
one?
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_least, at_most, interpretation

from . import PAPER, THEORY, THRESHOLD, TRANSFER, Config, Measure, end, rebound
from ._curves import CURVES, at, draw_runs

PRE, PLAIN, SCRATCH = "transfer", "transfer, λ = 0", "proximal from the trivial V"


def likely(data: xr.Dataset) -> xr.DataArray:
    """Tasks on which the law expects the one step to recover 95 % of the columns or more."""
    return data.predicted_support_match_one_step.isel(step=0).sel(run=PRE, drop=True) >= 0.95


def at_200(run: str) -> Measure:
    """Excess loss over the initial one after 200 steps."""
    return lambda data: data.relative_excess_loss.sel(step=200, run=run, drop=True).where(
        likely(data)
    )


def draw(data: xr.Dataset) -> plot.Drawing:
    """Distance, cosine and excess loss in t from both starts; rounded distances, a mark per run."""
    tasks = f"{int(likely(data).sum())} of {data.sizes['seed']} tasks, those of law ≥ 0.95"
    figure, axes = plot.panels(
        4, title=f"After one step from a pre-trained V{at(FIGURE, data)}: {tasks}", width=3.3
    )
    data = data.where(likely(data))
    draw_runs(axes[0, :3], data, CURVES, counted=False, seeds=True)
    for color, run in enumerate(data.run.values):
        style = {"color": plot.COLORS[color], "alpha": 0.6, "markersize": 3, "linestyle": "none"}
        for place, name in enumerate(("rounded_attention_distance", "rounded_value_distance")):
            values = np.maximum(data[name].sel(run=run), 1e-5)
            axes[0, 3].plot(
                np.full(values.size, place + 0.15 * color),
                values,
                marker=plot.MARKERS[color],
                **style,
            )
    axes[0, 3].set_xticks([0.07, 1.07], [r"$\|A - Q\|_\mu$", r"$\|V - P\|_\mu$"])
    plot.finish(
        axes[0, 3],
        "",
        "distance after rounding",
        "V: best for A (oracle)",
        yscale="log",
        legend=False,
    )
    plot.legend_below(figure, axes[0, 0])
    plot.remark(figure, "Marks: one per run.")
    return figure


FIGURE = Figure(
    name="bigram_pretrained",
    source=f"{PAPER}, section 4 and appendix H",
    theory=THEORY,
    config=Config(length=500, batch_size=64, stage_threshold=THRESHOLD),
    sweep={
        "zip": {
            "run": [PRE, PLAIN, SCRATCH],
            "algorithm": ["transfer", "transfer", "proximal"],
            "switch_step": [64, 64, 400],
            "l1": [1e-5, 0.0, 1e-5],
        },
        "seeds": 24,
        "steps": 664,
        "record": [0, 32, 64, *range(100, 664, 50), 664],
        "dtype": "float32",
    },
    quick={
        **TRANSFER,
        "zip": {
            "run": [PRE, PLAIN],
            "algorithm": ["transfer"] * 2,
            "switch_step": [16] * 2,
            "l1": [1e-5, 0.0],
        },
        "steps": 30,
        "record": [0, 8, 16, 23, 30],
    },
    draw=draw,
    claims=(
        Claim(
            "CB-52",
            origin=interpretation(PAPER, "section 4"),
            statement="“bypass the initial sample-intensive signal-boosting stage”, read as: after 200 steps of 64 samples at most 0.2 of the excess loss is left, in each run.",
            measure=at_200(PRE),
            bound=at_most(0.2),
            statistic="each",
        ),
        Claim(
            "CB-53",
            origin=interpretation(PAPER, "section 4"),
            statement="“bypass the initial sample-intensive signal-boosting stage”, read as: from the trivial V more than 0.8 of the excess loss is left, in each run.",
            measure=at_200(SCRATCH),
            bound=at_least(0.8),
            statistic="each",
        ),
        Claim(
            "CB-54",
            origin=interpretation(PAPER, "theorem 4.1"),
            statement="“running Algorithm 1 from Stage 2 allows us to recover” the task, read as: after 600 more steps, rounding recovers the support of at least 90 % of the columns.",
            measure=end("support_recovery", PRE, likely),
            bound=at_least(0.9),
        ),
        Claim(
            "CB-55",
            origin=interpretation(PAPER, "theorem 4.1"),
            statement="“running Algorithm 1 from Stage 2 allows us to recover” the task, read as: the median distance of the rounded A from Q is at most 0.1.",
            measure=end("rounded_attention_distance", PRE, likely),
            bound=at_most(0.1),
            statistic="median",
        ),
        Claim(
            "CB-56",
            origin=interpretation(PAPER, "theorem 4.1"),
            statement="“running Algorithm 1 from Stage 2 allows us to recover” the task, read as: the best V for the rounded A is within 0.03 of P, in each run.",
            measure=end("rounded_value_distance", PRE, likely),
            bound=at_most(0.03),
            statistic="each",
        ),
        Claim(
            "CB-57",
            origin=interpretation(PAPER, "appendix I"),
            statement="“we must stop early”, read as: here, too, the excess loss of the median run ends at 1.3 times its least value or more.",
            measure=rebound(PRE, likely),
            bound=at_least(1.3),
            statistic="median",
        ),
    ),
)
