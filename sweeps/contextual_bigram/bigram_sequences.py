"""Does training on sequences that the task generated, whose tokens depend on each other, cost
anything?
"""

from itertools import product
from typing import Any

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import between, derived, last

from . import PAPER, PROX, QUICK, SGD, THEORY, Config, Measure, ratio, right_sign, runs
from ._curves import CURVES

PEAKED = "concentration"
ON = ", sequences"
SHOWN = {"relative_excess_loss": (1e-3, 1.0), "attention_residual": (0.02, 1.0)}
RUNS: dict[str, Any] = {
    "run": [PROX, SGD, PROX + ON, SGD + ON],
    "algorithm": ["proximal"] * 2 + ["sequences"] * 2,
    "l1": [1e-5, 0.0] * 2,
}


def cost(run: str) -> Measure:
    """The excess loss after training on sequences over that on independent tokens, per task."""
    return ratio("excess_loss", run + ON, run, right_sign)


def draw(data: xr.Dataset) -> plot.Drawing:
    """The end of training on generated contexts against that on independent tokens, a point per
    task.
    """
    title = "Generated contexts teach as well as independent tokens"
    figure, axes = plot.panels(len(SHOWN), title=title, width=4.0, height=3.6)
    kept = data.where(right_sign(data))
    for ax, (name, (least, most)) in zip(axes[0], SHOWN.items(), strict=True):
        plot.reference(ax, [least, most], [least, most], says="equality")
        pairs = product((r for r in data.run.values if ON not in r), data[PEAKED].values)
        for color, (run, alpha) in enumerate(pairs):
            x, y = (last(kept[name]).sel({"run": r, PEAKED: alpha}) for r in (run, run + ON))
            style = {"color": plot.COLORS[color], "marker": plot.MARKERS[color]}
            ax.plot(x, y, linestyle="", markersize=3.5, label=f"{run}, α0 = {alpha:g}", **style)
        plot.finish(ax, "independent tokens", "generated", CURVES[name], xscale="log", yscale="log")
    plot.remark(figure, f"Marks: one per task (n = {data.sizes['seed']}), after training.")
    return figure


FIGURE = Figure(
    name="bigram_sequences",
    source=f"{PAPER}, section 2.1, remark on sequences, and section 6",
    theory=THEORY,
    config=Config(
        length=64, batch_size=256, learning_rate=0.05, late_learning_rate=0.03, switch_step=160
    ),
    sweep={"zip": RUNS, "vary": {PEAKED: [0.1, 1.0]}, **runs(8, 400, every=200)},
    quick=QUICK | {"zip": RUNS, "vary": {PEAKED: [1.0]}},
    draw=draw,
    claims=(
        Claim(
            "CB-71",
            origin=derived(
                "derived, beside section 6: “What can we gain if the datapoints are sequences”"
            ),
            statement="Generated contexts bring neither gain nor loss: the median run leaves 0.65 to 1.4 of the excess loss that training on independent tokens leaves, for both methods.",
            measure=lambda d: xr.concat([cost(PROX)(d), cost(SGD)(d)], "method"),
            bound=between(0.65, 1.4),
            statistic="median",
            why="The source asks what sequences would gain and leaves them to future work.",
        ),
    ),
)
