"""Does the method carry over to attention that is not causal: full, or within blocks?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_most, interpretation
from jaxtheory.theories.attention_pruning import P3

from . import AXES, PAPER, QUICK, THEORY, after_steps, with_legend
from ._errors import HELDOUT, NAMES, PLAIN, RIVALS, finish, half, lines, select, tuned

OTHERS = ["full", "block"]


def share_of_best(dataset: xr.Dataset) -> xr.DataArray:
    """The gradient mask's error over the better of Wanda's and SparseGPT's, at rho = 1/2."""
    errors = tuned(half(dataset), PLAIN)
    return select(errors, "gradient") / select(errors, *RIVALS)


def draw(dataset: xr.Dataset) -> plot.Drawing:
    """Errors against rho at the best lambda, calibration and held out, a column per attention."""
    masks = [name for name in dataset.attention.values if name in OTHERS] or ["causal"]
    figure, axes = plot.panels(len(masks), 2)
    for name, column in zip(masks, axes.T, strict=True):
        chosen = dataset.sel(attention=name)
        for ax, metric, data in zip(
            column, (PLAIN, HELDOUT), ("calibration", "held out"), strict=True
        ):
            lines(ax, tuned(chosen, metric), "pruning_ratio", NAMES)
            finish(ax, "share pruned, ρ", f"{name} attention, {data}", y="relative error", top=1.5)
    return with_legend(figure, axes[0, 0])


FIGURE = Figure(
    name="pruning_attention_mask",
    source=f"{PAPER}, section 3: any attention mask",
    finding=Finding(
        "In full and block attention the gradient mask has ≤ 0.6 of Wanda's and SparseGPT's calibration error (ρ = ½)",
        rests_on=("AP-41",),
    ),
    theory=THEORY,
    config=P3.replace(length=64, step_scale=0.01),
    sweep=after_steps(600, {"attention": ["causal", *OTHERS]} | AXES),
    quick=QUICK | {"vary": {"attention": ["causal"]} | AXES},
    draw=draw,
    claims=(
        Claim(
            "AP-41",
            origin=interpretation(PAPER, "section 3"),
            statement="“our analysis can be applied to any general attention mask”, read as: with full attention and in blocks of 4 tokens, too, the error is at most 0.6 of that of the better of Wanda and SparseGPT (rho = 1/2, calibration data).",
            why="Encoders and sparse attention need masks that are not causal.",
            measure=Measure(
                "mask's error over better of Wanda and SparseGPT, full, block attention",
                lambda d: share_of_best(d).sel(attention=OTHERS),
            ),
            bound=at_most(0.6),
        ),
    ),
)
