"""How does training go on after one step from a pre-trained V, against that from the trivial V?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_most, interpretation

from . import PAPER, THEORY, THRESHOLD, TRANSFER, Config
from ._curves import at, draw_runs, draw_tasks

PRE, PLAIN, SCRATCH = "transfer", "transfer, λ = 0", "proximal from the trivial V"
ROUNDED = ("rounded_attention_distance", "rounded_value_distance")


def remaining_excess(data: xr.Dataset) -> xr.DataArray:
    """The excess loss that transfer leaves after 200 steps over that from the trivial V."""
    loss = data.relative_excess_loss.sel(step=200)
    return loss.sel(run=PRE) / loss.sel(run=SCRATCH)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Excess loss and cosine in t from both starts; distances after rounding, a mark per task."""
    tasks = f"{data.sizes['seed']} tasks"
    figure, axes = plot.panels(
        3, title=f"After one step from a pre-trained V{at(FIGURE, data)}, {tasks}", width=3.3
    )
    names = ("relative_excess_loss", "attention_cosine")
    draw_runs(axes[0, :2], data, names)
    for color, run in enumerate(data.run.values):
        for place, name in enumerate(ROUNDED):
            values = data[name].sel(run=run).clip(min=1e-5)
            draw_tasks(axes[0, 2], 4 * place + color, values, color)
    axes[0, 2].set_xticks([1, 5], [r"$\|A - Q\|_\mu$", r"$\|V - P\|_\mu$, best V"])
    plot.finish(axes[0, 2], "", "distance after rounding", yscale="log", legend=False)
    plot.legend_below(figure, axes[0, 0])
    plot.remark(figure, "Small marks: one per task, in their order, at least 1e-5.")
    return figure


FIGURE = Figure(
    name="bigram_pretrained",
    source=f"{PAPER}, section 4 and appendix H",
    finding=Finding(
        "After 200 steps, training from a pre-trained V (ρ = 1) leaves at most 1/4 of the trivial start's excess loss",
        rests_on=("CB-52",),
    ),
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
            statement="“bypass the initial sample-intensive signal-boosting stage”, read as: after 200 steps of 64 samples, training that starts from the pre-trained V leaves at most a quarter of the excess loss that training from the trivial V leaves.",
            measure=Measure(
                "excess loss after 200 steps, from the pre-trained over the trivial V",
                remaining_excess,
            ),
            bound=at_most(0.25),
            why="It is the benefit of transfer in samples: the long plateau of stage one is gone.",
        ),
        Claim(
            "CB-55",
            origin=interpretation(PAPER, "theorem 4.1"),
            statement="“running Algorithm 1 from Stage 2 allows us to recover” the task, read as: after 600 more steps, the distances of the rounded A from Q, and of the best V for it from P, are at most 0.1.",
            measure=Measure(
                "distance after rounding, A to Q and best V to P, pre-trained start",
                lambda d: d[[*ROUNDED]].sel(run=PRE).to_array("metric"),
            ),
            bound=at_most(0.1),
            panel=2,
            why="The theorem promises both matrices, and the one step alone does not give them.",
        ),
    ),
)
