"""Does the gradient mask generalize, and how many calibration sequences does that take?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, derived
from jaxtheory.theories.attention_pruning import P3

from . import AXES, QUICK, THEORY, after_steps, with_legend
from ._errors import (
    HELDOUT,
    NAMES,
    PANELS,
    RIVALS,
    finish,
    half,
    lead,
    lines,
    tuned,
)


def draw(dataset: xr.Dataset) -> plot.Drawing:
    """Errors at rho = 1/2 on calibration and held-out sequences.

    They are those as pruned and those with the best factor on the logits.
    """
    figure, axes = plot.panels(2, 2, title="ρ = 1/2")
    for ax, (name, title) in zip(axes.flat, PANELS.items(), strict=True):
        lines(ax, tuned(half(dataset), name), "num_sequences", NAMES)
        finish(
            ax,
            "S (calibration sequences)",
            title,
            y="relative error",
            top=1.3,
            at=dataset.num_sequences,
            xscale="log",
        )
    return with_legend(figure, axes[0, 0])


FIGURE = Figure(
    name="pruning_calibration",
    source="beyond the source: calibration size against held-out error",
    finding=Finding(
        "On held-out data at ρ = 1/2 the better of Wanda and SparseGPT beats the mask fitted to 1, 4 or 16 sequences",
        rests_on=("AP-26",),
    ),
    theory=THEORY,
    config=P3.replace(length=64, step_scale=0.01),
    sweep=after_steps(600, {"num_sequences": [1, 4, 16]} | AXES) | {"buckets": "pad"},
    quick=QUICK | {"vary": {"num_sequences": [1, 2]} | AXES, "seeds": 2},
    draw=draw,
    claims=(
        Claim(
            "AP-26",
            origin=derived(),
            statement="On held-out sequences the better of Wanda and SparseGPT has a smaller error than the mask, calibrated on 1, 4 or 16 sequences.",
            why="The source compares on the calibration data alone, on which the mask over-fits.",
            measure=Measure(
                "mask's held-out error minus better of Wanda's and SparseGPT's, each S",
                lambda d: lead(half(d), HELDOUT, *RIVALS),
            ),
            bound=at_least(0.0),
        ),
    ),
)
