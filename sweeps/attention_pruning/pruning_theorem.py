"""Does the error floor of theorem 4.1 fall with lambda, and the run time grow as 1 / lambda?"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_least,
    between,
    exponent,
    fitted_law,
    interpretation,
    last,
)
from jaxtheory.theories.attention_pruning import Config

from . import PAPER, THEORY, with_legend

# below 1 / ||Hessian||, up to some hundred times 1 / L_g, with which one would wait as much longer
ETA = 3.0
LAMBDAS = (10**-2.5, 1e-3, 10**-3.5, 1e-4, 10**-4.5)


def floor(dataset: xr.Dataset) -> xr.DataArray:
    """L_attn at the end."""
    return last(dataset.attention_loss)


def settled(dataset: xr.Dataset) -> xr.DataArray:
    """The first recorded step after 0 with L_attn at most twice as at the end."""
    loss = dataset.attention_loss.sel(step=slice(1, None))
    return loss.step.where(loss <= 2 * floor(dataset)).min("step")


def draw(dataset: xr.Dataset) -> plot.Drawing:
    """L_attn along descent for each lambda; its floor and the time to settle against lambda."""
    figure, axes = plot.panels(3, title=f"From a uniform M₀, η = {ETA:g}")
    descent, floors, times = axes[0]
    for color, lam in enumerate(dataset.regularization.values):
        loss = dataset.attention_loss.sel(regularization=lam, step=slice(1, None))
        label = f"λ = {lam:.1e}"
        plot.series(descent, loss, "step", label, color=color, markers=False)
    plot.finish(
        descent, "step t", "$L_{attn}$", "descent", legend=False, xscale="log", yscale="log"
    )
    for ax, values, slope, title in (
        (floors, floor(dataset), 1, "$L_{attn}$ at the end"),
        (times, settled(dataset), -1, "steps until twice of it"),
    ):
        plot.series(ax, values, "regularization", seeds=True)
        x = dataset.regularization.values
        guide = float(np.exp(np.log(values).mean())) * (x / np.exp(np.log(x).mean())) ** slope
        plot.theory(ax, x, guide, "", says=f"$λ^{{{slope}}}$")
        plot.finish(
            ax,
            "λ",
            title,
            plot.law(ax, fitted_law(values, "regularization")),
            legend=False,
            xscale="log",
            yscale="log",
        )
    return with_legend(figure, descent)


FIGURE = Figure(
    name="pruning_theorem",
    source=f"{PAPER}, theorem 4.1 and remark 4.2",
    finding=Finding(
        "The floor of the attention loss falls at least in proportion to λ from λ = 0.003 to 0.00004",
        rests_on=("AP-36",),
    ),
    theory=THEORY,
    config=Config(
        dimension=16, length=8, mask_init="uniform", momentum=0.0, logit_scale=1.0, step_scale=0.01
    ),
    sweep={
        "zip": {
            "regularization": LAMBDAS,
            "step_scale": tuple(ETA * value for value in LAMBDAS),
        },
        "seeds": 32,
        "steps": 30000,
        "record": [*sorted({0, *(round(10 ** (k / 8)) for k in range(36)), 30000})],
        "dtype": "float64",
    },
    quick={"seeds": 2, "steps": 1000, "record": [0, 1, 10, 100, 1000]},
    draw=draw,
    claims=(
        Claim(
            "AP-36",
            origin=interpretation(PAPER, "remark 4.2"),
            statement="“the error term can be made arbitrarily small by choosing small” lambda, read as: from 10^-2.5 to 10^-4.5 the floor of L_attn falls at least in proportion.",
            why="It is the only error of the theorem that more steps do not remove.",
            measure=Measure(
                "exponent of the floor of L_attn in λ, λ from 10^-4.5 to 10^-2.5",
                lambda d: exponent(floor(d), "regularization"),
            ),
            bound=at_least(1.0),
        ),
        Claim(
            "AP-39",
            origin=interpretation(PAPER, "remark 4.2"),
            statement="“the algorithm’s run time gets larger as” 1/lambda (lost), read as: an exponent of -0.75 to -1.5 of the steps until L_attn is twice its floor.",
            why="It is the price of the small floor.",
            measure=Measure(
                "exponent in λ of the steps until L_attn is twice its floor",
                lambda d: exponent(settled(d), "regularization"),
            ),
            bound=between(-1.5, -0.75),
            law=-1.0,
        ),
    ),
)
