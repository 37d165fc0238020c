"""Does the trained mask still beat the usual scores with plain descent, cosine decay and Adam?"""

import xarray as xr

from jaxtheory import Claim, Figure, Size, optimizers, plot
from jaxtheory.claims import at_least, at_most, derived, last
from jaxtheory.theories.attention_pruning import P3

from . import PAPER, QUICK, THEORY
from ._errors import BASELINES, NAMES, RIVALS, after, of

SCALE = "step_scale"
RATES = {
    "sgd": [0.01, 0.02, 0.04],
    "momentum": [0.001, 0.002, 0.004],
    "sgd_cosine": [0.02, 0.04, 0.08],
    "adam": [0.005, 0.05, 0.5],
}


def fitted(data: xr.Dataset, algorithm: str) -> xr.DataArray:
    """The error of the fitted mask under an algorithm, slowest rate first."""
    return optimizers.of(of(after(data), "gradient"), SCALE, algorithm).drop_vars("rate")


def stable(data: xr.Dataset) -> xr.DataArray:
    """The error under momentum, cosine decay, and plain descent at its two smaller steps."""
    runs = [fitted(data, name) for name in ("momentum", "sgd_cosine")]
    return xr.concat([*runs, fitted(data, "sgd").isel(rate=slice(0, 2))], "rate")


def over_momentum(values: xr.DataArray) -> xr.DataArray:
    """The ratio of the values of Adam at each rate to those of momentum at its middle rate."""
    adam, momentum = (optimizers.of(values, SCALE, name) for name in ("adam", "momentum"))
    return adam.drop_vars("rate") / momentum.isel(rate=1, drop=True)


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
        "seeds": 8,
        "steps": 1500,
        "record": [1500],
        "dtype": "float32",
        "buckets": "exact",
    },
    quick=QUICK | {"zip": optimizers.runs(SCALE, optimizers.middle(RATES))},
    draw=draw,
    # keys 105, 106: 0.41, 0.48; 1.000; 0.985, 1.000; 2.46, 2.17
    claims=(
        Claim(
            "AP-47",
            origin=derived(),
            statement="With momentum, cosine decay, and plain descent below its stability edge (c of 0.02 at most), the error is at most 0.8 of that of the best baseline, at each step size.",
            measure=lambda d: stable(d) / usual(d, *BASELINES),
            bound=at_most(0.8),
        ),
        Claim(
            "AP-48",
            origin=derived(),
            statement="Adam at c = 0.05 ends at most 2 % above the loss of momentum.",
            measure=lambda d: over_momentum(last(d.loss)).isel(rate=1),
            bound=at_most(1.02),
        ),
        Claim(
            "AP-49",
            origin=derived(),
            statement="The mask of Adam at the middle c is as good: its error is at most 1.15 times that of momentum.",
            measure=lambda d: over_momentum(of(after(d), "gradient")).isel(rate=1),
            bound=at_most(1.15),
        ),
        Claim(
            "AP-50",
            origin=derived(),
            statement="With a tenth of that c, or ten times as much, the error of Adam is at least 1.3 times that of momentum, whereas momentum is insensitive to a factor of 4.",
            measure=lambda d: over_momentum(of(after(d), "gradient")).isel(rate=[0, 2]),
            bound=at_least(1.3),
        ),
    ),
)
