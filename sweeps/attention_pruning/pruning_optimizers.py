"""Does the trained mask still beat the usual scores with plain descent, cosine decay and Adam?"""

import xarray as xr

from jaxtheory import Claim, Figure, Size, optimizers, plot
from jaxtheory.claims import at_most, derived, last
from jaxtheory.theories.attention_pruning import P3

from . import PAPER, QUICK, THEORY
from ._errors import NAMES, RIVALS, after, of

SCALE = "step_scale"
RATES = {
    "sgd": [0.01, 0.02, 0.04],
    "momentum": [0.001, 0.002, 0.004],
    "sgd_cosine": [0.02, 0.04, 0.08],
    "adam": [0.005, 0.05, 0.5],
}


def fitted(data: xr.Dataset, algorithm: str) -> xr.DataArray:
    """The error of the mask fitted by an algorithm at its best rate."""
    errors = optimizers.of(of(after(data), "gradient"), SCALE, algorithm)
    return errors.drop_vars("rate").min("rate")


def usual(data: xr.Dataset, *pruners: str) -> xr.DataArray:
    """The least error of some baselines, which no run changes."""
    return of(after(data), *pruners).isel(run=0, drop=True)


def draw(data: xr.Dataset) -> plot.Drawing:
    """The error of the binarised mask and the loss it was fitted to against the step size; dashed:
    baselines.
    """
    figure, axes = plot.panels(
        2,
        title="The mask beats usual scores with each optimizer (λ = 5, ρ = 1/2, d = 32, L = 64)",
        width=4.4,
        height=3.6,
    )
    errors, x = of(after(data), "gradient"), "c = step size times λ"
    optimizers.against_rate(axes[0, 0], errors, SCALE, "relative error, calibration", x=x)
    for color, pruner in enumerate((*RIVALS, "magnitude"), start=4):
        level = float(usual(data, pruner).mean())
        plot.reference(axes[0, 0], None, level, NAMES[pruner], color=color)
    optimizers.against_rate(axes[0, 1], last(data.loss), SCALE, "loss", x=x, yscale="log")
    plot.legend_below(figure, axes[0, 0])
    return figure


FIGURE = Figure(
    name="pruning_optimizers",
    source=f"derived: {PAPER}, figure 2, beyond momentum",
    theory=THEORY,
    config=P3.replace(dimension=Size(32), length=Size(64), regularization=5.0, decay_steps=1500),
    sweep={
        "zip": optimizers.runs(SCALE, RATES),
        "seeds": 16,
        "steps": 1500,
        "record": [1500],
        "dtype": "float32",
        "buckets": "exact",
    },
    quick=QUICK | {"zip": optimizers.runs(SCALE, optimizers.middle(RATES))},
    draw=draw,
    claims=(
        Claim(
            "AP-47",
            origin=derived(),
            statement="With plain descent, momentum, cosine decay or Adam, each at the best of three step sizes, the error is at most 0.6 of that of the better of Wanda and SparseGPT.",
            why="The large margin is that of the objective and not of the momentum that the source adds.",
            measure=lambda d: (
                xr.concat(
                    [fitted(d, name).expand_dims(algorithm=[name]) for name in RATES], "algorithm"
                )
                / usual(d, *RIVALS)
            ),
            bound=at_most(0.6),
        ),
    ),
)
