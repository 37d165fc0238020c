"""Does the trained mask still beat the usual scores with plain descent, cosine decay and Adam?"""

import xarray as xr

from jaxtheory import Figure, Size, optimisers, plot
from jaxtheory.theories.attention_pruning import P3

from . import PAPER, QUICK, THEORY, derived
from ._errors import BASELINES, NAMES, PLAIN, RIVALS, after, of

SCALE = "step_scale"
RATES = {
    "sgd": [0.01, 0.02, 0.04],
    "momentum": [0.001, 0.002, 0.004],
    "sgd_cosine": [0.02, 0.04, 0.08],
    "adam": [0.005, 0.05, 0.5],
}
MIDDLE = {algorithm: rates[1:2] for algorithm, rates in RATES.items()}


def fitted(data: xr.Dataset, *algorithms: str) -> xr.DataArray:
    """The error of the fitted mask under some algorithms, slowest rate first."""
    errors = of(after(data), "gradient")
    return xr.concat(
        [optimisers.of(errors, SCALE, name).drop_vars("rate") for name in algorithms], "algorithm"
    )


def usual(data: xr.Dataset, *pruners: str) -> xr.DataArray:
    """The least error of some baselines, which no run changes."""
    return of(after(data), *pruners).isel(run=0, drop=True)


def draw(data: xr.Dataset) -> plot.Drawing:
    """The error of the binarised mask and the loss it was fitted to against the step size; dashed:
    baselines.
    """
    figure, axes = plot.panels(
        2,
        title=f"lambda = 5, rho = 0.5, d = 32, L = 64, {data.sizes['seed']} seeds",
        width=4.4,
        height=3.6,
    )
    optimisers.against_rate(axes[0, 0], of(after(data), "gradient"), SCALE)
    for colour, pruner in enumerate((*RIVALS, "magnitude"), start=4):
        level = float(usual(data, pruner).mean())
        plot.theory(axes[0, 0], None, level, NAMES[pruner], colour=colour)
    plot.finish(
        axes[0, 0],
        "c = step size times lambda",
        "relative error, calibration",
        xscale="log",
        legend=False,
    )
    optimisers.against_rate(axes[0, 1], data.loss.isel(step=-1), SCALE)
    plot.finish(
        axes[0, 1], "c = step size times lambda", "loss", xscale="log", yscale="log", legend=False
    )
    plot.legend_below(figure, axes[0, 0])
    return figure


FIGURE = Figure(
    name="pruning_optimisers",
    source=f"derived: {PAPER}, figure 2, beyond momentum",
    theory=THEORY,
    config=P3.replace(dimension=Size(32), length=Size(64), regularization=5.0, decay_steps=1500),
    sweep={
        "zip": optimisers.runs(SCALE, RATES),
        "seeds": 8,
        "steps": 1500,
        "record": [1500],
        "dtype": "float32",
        "buckets": "exact",
    },
    quick=QUICK | {"zip": optimisers.runs(SCALE, MIDDLE)},
    draw=draw,
    claims=(),
)
