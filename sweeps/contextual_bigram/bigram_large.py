"""Do proximal steps and SGD learn sparse attention over many tokens, with simulated noise?"""

import numpy as np
import xarray as xr

from jaxtheory import Figure, plot

from . import BOTH, PAPER, PROX, QUICK, SGD, THEORY, Config, each, end, ratio, right_sign
from ._curves import CURVES, at, draw_rounding, draw_runs

SOURCE = f"{PAPER}, appendix I"


def draw(data: xr.Dataset) -> plot.Drawing:
    """Curves in t, and what rounding makes of the end."""
    shown = data.where(right_sign(data))
    figure, axes = plot.panels(
        4,
        title=f"Many tokens, simulated noise{at(FIGURE, data)}, {data.sizes['seed']} tasks",
        width=3.3,
    )
    draw_runs(axes[0, :3], shown, list(CURVES)[1:])
    axes[0, 2].set_ylim(1e-3, None)
    draw_rounding(axes[0, 3], shown, "attention", CURVES["attention_distance"])
    return figure


FIGURE = Figure(
    name="bigram_large",
    source=f"{SOURCE}: N = 100, T >> 1000",
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
        "seeds": 8,
        "steps": 300,
        "record": [*range(0, 301, 30)],
        "dtype": "float32",
    },
    quick=QUICK | {"zip": BOTH},
    draw=draw,
    claims=(
        each(
            "CB-33",
            "reading",
            SOURCE,
            "Proximal runs end with a cosine of A and Q of at least .98, each.",
            end("attention_cosine", PROX, right_sign),
            at_least=0.98,
        ),
        each(
            "CB-34",
            "reading",
            SOURCE,
            "SGD ends at least twice as far off the line, each.",
            ratio("attention_residual", SGD, PROX, right_sign),
            at_least=2.0,
        ),
        each(
            "CB-35",
            "derived",
            SOURCE,
            "Rounding recovers the support of every column, after both.",
            lambda d: np.minimum(
                end("support_recovery", PROX, right_sign)(d),
                end("support_recovery", SGD, right_sign)(d),
            ),
            at_least=1.0,
        ),
    ),
)
