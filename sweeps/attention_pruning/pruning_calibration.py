"""Does the gradient mask generalize, and how many calibration sequences does that take?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_least, at_most, derived, interpretation
from jaxtheory.theories.attention_pruning import P3

from . import AXES, PAPER, QUICK, THEORY, after_steps, with_legend
from ._errors import (
    HELDOUT,
    NAMES,
    PANELS,
    PLAIN,
    RESCALED,
    RESCALED_HELDOUT,
    RIVALS,
    finish,
    half,
    lead,
    lines,
    of,
    tuned,
)


def gap(dataset: xr.Dataset, place: int) -> xr.DataArray:
    """Held-out minus calibration error of the gradient mask at rho = 1/2."""
    chosen = half(dataset).isel(num_sequences=place)
    return of(tuned(chosen, HELDOUT) - tuned(chosen, PLAIN), "gradient")


def draw(dataset: xr.Dataset) -> plot.Drawing:
    """Errors at rho = 1/2 on calibration and held-out sequences, as pruned and with the best factor
    on the logits.
    """
    figure, axes = plot.panels(
        2, 2, title="Error against the number of calibration sequences (ρ = 1/2)"
    )
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
    theory=THEORY,
    config=P3.replace(length=64, step_scale=0.01),
    sweep=after_steps(600, {"num_sequences": [1, 4, 16]} | AXES) | {"buckets": "pad"},
    quick=QUICK | {"vary": {"num_sequences": [1, 2]} | AXES, "seeds": 2},
    draw=draw,
    claims=(
        Claim(
            "AP-26",
            origin=derived(),
            statement="Calibrated on one sequence, the mask is worse than the better of Wanda and SparseGPT on held-out sequences, in most runs.",
            measure=lambda d: lead(half(d), HELDOUT, *RIVALS).sel(num_sequences=1) > 0,
            bound=at_least(0.5),
            statistic="share",
            where="together",
        ),
        Claim(
            "AP-27",
            origin=interpretation(PAPER, "section 6.1"),
            statement="“outperforms Wanda and SparseGPT with a large margin”, read as: on its calibration sequences it beats every baseline by at least 0.1, for 1, 4 and 16 sequences.",
            measure=lambda d: lead(half(d), PLAIN),
            bound=at_most(-0.1),
        ),
        Claim(
            "AP-28",
            origin=derived(),
            statement="With the best factor on the logits, too, the mask beats every baseline on its calibration sequences, for each number of sequences.",
            measure=lambda d: lead(half(d), RESCALED),
            bound=at_most(-0.05),
        ),
        Claim(
            "AP-29",
            origin=derived(),
            statement="The gap between held-out and calibration error falls by at least 0.3 from 1 sequence to 16.",
            measure=lambda d: gap(d, -1) - gap(d, 0),
            bound=at_most(-0.3),
        ),
        Claim(
            "AP-30",
            origin=derived(),
            statement="With 16 sequences, magnitude pruning of W is still better on held-out sequences, by at least 0.1.",
            measure=lambda d: lead(half(d), HELDOUT, "magnitude").isel(num_sequences=-1),
            bound=at_least(0.1),
        ),
        Claim(
            "AP-31",
            origin=derived(),
            statement="One factor on the logits, chosen on calibration data, lowers every method's held-out error by at least 0.05.",
            measure=lambda d: (tuned(half(d), HELDOUT) - tuned(half(d), RESCALED_HELDOUT)).sel(
                pruner=list(NAMES)
            ),
            bound=at_least(0.05),
        ),
    ),
)
