"""Do proximal steps and SGD learn sparse attention over many tokens, with simulated noise?"""

import xarray as xr

from jaxtheory import Figure, plot

from . import BOTH, PAPER, QUICK, THEORY, Config, right_sign, runs
from ._curves import CURVES, at, draw_rounding, draw_runs


def draw(data: xr.Dataset) -> plot.Drawing:
    """Curves in t, and what rounding makes of the end."""
    shown = data.where(right_sign(data))
    figure, axes = plot.panels(
        4,
        title=f"Many tokens, simulated noise{at(FIGURE, data)}",
        width=3.3,
    )
    draw_runs(axes[0, :3], shown, list(CURVES)[1:])
    axes[0, 2].set_ylim(1e-3, None)
    draw_rounding(axes[0, 3], shown, "attention", CURVES["attention_distance"])
    plot.legend_below(figure, axes[0, 0])
    plot.remark(figure, "Marks: single runs at the end, and rounded; cut at $10^{-4}$.")
    return figure


FIGURE = Figure(
    name="bigram_large",
    source=f"{PAPER}, appendix I: N = 100, T >> 1000",
    theory=THEORY,
    config=Config(
        num_states=100,
        length=5000,
        batch_size=16384,
        learning_rate=0.06,
        late_learning_rate=0.04,
        switch_step=130,
        concentration=0.1,
        stationary_floor=1e-3,
    ),
    sweep={
        "zip": BOTH,
        "algorithm": "noise",
        **runs(8, 300, every=30),
    },
    quick=QUICK | {"zip": BOTH},
    draw=draw,
    claims=(),
)
