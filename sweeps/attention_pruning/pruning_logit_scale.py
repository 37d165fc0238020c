"""At which logit scales and pruning ratios does the gradient mask pay off?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, derived
from jaxtheory.theories.attention_pruning import P3

from . import AXES, QUICK, THEORY, after_steps
from ._errors import PANELS, PLAIN, RIVALS, lead


def draw(dataset: xr.Dataset) -> plot.Drawing:
    """Four phase diagrams; black lines enclose where the mask is better than every baseline."""
    runs = f"best of {dataset.sizes['regularization']} λ"
    figure, axes = plot.panels(2, 2, title=f"Gradient mask minus the best baseline ({runs})")
    for ax, (name, title) in zip(axes.flat, PANELS.items(), strict=True):
        ahead, label = lead(dataset, name), "error of the mask minus the best other"
        at = ("logit_scale", "pruning_ratio")
        plot.heat(ax, ahead, *at, label=label, norm="diverging", vmin=-0.8, vmax=0.8)
        says = "where the mask is better than every baseline"
        plot.boundary(ax, ahead.mean("seed") < 0, *at, says, measured=True)
        plot.finish(ax, "logit scale τ", "share pruned, ρ", title)
    return figure


FIGURE = Figure(
    name="pruning_logit_scale",
    source="beyond the source: logit scale against pruning ratio",
    finding=Finding(
        "At logit scale 1 and ρ ≤ 0.5 the mask's calibration error is ≥ 0.1 above the better of Wanda and SparseGPT",
        rests_on=("AP-24",),
    ),
    theory=THEORY,
    config=P3.replace(step_scale=0.02),
    sweep=after_steps(
        400,
        {
            "tau": [1.0, 3.0, 10.0, 30.0, 100.0],
            "lambda": [round(10 ** (k / 2), 4) for k in range(-6, 4)],
            "rho": [0.1, 0.3, 0.5, 0.7, 0.9],
        },
    ),
    quick=QUICK | {"vary": {"tau": [1.0, 100.0]} | AXES | {"lambda": [0.1, 1.0, 10.0]}, "seeds": 2},
    draw=draw,
    claims=(
        Claim(
            "AP-24",
            origin=derived(),
            statement="For smooth attention (tau = 1) and rho <= 0.5 the mask is worse than the better of Wanda and SparseGPT by at least 0.1, even on calibration data.",
            why="Without the large logits of the source's data its method is not the one to use.",
            measure=Measure(
                "mask's error minus better of Wanda and SparseGPT, τ = 1, each ρ ≤ 0.5",
                lambda d: lead(d, PLAIN, *RIVALS).sel(
                    logit_scale=1.0, pruning_ratio=slice(None, 0.55)
                ),
            ),
            bound=at_least(0.1),
        ),
    ),
)
