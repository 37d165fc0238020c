"""From which initial delta and xi does attention learn, with one a for all positions and with one
per position?
"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_least, at_most, derived
from jaxtheory.theories.low_rank import S1

from . import PAPER, only, runs
from ._training import ENDS, gain, title


def draw(data: xr.Dataset) -> plot.Drawing:
    """The gain of attention over delta and xi, for both interpretations of A. The loss is small in
    every cell.
    """
    figure, axes = plot.panels(
        2, title=f"Attention learns with one a per position ({title(data)})", width=4.0
    )
    names = {"shared": "one a for all positions", "per_token": "one a per position"}
    for ax, output in zip(axes[0], data.output.values, strict=False):
        values = gain(data).sel(output=output)
        plot.heat(
            ax, values, "init_diagonal", "output_scale", label="gain of attention", span=(0, 0.5)
        )
        plot.finish(
            ax,
            "diagonal at the start, δ",
            "scale of a at the start, ξ",
            names[str(output)],
            legend=False,
        )
    return figure


FIGURE = Figure(
    name="attention_start",
    source=f"{PAPER}, figure 1B: delta and xi",
    theory=only(),
    config=S1.replace(learning_rate=3.0),
    sweep=runs(
        160,
        record=ENDS,
        vary={
            "output": ["shared", "per_token"],
            "init_diagonal": [0.01, 0.1, 0.2],
            "output_scale": [0.01, 0.1, 0.3],
        },
    ),
    quick={
        "vary": {"output": ["shared"], "init_diagonal": [0.1], "output_scale": [0.1]},
        "seeds": 2,
    },
    draw=draw,
    claims=(
        Claim(
            "LR-68",
            origin=derived("measured: a slow value path lets attention learn"),
            statement="At xi = 0.1 and delta >= 0.1, relevant queries gain at least 0.2 more attention with one a per position than with one for all positions.",
            measure=lambda data: (
                gain(data).sel(output_scale=0.1, init_diagonal=[0.1, 0.2]).diff("output")
            ),
            bound=at_least(0.2),
        ),
        Claim(
            "LR-69",
            origin=derived("measured"),
            statement="With one a for all positions, the gain of attention is at most 0.1 at delta <= 0.1.",
            measure=lambda data: gain(data).sel(output="shared", init_diagonal=[0.01, 0.1]),
            bound=at_most(0.1),
        ),
        Claim(
            "LR-70",
            origin=derived("measured"),
            statement="The attention gains more from a larger delta: with one a per position and xi = 0.1, at least 0.07 more at 0.1 than at 0.01.",
            measure=lambda data: (
                gain(data)
                .sel(output="per_token", output_scale=0.1, init_diagonal=[0.01, 0.1])
                .diff("init_diagonal")
            ),
            bound=at_least(0.07),
        ),
    ),
)
